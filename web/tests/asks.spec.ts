import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PendingInteraction } from '../src/api/types';
import { answer, call, cards, openSession, pending, prompt, select, send } from './at-work';
import { expect, test } from './house';

type PendingInteractions = { interactions: PendingInteraction[] };

const write = call('write_file', { path: 'asked.txt', content: 'yes' });

test('nothing but its own armed card answers an ask', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card).toBeVisible();
  const written = () => existsSync(join(house.folder('project'), 'asked.txt'));

  // From outside: no key, whatever it is.
  for (const key of ['a', 'd', 'A', 'D', 'Enter', ' ', 'Escape']) await page.keyboard.press(key);
  // The first press on a card that has no focus finds it dead.
  await card.getByRole('button', { name: /^Approve/ }).click({ force: true });
  await expect(card.getByText('Nothing was answered.')).toBeVisible();
  // Enter and Space on the card itself answer nothing, however long it had the focus.
  await select(card);
  await expect(card.getByRole('button', { name: /^Approve/ })).toBeEnabled();
  for (const key of ['Enter', ' ', 'Escape']) await page.keyboard.press(key);
  // Letters typed in a field of the card are words.
  await card.getByRole('button', { name: 'Deny with words' }).click();
  await expect(card.getByRole('textbox', { name: 'Why not?' })).toBeFocused();
  await page.keyboard.type('add a date');
  await card.getByRole('button', { name: 'Back' }).click();
  await expect(card).toBeFocused();
  await expect(pending(page)).toHaveCount(1);
  expect(written()).toBe(false);
});

test('A allows and D denies, once the card has the focus', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write, '#say next', call('write_file', { path: 'denied.txt', content: 'no' }));
  const page = await windows.open('/asks');
  const first = pending(page);
  await page.keyboard.press('j');
  await expect(first).toBeFocused();
  await expect(first.getByRole('button', { name: /^Approve/ })).toBeEnabled();
  await page.keyboard.press('a');
  await expect.poll(() => existsSync(join(house.folder('project'), 'asked.txt'))).toBe(true);

  const second = pending(page).filter({ hasText: 'denied.txt' });
  await select(second);
  await expect(second.getByRole('button', { name: /^Deny$|^Deny D$/ })).toBeEnabled();
  await second.focus();
  await page.keyboard.press('d');
  await expect(page.getByText('Nothing waits for you')).toBeVisible();
  await expect(cards(page).filter({ hasText: 'denied.txt' })).toContainText('Denied by you');
  expect(existsSync(join(house.folder('project'), 'denied.txt'))).toBe(false);
});

test('random keys answer nothing by accident', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  const page = await windows.open(`/sessions/${session.id}`);
  await expect(pending(page)).toBeVisible();
  await prompt(page).focus();
  const keys = ['a', 'd', 'A', 'D', 'Enter', 'Escape', ' ', 'x', 'ArrowUp', 'Backspace', 'j', 'k', 'y', 'n'];
  for (let count = 0; count < 300; count += 1) await page.keyboard.press(keys[(count * 7 + (count % 5)) % keys.length]!);
  await expect(pending(page)).toHaveCount(1);
  expect(existsSync(join(house.folder('project'), 'asked.txt'))).toBe(false);
});

test('words of a refusal reach the agent as the next message', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  const page = await windows.open(`/sessions/${session.id}`);
  await select(pending(page));
  await pending(page).getByRole('button', { name: 'Deny with words' }).click();
  await page.getByRole('textbox', { name: 'Why not?' }).fill('#say I heard you');
  await page.getByRole('button', { name: 'Deny with these words' }).click();
  await expect(cards(page)).toContainText('Denied by you');
  await expect(page.getByText('I heard you', { exact: true })).toBeVisible();
});

test('answered in one window, an ask is its outcome in every other', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  const [one, two] = [await windows.open('/asks'), await windows.open(`/sessions/${session.id}`)];
  await select(pending(two));
  await answer(pending(one), /^Approve/);
  await expect(cards(two)).toContainText('Approved by you');
  await expect(cards(two).getByRole('button', { name: /^Approve/ })).toHaveCount(0);
  const written = join(house.folder('project'), 'asked.txt');
  await expect.poll(() => existsSync(written) && readFileSync(written, 'utf8')).toBe('yes');
});

test('a command stands there one argument a line, and what hides is shown', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Run', call('run_command', { command: ['echo', 'a b', 'x\u202Ey\u200B'] }));
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card.getByRole('heading').first()).toContainText('wants to run a command');
  await expect(card.locator('ol > li')).toHaveText(['echo', 'a b', 'xU+202EyU+200B']);
  await expect(card).toContainText(house.folder('project'));
});

test('questions are answered in a form, and Enter in a field sends nothing', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  const form = {
    type: 'object',
    properties: { name: { type: 'string', title: 'What is it called?' }, sure: { type: 'boolean', title: 'Are you sure?' } },
    required: ['name'],
  };
  await send(house, session, 'Ask me', `#ask ${JSON.stringify(form)}`, '#say thank you');
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

test('a standing permission is behind a menu, with its scope in words', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  const page = await windows.open('/asks');
  await pending(page).getByRole('button', { name: 'Allow more than this once' }).click();
  await page.getByRole('menuitem').first().click();
  const dialog = page.getByRole('dialog', { name: 'Allow this and all that is like it?' });
  await expect(dialog.locator('blockquote')).not.toBeEmpty();
  await dialog.getByRole('button', { name: 'Do not' }).click();
  await expect(pending(page)).toHaveCount(1);
});

test('letters can be switched off', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  const page = await windows.open('/settings/appearance');
  await page.getByRole('checkbox', { name: /Single letters do something/ }).uncheck();
  await page.goto(`${house.url}/asks`);
  await select(pending(page));
  await expect(pending(page).getByRole('button', { name: /^Approve/ })).toBeEnabled();
  await pending(page).focus();
  await page.keyboard.press('a');
  await page.keyboard.press('d');
  await expect(pending(page)).toHaveCount(1);
});

test('what changed since it was shown is drawn again, and answers only anew', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
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
  const shown = (await house.get<PendingInteractions>('/api/sessions/pending-interactions')).interactions[0]?.digest;
  await answer(pending(page), /^Approve/);
  await expect(pending(page)).toContainText('Changed since it was shown.');
  await expect(pending(page)).toContainText('Write something else');
  expect(sent).toEqual([shown]);
  await page.unroute('**/approve');
  expect(existsSync(join(house.folder('project'), 'asked.txt'))).toBe(false);
});

test('asks that are alike are answered at once, each by its own digest', async ({ house, windows }) => {
  const session = await openSession(house, 'project');
  await send(house, session, 'Write', write);
  let list: PendingInteractions = { interactions: [] };
  await expect
    .poll(async () => (list = await house.get<PendingInteractions>('/api/sessions/pending-interactions')).interactions.length)
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
  await page.goto(`${house.url}/asks`);
  const batch = page.getByRole('group', { name: '3 alike' });
  const button = batch.getByRole('button', { name: 'Approve all 3' });
  await button.click({ force: true });
  await expect(batch).toContainText('Nothing was answered.');
  expect(sent).toEqual([]);
  await button.click();
  await expect.poll(() => sent.toSorted()).toEqual(['call-1 1', 'call-2 2', 'call-3 3']);
});
