/** Where the keyboard is: in the message box of the place one opened, unless one is elsewhere on purpose. */

import { answer, call, openSession, pending, prompt, send, tell } from './session-actions';
import { composer, expect, say, test } from './test-server';

test('a room, a session and a thread open with the focus in their message box', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const { entry } = await scribe.say(team.id, 'The build is green.');
  await scribe.say(team.id, 'All of it.', entry.id);
  const session = await openSession(server, 'project');

  const page = await windows.open('/rooms');
  await page.getByRole('main').getByRole('link', { name: /team/i }).first().click();
  await expect(composer(page)).toBeFocused();
  await page.getByRole('link', { name: /1 reply/ }).click();
  const inThread = page.getByRole('region', { name: 'Thread' }).getByRole('textbox', { name: /^Write to/ });
  await expect(inThread).toBeFocused();
  await page.reload();
  await expect(inThread).toBeFocused();

  await page.goto(`${server.url}/sessions`);
  await page.getByRole('main').locator(`a[href="/sessions/${session.id}"]`).click();
  await expect(prompt(page)).toBeFocused();
  await page.reload();
  await expect(prompt(page)).toBeFocused();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('team');
  await page.keyboard.press('Enter');
  await expect(composer(page)).toBeFocused();
});

test('after a message and after an answer the focus is in the message box again', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const team = await server.team();
  const page = await windows.open(`/sessions/${session.id}`);
  await tell(page, call('write_file', { path: 'a.txt', content: 'a' }), call('write_file', { path: 'b.txt', content: 'b' }));
  await expect(prompt(page)).toBeFocused();
  await answer(pending(page).filter({ hasText: 'a.txt' }), /^Approve/);
  await expect(prompt(page)).toBeFocused();
  await pending(page).filter({ hasText: 'b.txt' }).getByRole('button', { name: 'Deny with words' }).click();
  await page.getByRole('textbox', { name: 'Why not?' }).fill('#say I heard you');
  await page.getByRole('button', { name: 'Deny with these words' }).click();
  await expect(prompt(page)).toBeFocused();

  await page.goto(`${server.url}/rooms/${team.id}`);
  await composer(page).fill('Written, and sent by the button');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(composer(page)).toBeFocused();
});

test('whoever is in a text field or a dialog stays there', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  const team = await server.team();
  const page = await windows.open(`/sessions/${session.id}`);
  await tell(page, call('write_file', { path: 'a.txt', content: 'a' }));
  await expect(pending(page)).toBeVisible();
  // The answer is on its way while somebody writes elsewhere.
  let letGo = () => {};
  const held = new Promise<void>((done) => (letGo = done));
  await page.route('**/approve', async (route) => {
    await held;
    await route.continue();
  });
  await answer(pending(page), /^Approve/);
  await page.keyboard.press('Control+k');
  const find = page.getByRole('dialog', { name: 'Find' }).getByRole('combobox');
  await expect(find).toBeFocused();
  const over = page.waitForResponse('**/approve');
  letGo();
  await over;
  await expect(page.locator('[data-ask]')).toContainText('Approved by you');
  await expect(find).toBeFocused();

  // A room that loads slowly takes the focus from no field that somebody went to meanwhile.
  let load = () => {};
  const slow = new Promise<void>((done) => (load = done));
  await page.route(`**/api/rooms/${team.id}`, async (route) => {
    await slow;
    await route.continue();
  });
  await page.goto(`${server.url}/rooms/${team.id}`);
  await page.keyboard.press('Control+k');
  await expect(find).toBeFocused();
  load();
  await expect(page.locator('textarea')).toBeAttached();
  await expect(find).toBeFocused();
});

test('on a touch screen no keyboard opens by itself', async ({ server, windows }) => {
  const session = await openSession(server, 'project');
  await send(server, session, call('write_file', { path: 'a.txt', content: 'a' }));
  const team = await server.team();
  const page = await windows.open(`/sessions/${session.id}`, { width: 360, height: 640, touch: true });
  await expect(prompt(page)).toBeVisible();
  await expect(prompt(page)).not.toBeFocused();
  await pending(page).getByRole('button', { name: /^Approve/ }).tap();
  await expect(page.locator('[data-ask]')).toContainText('Approved by you');
  await expect(prompt(page)).not.toBeFocused();
  await page.goto(`${server.url}/rooms/${team.id}`);
  await expect(composer(page)).not.toBeFocused();
  // Who writes goes on writing.
  await say(page, 'from a phone');
  await expect(composer(page)).toBeFocused();
});
