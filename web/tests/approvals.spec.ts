import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PendingInteraction } from '../src/api/types';
import { answer, call, cards, choose, lettersCount, openSession, pending, pressAtOnce, send } from './session-actions';
import { expect, test } from './test-server';

type PendingInteractions = { interactions: PendingInteraction[] };

const write = call('write_file', { path: 'asked.txt', content: 'yes' });

test('a letter answers nothing but a card that a person chose', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card).toBeVisible();

  // From outside: no key, whatever it is.
  for (const key of ['a', 'd', 'A', 'D', 'Enter', ' ', 'Escape']) await page.keyboard.press(key);
  // A jump leads to the card and chooses it not, by whatever key.
  for (const jump of ['j', 'k', 'n']) {
    await page.keyboard.press(jump);
    await expect(card).toBeFocused();
    for (const key of ['a', 'd', 'A', 'D', 'Enter', ' ']) await page.keyboard.press(key);
    await expect(card).not.toHaveClass(/lettered/);
    await expect(card).toContainText('Press an arrow key or click the card');
  }
  // Enter and Space on the card itself answer nothing, also when it is chosen.
  await choose(card);
  for (const key of ['Enter', ' ', 'Escape']) await page.keyboard.press(key);
  // Letters typed in a field of the card are words, and dead for a moment afterwards.
  await card.getByRole('button', { name: 'Deny with words' }).click();
  await expect(card.getByRole('textbox', { name: 'Why not?' })).toBeFocused();
  await page.keyboard.type('add a date');
  await page.keyboard.press('Tab');
  await page.keyboard.press('a');
  await card.getByRole('button', { name: 'Back' }).click();
  await expect(card).toBeFocused();
  await expect(pending(page)).toHaveCount(1);
  expect(existsSync(join(server.folder('project'), 'asked.txt'))).toBe(false);
});

test('A allows and D denies, once the card is chosen by a key or a press', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write, '#say next', call('write_file', { path: 'denied.txt', content: 'no' }));
  const page = await windows.open('/asks');
  const first = pending(page);
  await expect(first).toBeVisible();
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  await lettersCount(first);
  await page.keyboard.press('a');
  await expect.poll(() => existsSync(join(server.folder('project'), 'asked.txt'))).toBe(true);

  const second = pending(page).filter({ hasText: 'denied.txt' });
  await expect(second).toBeVisible();
  await page.keyboard.press('j');
  await expect(second).toBeFocused();
  await page.keyboard.press('Tab');
  await lettersCount(second);
  await page.keyboard.press('d');
  await expect(page.getByText('Nothing waits for you')).toBeVisible();
  await expect(cards(page).filter({ hasText: 'denied.txt' })).toContainText('Denied by you');
  expect(existsSync(join(server.folder('project'), 'denied.txt'))).toBe(false);
});

test('one press approves, and a press on a card that has just come does nothing', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open('/');
  await pressAtOnce(page, 'Approve');
  await page.goto(`${server.url}/asks`);
  const card = pending(page);
  await expect(card.getByText('Nothing was answered.')).toBeVisible();
  expect(existsSync(join(server.folder('project'), 'asked.txt'))).toBe(false);

  await card.getByRole('button', { name: /^Approve/ }).click();
  await expect(cards(page)).toContainText('Approved by you');
  await expect.poll(() => existsSync(join(server.folder('project'), 'asked.txt'))).toBe(true);
});

test('after a press on a button of the card its letters count', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open('/');
  await pressAtOnce(page, 'Approve');
  await page.goto(`${server.url}/asks`);
  await pending(page).getByRole('button', { name: 'Deny with words' }).click();
  await pending(page).getByRole('button', { name: 'Back' }).click();
  await lettersCount(pending(page));
  await page.keyboard.press('a');
  await expect(cards(page)).toContainText('Approved by you');
});

test('a card that moves under the pointer takes no press', async ({ server, windows }) => {
  const [one, two] = [await openSession(server, 'one'), await openSession(server, 'two')];
  await send(server, one, 'Write', call('write_file', { path: 'first.txt', content: '1' }));
  const page = await windows.open('/asks');
  await expect(pending(page)).toHaveCount(1);
  await send(server, two, 'Write', call('write_file', { path: 'second.txt', content: '2' }));
  await expect(pending(page)).toHaveCount(2);
  const second = pending(page).filter({ hasText: 'second.txt' });
  await expect(second.getByRole('button', { name: /^Approve/ })).toBeEnabled();
  // The first one is gone in the middle of a press, and the second stands in its place.
  await second.evaluate((card) => {
    const from = card.getBoundingClientRect().top;
    const watch = new MutationObserver(() => {
      if (card.getBoundingClientRect().top === from) return;
      watch.disconnect();
      const button = [...card.querySelectorAll('button')].find(({ innerText }) => innerText.startsWith('Approve'))!;
      button.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
      button.click();
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
  await server.post(`/api/sessions/${one.id}/cancel`, {});
  await expect(second.getByText('Nothing was answered.')).toBeVisible();
  expect(existsSync(join(server.folder('two'), 'second.txt'))).toBe(false);
});

test('random keys answer nothing by accident', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open(`/sessions/${session.id}`);
  await expect(pending(page)).toBeVisible();
  const keys = ['a', 'd', 'A', 'D', 'Enter', 'Escape', ' ', 'x', 'ArrowUp', 'Backspace', 'j', 'k', 'y', 'n'];
  for (let count = 0; count < 300; count += 1) await page.keyboard.press(keys[(count * 7 + (count % 5)) % keys.length]!);
  await expect(pending(page)).toHaveCount(1);
  expect(existsSync(join(server.folder('project'), 'asked.txt'))).toBe(false);
});

test('words of a refusal reach the agent as the next message', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open(`/sessions/${session.id}`);
  await pending(page).getByRole('button', { name: 'Deny with words' }).click();
  await page.getByRole('textbox', { name: 'Why not?' }).fill('#say I heard you');
  await page.getByRole('button', { name: 'Deny with these words' }).click();
  await expect(cards(page)).toContainText('Denied by you');
  await expect(page.getByText('I heard you', { exact: true })).toBeVisible();
});

test('answered in one window, an approval is its outcome in every other', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const [one, two] = [await windows.open('/asks'), await windows.open(`/sessions/${session.id}`)];
  await choose(pending(two));
  await answer(pending(one), /^Approve/);
  await expect(cards(two)).toContainText('Approved by you');
  await expect(cards(two).getByRole('button', { name: /^Approve/ })).toHaveCount(0);
  const written = join(server.folder('project'), 'asked.txt');
  await expect.poll(() => existsSync(written) && readFileSync(written, 'utf8')).toBe('yes');
});

test('a command stands there one argument a line, and what hides is shown', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Run', call('run_command', { command: ['echo', 'a b', 'x\u202Ey\u200B'] }));
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card.getByRole('heading').first()).toContainText('wants to run a command');
  await expect(card.locator('ol > li')).toHaveText(['echo', 'a b', 'xU+202EyU+200B']);
  await expect(card).toContainText(server.folder('project'));
});

test('questions are answered in a form, and Enter in a field sends nothing', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const form = {
    type: 'object',
    properties: { name: { type: 'string', title: 'What is it called?' }, sure: { type: 'boolean', title: 'Are you sure?' } },
    required: ['name'],
  };
  await send(server, session, 'Ask me', `#ask ${JSON.stringify(form)}`, '#say thank you');
  const page = await windows.open(`/sessions/${session.id}`);
  const card = pending(page);
  await expect(card.getByRole('button', { name: 'Send answers' })).toBeDisabled();
  await card.getByLabel(/What is it called/).fill('Keystone');
  await page.keyboard.press('Enter');
  await expect(card.getByRole('radio', { checked: true })).toHaveCount(0);
  await card.getByRole('radio', { name: 'Yes' }).check();
  await card.getByRole('button', { name: 'Send answers' }).click();
  await expect(cards(page)).toContainText('Answered by you');
  await expect(page.locator('[data-message]').last()).toContainText('{"name":"Keystone","sure":true}');
});

test('a standing permission is behind a menu, with its scope in words', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open('/asks');
  await pending(page).getByRole('button', { name: 'Allow more than this once' }).click();
  await page.getByRole('menuitem').first().click();
  const dialog = page.getByRole('dialog', { name: 'Allow this and all that is like it?' });
  await expect(dialog.locator('blockquote')).not.toBeEmpty();
  await dialog.getByRole('button', { name: 'Do not' }).click();
  await expect(pending(page)).toHaveCount(1);
});

test('letters can be switched off', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open('/settings/appearance');
  await page.getByRole('checkbox', { name: /Single letters do something/ }).uncheck();
  await page.goto(`${server.url}/asks`);
  await choose(pending(page));
  await page.keyboard.press('a');
  await page.keyboard.press('d');
  await expect(pending(page)).toHaveCount(1);
});

test('what changed since it was shown is drawn again, and answers only anew', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  const page = await windows.open('/asks');
  const sent: string[] = [];
  await page.route('**/approve', async (route) => {
    sent.push((route.request().postDataJSON() as { digest: string }).digest);
    const refusal = { error: 'It changed.', code: 'INTERACTION_CHANGED', details: { digest: 'f'.repeat(64) } };
    await route.fulfill({ status: 409, json: refusal });
  });
  await page.route('**/pending-interactions', async (route) => {
    const answered = await route.fetch();
    const body = (await answered.json()) as PendingInteractions;
    const [ask] = body.interactions;
    if (sent.length > 0 && ask) Object.assign(ask, { digest: 'f'.repeat(64), title: 'Write something else' });
    await route.fulfill({ response: answered, json: body });
  });
  const shown = (await server.get<PendingInteractions>('/api/sessions/pending-interactions')).interactions[0]?.digest;
  await answer(pending(page), /^Approve/);
  await expect(pending(page)).toContainText('Changed since it was shown.');
  await expect(pending(page)).toContainText('Write something else');
  expect(sent).toEqual([shown]);
  await page.unroute('**/approve');
  expect(existsSync(join(server.folder('project'), 'asked.txt'))).toBe(false);
});

test('approvals that are alike are answered at once, each by its own digest', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, 'Write', write);
  let list: PendingInteractions = { interactions: [] };
  await expect
    .poll(async () => (list = await server.get<PendingInteractions>('/api/sessions/pending-interactions')).interactions.length)
    .toBe(1);
  const [one] = list.interactions;
  const alike = [1, 2, 3].map((n) => ({ ...one!, id: `0190a000-0000-7000-8000-00000000000${n}`, toolCallId: `call-${n}`, digest: String(n).repeat(64) }));

  const page = await windows.open('/');
  const sent: string[] = [];
  await page.route('**/pending-interactions', (route) => route.fulfill({ json: { interactions: alike }, headers: { 'x-event-seq': '1000000' } }));
  await page.route('**/approve', async (route) => {
    const { toolCallId, digest } = route.request().postDataJSON() as { toolCallId: string; digest: string };
    sent.push(`${toolCallId} ${digest[0]}`);
    await route.fulfill({ json: { ok: true } });
  });
  await pressAtOnce(page, 'Approve all 3', '[role=group]');
  await page.goto(`${server.url}/asks`);
  const batch = page.getByRole('group', { name: '3 alike' });
  await expect(batch).toContainText('Nothing was answered.');
  expect(sent).toEqual([]);
  await batch.getByRole('button', { name: 'Approve all 3' }).click();
  await expect.poll(() => sent.toSorted()).toEqual(['call-1 1', 'call-2 2', 'call-3 3']);
});
