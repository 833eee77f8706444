import type { Locator } from '@playwright/test';
import { appendFileSync } from 'node:fs';
import { answer, cards, choose, pending } from './session-actions';
import { expect, test } from './test-server';
import { expectAccessible, viewports } from './view-checks';
import { approved, askFor, brokenServer, program, serversOf, toolServer, writeDiscovered } from './tool-server-steps';

test('what an agent asks for stands there exactly, and is done once a person approved it', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const page = await windows.open('/');
  const command = program(server);
  const connection = { transport: 'stdio' as const, command, args: ['a b', 'x\u202Ey'], env: { API_KEY: 'canary-7f', PATH: '/opt/tools' } };
  const held = await askFor(server, scribe, 'files', connection);
  expect(held.status).toBe(202);

  // It is counted and announced wherever one is, and leads to its card.
  await expect(page.getByRole('alert').filter({ hasText: 'Scribe wants to add the tool server files. 1 waiting.' })).toBeAttached();
  await page.goto(`${server.url}/asks/${held.body.approvalId}`);
  const card = pending(page);
  await expect(card).toBeFocused();
  await expect(card.getByRole('heading').first()).toContainText('wants to add the tool server files');
  await expect(card.locator('ol > li')).toHaveText([command, 'a b', 'x\\u{202e}y']);
  await expect(card).toContainText(server.folder('Scribe'));
  await expect(card.getByText(/^[0-9a-f]{64}$/)).toHaveCount(1);
  await expect(card.getByRole('listitem').filter({ hasText: 'PATH' })).toContainText('/opt/tools');
  await expect(card.getByRole('listitem').filter({ hasText: 'API_KEY' })).toContainText('value not shown');
  expect(await page.content()).not.toContain('canary-7f');

  const sent = page.waitForRequest((request) => request.url().endsWith('/grant'));
  await answer(card, /^Approve/);
  const shown = await server.get<{ digest: string }>(`/api/approvals/${held.body.approvalId}`);
  expect((await sent).postDataJSON()).toEqual({ digest: shown.digest });
  await expect(cards(page)).toContainText('Approved by you');
  expect(await serversOf(server, scribe)).toEqual([]);

  expect((await askFor(server, scribe, 'files', connection, held.body.approvalToken)).status).toBe(200);
  await expect(cards(page)).toContainText('It was done, once.');
  await page.goto(`${server.url}/agents/${scribe.agent.id}/mcp`);
  await expect(page.getByRole('listitem', { name: 'files' })).toContainText('tools not listed yet');
});

test('a refusal takes words along, and reaches the agent', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const held = await askFor(server, scribe, 'web', { transport: 'http', url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': 'canary-8a' } });
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card).toContainText('http://127.0.0.1:9/mcp');
  await expect(card).toContainText('X-Key');
  expect(await page.content()).not.toContain('canary-8a');
  await card.getByRole('button', { name: 'Deny with words' }).click();
  await page.getByRole('textbox', { name: 'Why not?' }).fill('not this one');
  await page.getByRole('button', { name: 'Deny with these words' }).click();
  await expect(cards(page)).toContainText('Denied by you');
  await expect(cards(page)).toContainText('not this one');
  const again = await askFor(server, scribe, 'web', { transport: 'http', url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': 'canary-8a' } }, held.body.approvalToken);
  expect([again.status, again.body.code]).toEqual([403, 'APPROVAL_DENIED']);
  // The address of an approval tells later, too, what became of it.
  await page.goto(`${server.url}/asks/${held.body.approvalId}`);
  await expect(page.getByText('This one is answered already.')).toBeVisible();
  await expect(cards(page)).toContainText('Denied by you');
});

test('nothing but its own armed card approves a wish', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const held = await askFor(server, scribe, 'files', { transport: 'stdio', command: program(server) });
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card).toBeVisible();
  for (const key of ['a', 'd', 'A', 'D', 'Enter', ' ', 'Escape']) await page.keyboard.press(key);
  await page.keyboard.press('j');
  await expect(card).toBeFocused();
  for (const key of ['a', 'd', 'A', 'D', 'Enter', ' ', 'Escape']) await page.keyboard.press(key);
  expect(await server.get(`/api/approvals/${held.body.approvalId}`)).toMatchObject({ state: 'pending' });
  await choose(card);
  await page.keyboard.press('d');
  await expect(cards(page)).toContainText('Denied by you');
});

/** One press on the card at the end of a form; it has the focus already. */
async function approve(dialog: Locator): Promise<void> {
  await expect(dialog.locator('[data-ask]')).toBeFocused();
  await expect(dialog.getByRole('button', { name: /^Approve/ })).toHaveClass(/\bprimary\b/);
  await dialog.getByRole('button', { name: /^Approve/ }).click();
}

test('a person adds, edits, switches off and on, and removes; what is to run shows its card first, and all is seen everywhere', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const path = `/agents/${scribe.agent.id}/mcp`;
  const [page, other] = [await windows.open(`/agents/${scribe.agent.id}`), await windows.open(path)];
  await page.getByRole('link', { name: 'none yet' }).click();
  await expect(page.getByRole('heading', { name: 'No tool server yet' })).toBeVisible();
  await page.getByRole('button', { name: 'Add the first one' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('guildhall');
  await dialog.getByLabel('Command').fill(program(server));
  await dialog.getByLabel('Arguments').fill('--root\nmy folder');
  await dialog.getByRole('button', { name: 'Add a variable' }).click();
  await dialog.getByLabel('Name of variable 1').fill('API_KEY');
  await dialog.getByLabel('Value of variable 1').fill('canary-9c');
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByLabel('Name', { exact: true }).fill('files');
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  await expect(dialog.locator('ol > li')).toHaveText([program(server), '--root', 'my folder']);
  await expect(dialog.getByRole('listitem').filter({ hasText: 'API_KEY' })).toContainText('value not shown');
  expect(await serversOf(server, scribe)).toEqual([]);
  const granted = page.waitForRequest((request) => request.url().endsWith('/grant'));
  const shown = await server.get<{ approvals: { digest: string }[] }>('/api/approvals');
  await approve(dialog);
  expect((await granted).postDataJSON()).toEqual({ digest: shown.approvals[0]?.digest });
  await expect(dialog).toHaveCount(0);

  const row = page.getByRole('listitem', { name: 'files' });
  const seen = other.getByRole('listitem', { name: 'files' });
  await expect(row).toContainText('not tried yet');
  await expect(row).toContainText('my folder');
  await expect(seen).toContainText('variables API_KEY');
  expect(await other.content()).not.toContain('canary-9c');

  await row.getByRole('button', { name: 'Edit files' }).click();
  await expect(dialog.getByLabel('Value of variable 1')).toHaveValue('***');
  await dialog.getByLabel('Arguments').fill('--read-only');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toContainText('--read-only');
  expect((await serversOf(server, scribe))[0]?.connection).toMatchObject({ args: ['--root', 'my folder'] });
  await approve(dialog);
  await expect(seen).toContainText('--read-only');
  const [stored] = await serversOf(server, scribe);
  expect(stored?.connection).toMatchObject({ args: ['--read-only'], env: { API_KEY: 'canary-9c' } });

  await row.getByRole('button', { name: 'Disable files' }).click();
  await expect(seen).toContainText('switched off');
  await row.getByRole('button', { name: 'Enable files' }).click();
  await expect(dialog.getByRole('heading', { name: 'Switch on files' })).toBeVisible();
  await expect(seen).toContainText('switched off');
  await approve(dialog);
  await expect(dialog).toHaveCount(0);
  await expect(seen).not.toContainText('switched off');
  await row.getByRole('button', { name: 'Remove files' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await expect(other.getByRole('heading', { name: 'No tool server yet' })).toBeVisible();
  expect(await serversOf(server, scribe)).toEqual([]);
});

test('a person tests a server, and reads what it offers or why it does not work', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const path = `/api/agents/${scribe.agent.id}/mcp-servers`;
  const command = toolServer(server);
  await approved(server, 'POST', path, { name: 'files', connection: { transport: 'stdio', command } });
  await approved(server, 'POST', path, { name: 'broken', connection: { transport: 'stdio', command: brokenServer(server), env: { KEY: 'canary-2d' } } });
  const view = `/agents/${scribe.agent.id}/mcp`;
  const [page, other] = [await windows.open(view), await windows.open(view)];
  const row = page.getByRole('listitem', { name: 'files', exact: true });
  await expect(row).toContainText('not tried yet');
  const button = row.getByRole('button', { name: 'Test files' });

  // While it runs, it says so and takes no second press.
  let go = (): void => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  await page.route('**/mcp-servers/files/test', async (route) => {
    await held;
    await route.continue();
  });
  await button.click();
  await expect(button).toBeDisabled();
  await expect(row.getByRole('progressbar', { name: 'Test of files' })).toBeVisible();
  go();
  const last = row.getByRole('region', { name: /^Last test/ });
  await expect(last.getByRole('status')).toContainText(/Reached in [\d.]+ m?s, with 2 tools\./);
  await last.getByText('Its tools').click();
  await expect(last.getByRole('listitem')).toHaveText([/look\s+LOOK\s+only reads/, /write\s+WRITE\s+may destroy/]);
  await expect(row).toContainText('ready');
  await expect(other.getByRole('listitem', { name: 'files', exact: true })).toContainText('2 tools');

  // Another program than the allowed one is not started.
  appendFileSync(command, '# another\n');
  await button.click();
  await expect(last.getByRole('status')).toContainText('not the one that was approved');
  await expect(last.getByText('Its tools')).toHaveCount(0);

  const broken = page.getByRole('listitem', { name: 'broken', exact: true });
  await broken.getByRole('button', { name: 'Test broken' }).click();
  await expect(broken.getByRole('status')).toContainText('The server ended with exit code 7:');
  await expect(broken.getByRole('list', { name: 'What the program said last' }).getByRole('listitem')).toHaveText(['reading the settings', 'no room for ***']);
  expect(await page.content()).not.toContain('canary-2d');

  // What was found is about the server as it stood, and one that is off is not tested.
  await approved(server, 'PATCH', `${path}/broken`, { connection: { transport: 'stdio', command } });
  await expect(broken.getByRole('region', { name: /^Last test/ })).toHaveCount(0);
  await row.getByRole('button', { name: 'Disable files' }).click();
  await expect(button).toBeDisabled();
});

test('a form that is behind changes nothing', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const path = `/api/agents/${scribe.agent.id}/mcp-servers`;
  await approved(server, 'POST', path, { name: 'files', connection: { transport: 'stdio', command: program(server) } });
  const page = await windows.open(`/agents/${scribe.agent.id}/mcp`);
  await page.getByRole('button', { name: 'Edit files' }).click();
  await approved(server, 'PATCH', `${path}/files`, { connection: { transport: 'stdio', command: program(server), args: ['theirs'] } });
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Arguments').fill('mine');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Somebody changed this meanwhile.');
  expect((await serversOf(server, scribe))[0]?.connection).toMatchObject({ args: ['theirs'] });
});

test('a form goes back from its card as it was, and the keyboard alone goes through it', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const page = await windows.open(`/agents/${scribe.agent.id}/mcp`);
  await page.getByRole('button', { name: 'Add the first one' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('files');
  await dialog.getByLabel('Command').fill(program(server));
  await page.keyboard.press('Enter');
  const card = dialog.locator('[data-ask]');
  await expect(card).toBeFocused();
  // It stands in the form alone, and offers no refusal that would lock its own writer out.
  await expect(cards(page)).toHaveCount(1);
  await expect(card.getByRole('button', { name: /^Deny/ })).toHaveCount(0);
  for (const key of ['d', 'Enter', ' ']) await page.keyboard.press(key);
  await expect(card).toBeFocused();
  await card.getByRole('button', { name: 'Back' }).click();
  await expect(dialog.getByLabel('Command')).toHaveValue(program(server));
  const first = async (state: string) => (await server.get<{ approvals: { id: string }[] }>(`/api/approvals?state=${state}`)).approvals;
  await expect.poll(async () => (await first('withdrawn')).length).toBe(1);

  // At once again, and left by Escape.
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  await expect(card).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
  await expect.poll(async () => (await first('withdrawn')).length).toBe(2);
  expect(await serversOf(server, scribe)).toEqual([]);

  await page.getByRole('button', { name: 'Add the first one' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('files');
  await dialog.getByLabel('Command').fill(program(server));
  await page.keyboard.press('Enter');
  await expect(card.getByRole('button', { name: /^Approve/ })).not.toHaveAttribute('aria-disabled', 'true');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await expect(card.getByRole('button', { name: /^Approve/ })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole('listitem', { name: 'files' })).toBeVisible();
});

test('a form hears what another window decides on its card, and says what to do', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const page = await windows.open(`/agents/${scribe.agent.id}/mcp`);
  const dialog = page.getByRole('dialog');
  const open = async (name: string): Promise<{ id: string; digest: string }> => {
    await page.getByRole('button', { name: /^Add (the first one|tool server)$/ }).first().click();
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByLabel('Command').fill(program(server));
    await dialog.getByRole('button', { name: 'Add tool server' }).click();
    await expect(dialog.locator('[data-ask]')).toBeFocused();
    return (await server.get<{ approvals: { id: string; digest: string }[] }>('/api/approvals')).approvals[0]!;
  };
  const granted = await open('one');
  await server.post(`/api/approvals/${granted.id}/grant`, { digest: granted.digest });
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole('listitem', { name: 'one' })).toBeVisible();

  const denied = await open('two');
  await server.post(`/api/approvals/${denied.id}/deny`, { reason: 'not this one' });
  await expect(dialog.getByRole('status').filter({ hasText: 'denied' })).toContainText('Go back and change it');
  await dialog.getByRole('button', { name: 'Back' }).click();
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  const taken = await open('three');
  await server.post(`/api/approvals/${taken.id}/withdraw`, {});
  await expect(dialog.getByRole('status').filter({ hasText: 'taken back' })).toContainText('Go back and ask again');
  await dialog.getByRole('button', { name: 'Back' }).click();
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  // What is to be approved is another thing than what was drawn: nothing is done.
  await page.route('**/grant', (route) => route.fulfill({ status: 409, json: { error: 'What is asked for changed.', code: 'APPROVAL_CHANGED', details: null } }));
  await dialog.getByRole('button', { name: /^Approve/ }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await page.unroute('**/grant');
  expect((await serversOf(server, scribe)).map(({ name }) => name)).toEqual(['one']);
  await dialog.getByRole('button', { name: /^Approve/ }).click();
  await expect(page.getByRole('listitem', { name: 'three' })).toBeVisible();
});

test('a program that changes behind its card is shown anew', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const page = await windows.open(`/agents/${scribe.agent.id}/mcp`);
  const command = program(server);
  await page.getByRole('button', { name: 'Add the first one' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('files');
  await dialog.getByLabel('Command').fill(command);
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  const card = dialog.locator('[data-ask]');
  const sum = card.getByText(/^[0-9a-f]{64}$/);
  const before = await sum.textContent();
  appendFileSync(command, '# another\n');
  await approve(dialog);
  await expect(dialog.getByRole('alert')).toContainText('is not what would be used now');
  await expect(sum).not.toHaveText(before ?? '');
  expect(await serversOf(server, scribe)).toEqual([]);
  await approve(dialog);
  await expect(page.getByRole('listitem', { name: 'files' })).toBeVisible();
});

test('what the folder names is shown, and imported by a person', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const command = program(server);
  writeDiscovered(server, scribe, { mcpServers: { notes: { command, args: ['--here'], env: { KEY: 'canary-1b' } }, broken: { command: 7 } } });
  const page = await windows.open(`/agents/${scribe.agent.id}/mcp`);
  const found = page.getByRole('region', { name: 'Found servers' });
  await expect(found.locator('[data-found="notes"]')).toContainText(`${command} --here`);
  await expect(found.getByText('broken')).toBeVisible();
  await found.getByRole('button', { name: 'Import notes' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import notes' });
  await expect(dialog.locator('ol > li')).toHaveText([command, '--here']);
  expect(await serversOf(server, scribe)).toEqual([]);
  await approve(dialog);
  await expect(found).toContainText('✓ added');
  await expect(page.getByRole('listitem', { name: 'notes' })).toContainText('variables KEY');
  expect(await page.content()).not.toContain('canary-1b');
});

test('a server whose program is gone is a broken thing on the first page', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  await approved(server, 'POST', `/api/agents/${scribe.agent.id}/mcp-servers`, { name: 'lost', connection: { transport: 'stdio', command: '/nowhere/at/all' } });
  const page = await windows.open('/');
  const tile = page.getByRole('listitem').filter({ hasText: 'its program is not found' });
  await expect(tile).toContainText('lost');
  await tile.getByRole('link').click();
  await expect(page).toHaveURL(new RegExp(`/agents/${scribe.agent.id}/mcp$`));
});

test('a changed server shows before and after, and a card that changed answers only anew', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const held = await askFor(server, scribe, 'files', { transport: 'stdio', command: program(server) });
  const page = await windows.open('/');
  // Nothing that was asked before is left for the stand-in to answer.
  await page.goto('about:blank');
  const before = { executableSha256: 'a'.repeat(64), tools: [{ name: 'read', description: 'Reads.' }] };
  const after = { executableSha256: 'b'.repeat(64), tools: [{ name: 'read', description: 'Reads, and sends it\u202E away.' }] };
  const sent: string[] = [];
  await page.route(/\/api\/approvals(\?|\/)/, async (route) => {
    if (route.request().method() === 'POST') {
      sent.push((route.request().postDataJSON() as { digest: string }).digest[0]!);
      return route.fulfill({ status: 409, json: { error: 'It changed.', code: 'APPROVAL_CHANGED', details: null } });
    }
    const answered = await route.fetch();
    const body = (await answered.json()) as { approvals?: object[]; card: object };
    const card = sent.length === 0 ? { name: 'files', before, after } : { name: 'files', before, after: { ...after, executableSha256: 'c'.repeat(64) } };
    const repin = { kind: 'repin', capability: 'mcp.repin', card, digest: (sent.length === 0 ? '1' : '2').repeat(64) };
    for (const approval of body.approvals ?? [body]) Object.assign(approval, repin);
    return route.fulfill({ response: answered, json: body });
  });
  await page.goto(`${server.url}/asks/${held.body.approvalId}`);
  const card = pending(page);
  await expect(card.getByRole('row', { name: /executable sha256/ })).toContainText('b'.repeat(64));
  await expect(card.getByRole('region', { name: 'Change of tools' })).toContainText('sends itU+202E away.');
  await answer(card, /^Approve/);
  await expect(card).toContainText('Changed since it was shown.');
  await expect(card.getByRole('row', { name: /executable sha256/ })).toContainText('c'.repeat(64));
  await answer(card, /^Approve/);
  await expect.poll(() => sent).toEqual(['1', '2']);
  // The page asks once more what it was told; the test may be over before that is answered.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

for (const look of viewports) {
  test(`tool servers and their approvals are accessible: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const scribe = await server.agent('Scribe');
    const path = `/api/agents/${scribe.agent.id}/mcp-servers`;
    const command = program(server);
    await approved(server, 'POST', path, { name: 'files', connection: { transport: 'stdio', command, args: ['--root', '.'], env: { KEY: 'k' } } });
    await approved(server, 'POST', path, { name: 'lost', connection: { transport: 'stdio', command: '/nowhere/at/all' } });
    await approved(server, 'POST', path, { name: 'tested', connection: { transport: 'stdio', command: toolServer(server) } });
    await approved(server, 'POST', path, { name: 'broken', connection: { transport: 'stdio', command: brokenServer(server) } });
    writeDiscovered(server, scribe, { mcpServers: { notes: { command }, broken: { command: 7 } } });
    await askFor(server, scribe, 'more', { transport: 'stdio', command, args: ['-y', 'a b'], env: { PATH: '/opt/tools', KEY: 'k' } });
    const page = await windows.open('/', look);
    await expect(page.getByText('its program is not found')).toBeVisible();
    await expectAccessible(page, 'home');
    await page.goto(`${server.url}/asks`);
    await expect(pending(page)).toBeVisible();
    await expectAccessible(page, 'approvals');
    await page.goto(`${server.url}/agents/${scribe.agent.id}/mcp`);
    await expect(page.getByRole('listitem', { name: 'lost' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Import notes' })).toBeVisible();
    await expectAccessible(page, 'tool servers');
    for (const name of ['tested', 'broken']) await page.getByRole('button', { name: `Test ${name}` }).click();
    await page.getByText('Its tools', { exact: true }).click();
    await expect(page.getByRole('list', { name: 'What the program said last' })).toBeVisible();
    await expectAccessible(page, 'tested tool servers');
    const below = await page.evaluate(() => document.documentElement.scrollHeight - document.documentElement.clientHeight);
    expect(below, 'only the view itself scrolls').toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: 'Edit files' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page, 'edit a tool server');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('dialog').locator('[data-ask]')).toBeFocused();
    await expectAccessible(page, 'the card of a form');
  });
}
