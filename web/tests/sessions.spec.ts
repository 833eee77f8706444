import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../src/api/types';
import { answer, call, cards, openSession, pending, plan, prompt, send, tell } from './session-actions';
import { expect, live, test } from './test-server';

test('a newcomer starts, sends, allows, and sees file and plan, in under a minute', async ({ server, windows }) => {
  const folder = server.folder('project');
  const page = await windows.open('/');
  const begun = Date.now();
  await page.getByLabel('Folder it works in').fill(folder);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Fill in a first script' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();

  const card = pending(page);
  await expect(card.getByRole('heading')).toContainText('wants to make');
  await expect(card).toContainText('Written by a scripted agent');
  expect(existsSync(join(folder, 'hello.md'))).toBe(false);
  await answer(card, /^Approve/);

  await expect(cards(page)).toContainText('Approved by you at');
  await expect(page.getByText('Done: hello.md lies in this folder.', { exact: true })).toBeVisible();
  expect(readFileSync(join(folder, 'hello.md'), 'utf8')).toContain('allowed by a person');
  const panel = page.getByRole('complementary', { name: 'Plan and changes' });
  await expect(panel).toContainText('2/2');
  await expect(panel.getByRole('region', { name: 'Changed files' })).toContainText('hello.md');
  expect(Date.now() - begun).toBeLessThan(60_000);
});

test('a change is shown whole, with line numbers on both sides', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  writeFileSync(join(server.folder('project'), 'notes.md'), `${lines.join('\n')}\n`);
  const page = await windows.open(`/sessions/${session.id}`);
  await tell(page, call('edit_file', { path: 'notes.md', old: 'line 20\n', new: 'line twenty\nand a half\n' }));
  const diff = pending(page).getByRole('region', { name: /^Change of/ });
  await expect(diff).toContainText('line twenty');
  await expect(diff).toContainText('removed: line 20');
  const folds = diff.getByRole('button', { name: /^Show \d+ unchanged lines$/ });
  for (let left = await folds.count(); left > 0; left -= 1) await folds.first().click();
  await expect(diff.getByText('line 40', { exact: true })).toBeVisible();
});

test('what is streamed is what a reload shows', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
  await tell(page, '#think about it', `#say ${words}`, plan(['One', 'completed'], ['Two', 'in_progress']), '#say The end.', '#usage 1200 80 0.25');
  await expect(page.getByText('The end.', { exact: true })).toBeVisible();
  await expect(page.getByRole('main')).toContainText('USD 0.25');
  const shown = async () => (await page.locator('[data-message]').allInnerTexts()).map((text) => text.replace(/\bnow\b|\d+ min ago/g, ''));
  await expect.poll(async () => (await shown()).length).toBe(2);
  const before = await shown();
  await page.reload();
  await live(page);
  await expect.poll(shown).toEqual(before);
});

test('a message to a busy agent waits its turn, and can be edited and removed until then', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  await tell(page, call('write_file', { path: 'a.txt', content: 'a' }), '#say first done');
  await expect(pending(page)).toBeVisible();
  await prompt(page).fill('#say second');
  await expect(page.getByRole('button', { name: 'Queue', exact: true })).toBeVisible();
  await prompt(page).press('Enter');
  const queue = page.getByRole('region', { name: 'Queue' });
  await expect(queue).toContainText('#say second');
  await tell(page, '#say third');
  await expect(queue.getByRole('listitem')).toHaveCount(2);

  await queue.getByRole('button', { name: 'Remove queued message' }).last().click();
  await expect(queue.getByRole('listitem')).toHaveCount(1);
  await prompt(page).press('ArrowUp');
  await page.getByRole('textbox', { name: 'Queued message' }).fill('#say second, edited');
  await queue.getByRole('button', { name: 'Save' }).click();
  await expect(queue).toContainText('second, edited');

  await answer(pending(page), /^Approve/);
  await expect(page.getByText('first done', { exact: true })).toBeVisible();
  await expect(page.locator('[data-message]').last()).toContainText('second, edited');
  await expect(queue).toHaveCount(0);
});

test('stopping withdraws the approval; the queue is kept or dropped as one says', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  await tell(page, call('write_file', { path: 'never.txt', content: 'x' }));
  await expect(pending(page)).toBeVisible();
  await tell(page, '#say after the stop');
  await page.getByRole('button', { name: 'More about this session' }).click();
  await page.getByRole('menuitem', { name: 'Stop and drop the queue' }).click();
  await expect(cards(page)).toContainText('Withdrawn');
  await expect(page.getByRole('region', { name: 'Queue' })).toHaveCount(0);
  expect(existsSync(join(server.folder('project'), 'never.txt'))).toBe(false);

  await tell(page, call('write_file', { path: 'never.txt', content: 'x' }));
  await expect(pending(page)).toBeVisible();
  await tell(page, '#say went on');
  await prompt(page).press('Escape');
  await prompt(page).press('Escape');
  await expect(page.locator('[data-message]').last()).toContainText('went on');
  expect(existsSync(join(server.folder('project'), 'never.txt'))).toBe(false);
});

test('a mode that acts unattended needs a word that quotes its promise', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  const dial = page.getByRole('button', { name: /^Permission mode/ });
  await dial.click();
  const dialog = page.getByRole('dialog', { name: 'Permission mode' });
  await dialog.getByRole('button', { name: /unattended/ }).click();
  const consent = page.getByRole('dialog', { name: 'Let the agent act unattended?' });
  await expect(consent.locator('blockquote')).not.toBeEmpty();
  await consent.getByRole('button', { name: 'Cancel' }).click();
  expect((await server.get<Session>(`/api/sessions/${session.id}`)).permissionMode).toBe('default');

  await dialog.getByRole('button', { name: /unattended/ }).click();
  await consent.getByRole('button', { name: /^Use/ }).click();
  await expect(consent).toHaveCount(0);
  await expect.poll(async () => (await server.get<Session>(`/api/sessions/${session.id}`)).permissionMode).toBe('autopilot');
  await tell(page, call('write_file', { path: 'at-once.txt', content: 'x' }), '#say unasked');
  await expect(page.getByText('unasked', { exact: true })).toBeVisible();
  expect(existsSync(join(server.folder('project'), 'at-once.txt'))).toBe(true);
});

test('a slash offers the commands of the folder, also in the middle of a text', async ({ server, windows }) => {
  const commands = join(server.folder('project'), '.claude', 'commands', 'git');
  mkdirSync(commands, { recursive: true });
  writeFileSync(join(commands, 'commit.md'), '---\ndescription: Writes a commit\nargument-hint: [message]\n---\nCommit it.\n');
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  await prompt(page).fill('please ');
  await prompt(page).pressSequentially('/com');
  const option = page.getByRole('option', { name: /\/git:commit/ });
  await expect(option).toContainText('[message]');
  await expect(option).toContainText('project');
  await prompt(page).press('Enter');
  await expect(prompt(page)).toHaveValue('please /git:commit ');

  writeFileSync(join(commands, 'push.md'), 'Push it.\n');
  await prompt(page).pressSequentially('/push');
  await page.getByRole('button', { name: 'Scan again' }).click();
  await expect(page.getByRole('option', { name: /\/git:push/ })).toBeVisible();
});

test('a session is named, closed, and then only read', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  await page.getByRole('button', { name: 'More about this session' }).click();
  await page.getByRole('menuitem', { name: 'Name, model and effort' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('The west wall');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('The west wall');
  await page.getByRole('button', { name: 'More about this session' }).click();
  await page.getByRole('menuitem', { name: 'Close session…' }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).last().click();
  await expect(page.getByText('This session is closed.')).toBeVisible();
  await expect(prompt(page)).toHaveCount(0);
  await page.goto(`${server.url}/sessions?show=closed`);
  await expect(page.getByRole('main').getByRole('link', { name: /The west wall/ })).toBeVisible();
});

test('a new session is opened by the dialog, with an agent or with a folder', async ({ server, windows }) => {
  await server.agent('Scribe');
  const page = await windows.open('/sessions');
  await page.getByRole('button', { name: 'New session' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('With').selectOption('Another folder…');
  await dialog.getByLabel('Folder').fill(`${server.dir}/nowhere`);
  await dialog.getByRole('button', { name: 'Open session' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByLabel('Folder').fill(server.folder('garden'));
  await dialog.getByRole('button', { name: 'Open session' }).click();
  await expect(page).toHaveURL(/\/sessions\/.+/);
  await expect(page.getByText('Nothing was said yet')).toBeVisible();
  await page.goto(`${server.url}/sessions/0190a000-0000-7000-8000-000000000000`);
  await expect(page.getByText('There is no such session')).toBeVisible();
});

test('home shows what needs one first, and the approval can be answered there', async ({ server, windows }) => {
  const calm = await openSession(server, 'calm');
  await send(server, calm, '#say all quiet');
  const asking = await openSession(server, 'asking');
  await send(server, asking, 'Change it', call('write_file', { path: 'b.txt', content: 'b' }));
  const page = await windows.open('/');
  const grid = page.getByRole('region', { name: 'What goes on' });
  await expect(grid.getByRole('heading', { name: 'One thing needs you' })).toBeVisible();
  await expect(grid.locator('li').first()).toContainText('needs you');
  await expect(page).toHaveTitle(/^\(1\) /);
  await grid.getByRole('button', { name: /^Answer/ }).click();
  await answer(pending(page), /^Approve/);
  await expect.poll(() => existsSync(join(server.folder('asking'), 'b.txt'))).toBe(true);
  await expect(grid.getByRole('heading', { name: 'Nothing needs you' })).toBeVisible();
});

test('a server killed and started again leaves the session as a fresh load shows it', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const page = await windows.open(`/sessions/${session.id}`);
  await tell(page, 'Write it', call('write_file', { path: 'later.txt', content: 'x' }));
  await expect(pending(page)).toBeVisible();
  await prompt(page).fill('half a thought');
  await server.kill();
  await server.start();
  await live(page);
  await expect(pending(page)).toContainText('detached');
  await expect(prompt(page)).toHaveValue('half a thought');
  const fresh = await windows.open(`/sessions/${session.id}`);
  await expect(pending(fresh)).toContainText('detached');
  await expect(fresh.locator('[data-message]')).toHaveCount(await page.locator('[data-message]').count());
});

test('a session of the terminal is read with its plan, and kept true while it goes on there', async ({ server, windows }) => {
  const id = '0190a000-0000-4000-8000-00000000abcd';
  const folder = join(server.dir, '.claude', 'projects', 'quarry');
  mkdirSync(folder, { recursive: true });
  const line = (todos: [string, string][]) => {
    const input = { todos: todos.map(([content, state]) => ({ content, status: state, activeForm: `Doing: ${content}` })) };
    const message = { role: 'assistant', content: [{ type: 'tool_use', id: `t${todos.length}`, name: 'TodoWrite', input }] };
    const at = '2026-11-21T12:00:00.000Z';
    return `${JSON.stringify({ type: 'assistant', sessionId: id, cwd: server.folder('quarry'), timestamp: at, uuid: `u${todos.length}`, message })}\n`;
  };
  const file = join(folder, `${id}.jsonl`);
  writeFileSync(file, line([['Cut the stone', 'in_progress']]));

  const page = await windows.open('/sessions?show=terminal');
  const row = page.getByRole('main').getByRole('list', { name: 'Sessions' }).getByRole('link');
  await expect(row).toContainText('terminal');
  await row.click();
  await expect(page.getByText('This session was made in a terminal.')).toBeVisible();
  await expect(prompt(page)).toHaveCount(0);
  const panel = page.getByRole('complementary', { name: 'Plan and changes' });
  await expect(panel).toContainText('Doing: Cut the stone');
  // The list of one's own sessions may come after the session itself, and does not hold it.
  const itself = page.waitForResponse((response) => response.url().endsWith(`/api/sessions/${id}`));
  await page.route('**/api/sessions?source=guildhall*', async (route) => {
    await itself;
    await route.continue();
  });
  await page.reload();
  await expect(panel).toContainText('Doing: Cut the stone');
  appendFileSync(file, line([['Cut the stone', 'completed'], ['Carry it', 'pending']]));
  await expect(panel).toContainText('1/2');
});

test('a long session shows its end, and all before it on demand', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  // Each message makes two rows, and a page of the server holds two hundred.
  for (let count = 1; count <= 120; count += 1) {
    await send(server, session, `#say answer ${count}`);
    if (count % 40 === 0) {
      await expect.poll(async () => (await server.get<Session>(`/api/sessions/${session.id}`)).usage.turns, { timeout: 30_000 }).toBe(count);
    }
  }
  const page = await windows.open(`/sessions/${session.id}`);
  await expect(page.getByText('answer 120', { exact: true })).toBeInViewport();
  await expect(page.getByText('answer 20', { exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: /^Earlier messages/ }).click();
  await page.getByRole('button', { name: /^Earlier messages/ }).click();
  await expect(page.getByText('answer 1', { exact: true })).toBeAttached();
  await expect(page.locator('[data-message]')).toHaveCount(240);
  await tell(page, '#say one more');
  await expect(page.getByText('one more', { exact: true })).toBeVisible();
});
