/** The local browser in the page: a real Chromium beneath the server, looked at and used through its pictures. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { address, control, go, headless, isNew, isShown, more, now, opened, picture, press, processes, showsSite, site, tab, tabs } from './browser-steps';
import { expect, test } from './test-server';
import { expectAccessible, viewports } from './view-checks';

test.use({ start: { env: headless } });
// Each has a server and a Chromium of its own, which on a busy computer take half a minute to start.
test.describe.configure({ mode: 'parallel', timeout: 120_000 });

test('it is opened, led to an address, seen, and closed', async ({ server, windows }) => {
  const { url, close } = await site();
  const page = await windows.open('/browser');
  await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible();
  // Looking starts nothing.
  expect(await now(server)).toMatchObject({ status: 'disconnected', connectionId: '' });
  await page.getByRole('button', { name: 'Open it here' }).click();
  await expect(tab(page, 'New tab')).toBeVisible({ timeout: 30_000 });
  await expect(control(page)).toContainText('You have control');

  // Whoever opened it types an address next.
  await expect(address(page)).toBeFocused();
  await page.keyboard.type(url.replace('http://', ''));
  await page.keyboard.press('Enter');
  await expect(tab(page, 'ready')).toBeVisible();
  await expect(address(page)).toHaveValue(`${url}/`);
  await showsSite(page);
  // What is no address is told, and the page stays.
  await address(page).fill('file:///etc/passwd');
  await address(page).press('Enter');
  await expect(page.getByRole('alert').filter({ hasText: 'web addresses only' })).toBeVisible();
  await address(page).press('Escape');
  await expect(address(page)).toHaveValue(`${url}/`);

  // A reload shows the same browser.
  await page.reload();
  await expect(tab(page, 'ready')).toBeVisible();
  await showsSite(page);
  await more(page, 'Close the browser…');
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
  await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible();
  expect((await now(server)).status).toBe('disconnected');
  await close();
});

test('mouse, wheel, keys and the clipboard reach the page', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const page = await windows.open('/browser');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  let delayMs = 0;
  await page.routeWebSocket('**/api/local-browser/stream', (line) => {
    const server = line.connectToServer();
    line.onMessage((message) => setTimeout(() => server.send(message), delayMs));
  });
  await page.reload();
  await showsSite(page);

  await press(page, 100, 50);
  await expect(tab(page, 'pressed')).toBeVisible();
  await press(page, 100, 140);
  await page.keyboard.type('aß');
  await expect(tab(page, 'field aß')).toBeVisible();
  await page.keyboard.press('Backspace');
  await expect(tab(page, 'field a')).toBeVisible();

  // What is copied is what was selected just before, also where keys take their time.
  delayMs = 500;
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+c');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('a');
  delayMs = 0;
  await page.evaluate(() => navigator.clipboard.writeText('pasted'));
  await page.keyboard.press('End');
  await page.keyboard.press('ControlOrMeta+v');
  await expect(tab(page, 'field apasted')).toBeVisible();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+x');
  await expect(tab(page, 'field')).toBeVisible();
  // Lines stay lines.
  await press(page, 100, 220);
  await page.evaluate(() => navigator.clipboard.writeText('one\r\ntwo'));
  await page.keyboard.press('ControlOrMeta+v');
  await page.keyboard.press('Enter');
  await page.keyboard.type('three');
  await expect(tab(page, 'lines one/two/three')).toBeVisible();

  // Keys that mean something in guildhall are the page's while it has them.
  await page.keyboard.press('Escape');
  await expect(tab(page, 'escaped')).toBeVisible();
  await press(page, 500, 300, { button: 'right' });
  await expect(tab(page, 'context')).toBeVisible();
  await page.mouse.wheel(0, 400);
  await expect(tab(page, 'scrolled')).toBeVisible();
  await page.mouse.wheel(0, -400);
  await expect(tab(page, 'back at the top')).toBeVisible();
  await page.keyboard.press('F6');
  await expect(address(page)).toBeFocused();
  await close();
});

test('two presses in one place are a double one', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const page = await windows.open('/browser');
  await showsSite(page);
  await press(page, 60, 320, { clickCount: 2 });
  await expect(tab(page, 'twice twofold')).toBeVisible();
  await close();
});

test('what an input method makes comes whole, once, and only when it is done', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const page = await windows.open('/browser');
  await showsSite(page);
  await press(page, 100, 140);
  await page.keyboard.type('a');
  await expect(tab(page, 'field a')).toBeVisible();
  const keys = await page.context().newCDPSession(page);
  for (const text of ['に', 'にほ', 'にほん']) await keys.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
  await keys.send('Input.insertText', { text: '日本' });
  await page.keyboard.type('b');
  await expect(tab(page, 'field a日本b')).toBeVisible();
  // As an emoji picker or dictation gives it.
  await page.keyboard.insertText('👩‍🚀');
  await expect(tab(page, /^field a日本b👩/)).toBeVisible();
  // One that was given up leaves nothing.
  await keys.send('Input.imeSetComposition', { text: 'か', selectionStart: 1, selectionEnd: 1 });
  await keys.send('Input.imeSetComposition', { text: '', selectionStart: 0, selectionEnd: 0 });
  await page.keyboard.type('c');
  await expect(tab(page, /^field a日本b👩.*🚀c$/u)).toBeVisible();
  await close();
});

test('fingers press and scroll, and a keyboard can be called', async ({ server, browser }) => {
  const { url, close } = await site();
  await opened(server, url);
  const context = await browser.newContext({ hasTouch: true, isMobile: true, viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/browser`);
  await expect(tab(page, 'ready')).toBeVisible();
  await isShown(page);
  // The page gets the size of the phone, and only then its parts stand where they are pressed.
  await expect.poll(async () => (await picture(page).boundingBox())!.height).toBeGreaterThan(300);
  await isNew(page);
  await picture(page).tap({ position: { x: 100, y: 50 } });
  await expect(tab(page, 'pressed')).toBeVisible();
  // A finger on the field brings no keyboard by itself: the page may not want one.
  await picture(page).tap({ position: { x: 100, y: 140 } });
  await page.getByRole('button', { name: 'Show a keyboard' }).tap();
  await page.keyboard.insertText('hello');
  await expect(tab(page, 'field hello')).toBeVisible();

  const { x, y } = (await picture(page).boundingBox())!;
  const fingers = await context.newCDPSession(page);
  const touch = (type: string, ...at: { x: number; y: number }[]) => fingers.send('Input.dispatchTouchEvent', { type, touchPoints: at } as never);
  await touch('touchStart', { x: x + 100, y: y + 240 });
  for (const up of [200, 140, 80, 20]) await touch('touchMove', { x: x + 100, y: y + up });
  await touch('touchEnd');
  await expect(tab(page, 'scrolled')).toBeVisible();
  await context.close();
  await close();
});

test('tabs are opened, chosen, gone back in and closed', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const page = await windows.open('/browser');
  await expect(tab(page, 'ready')).toHaveAttribute('aria-selected', 'true');
  await page.getByRole('button', { name: 'New tab' }).click();
  await expect(tab(page, 'New tab')).toHaveAttribute('aria-selected', 'true');
  await expect(address(page)).toHaveValue('');
  await expect(address(page)).toBeFocused();
  await go(page, `${url}/?second`);
  await go(page, `${url}/?third`);
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  await expect(address(page)).toHaveValue(`${url}/?second`);
  await page.getByRole('button', { name: 'Forward', exact: true }).click();
  await expect(address(page)).toHaveValue(`${url}/?third`);

  await tabs(page).getByRole('tab').last().focus();
  await page.keyboard.press('ArrowLeft');
  await expect(tabs(page).getByRole('tab').first()).toHaveAttribute('aria-selected', 'true');
  await expect(address(page)).toHaveValue(`${url}/`);
  await page.keyboard.press('Delete');
  await expect(tabs(page).getByRole('tab')).toHaveCount(1);
  await expect(address(page)).toHaveValue(`${url}/?third`);
  // The last one leaves a blank one behind.
  await page.getByTitle('Close this tab (Delete)').click();
  await expect(tab(page, 'New tab')).toBeVisible();

  // Nobody listens at the port of a server that has ended.
  await close();
  await go(page, `${url}/gone`);
  await expect(page.getByText('Nobody listens at that address.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Load it again' })).toBeVisible();
});

test('what a page asks is a card, which no key answers by accident', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, `${url}/?asks=confirm`);
  const page = await windows.open('/browser');
  await showsSite(page);
  await press(page, 100, 50);
  const card = page.getByRole('form', { name: 'The page asks' });
  // Signs that cannot be seen are shown.
  await expect(card.getByRole('blockquote')).toContainText('Really?');
  await expect(card.getByRole('blockquote')).toContainText('U+200B');
  await page.keyboard.press('Enter');
  await expect(card).toBeVisible();
  await card.getByRole('button', { name: 'OK' }).click();
  await expect(tab(page, 'answered true')).toBeVisible();

  await go(page, `${url}/?asks=prompt`);
  await press(page, 100, 50);
  const prompt = page.getByRole('form', { name: 'The page asks for a text' });
  await expect(prompt.getByLabel('Your answer')).toHaveValue('the first');
  await prompt.getByLabel('Your answer').fill('the second');
  await prompt.getByRole('button', { name: 'OK' }).click();
  await expect(tab(page, 'answered the second')).toBeVisible();

  await go(page, `${url}/?asks=alert`);
  await press(page, 100, 50);
  const alert = page.getByRole('form', { name: 'The page says' });
  await expect(alert.getByRole('button')).toHaveText(['OK']);
  await alert.getByRole('button', { name: 'OK' }).click();
  await expect(tab(page, 'answered undefined')).toBeVisible();

  // A page that would lose what was written in it, once a person has touched it.
  await go(page, `${url}/?asks=leave`);
  await press(page, 100, 140);
  await page.keyboard.type('draft');
  await expect(tab(page, 'field draft')).toBeVisible();
  await address(page).fill(`${url}/?elsewhere`);
  await address(page).press('Enter');
  const leave = page.getByRole('form', { name: 'Leave this page?' });
  await leave.getByRole('button', { name: 'Stay' }).click();
  await expect(leave).toHaveCount(0);
  await expect(tab(page, 'field draft')).toBeVisible();
  await close();
});

test('a page gets no file, and gives none', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, `${url}/file`);
  const page = await windows.open('/browser');
  await expect(page.getByText('Nothing is downloaded here.')).toBeVisible();
  await page.getByRole('button', { name: 'Put this note away' }).click();
  await expect(page.getByText('Nothing is downloaded here.')).toHaveCount(0);
  await close();
});

test('a page that crashes is told so, and comes back', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const page = await windows.open('/browser');
  await showsSite(page);
  for (const pid of processes(server).renderers) process.kill(pid, 'SIGKILL');
  await expect(page.getByText('This page crashed.')).toBeVisible();
  expect((await now(server)).status).toBe('connected');
  await page.getByRole('button', { name: 'Load it again' }).click();
  await expect(page.getByText('This page crashed.')).toHaveCount(0);
  // The page has its button when it shows itself again; its first picture may still be blank.
  await isNew(page);
  await showsSite(page);
  await press(page, 100, 50);
  await expect(tab(page, 'pressed')).toBeVisible();
  await close();
});

test.describe('without a Chromium', () => {
  test.use({ start: { env: { ...headless, GUILDHALL_BROWSER: '/nowhere/chromium' } } });

  test('it says where it looked and what to do', async ({ windows }) => {
    const page = await windows.open('/browser');
    await page.getByRole('button', { name: 'Open it here' }).click();
    await expect(page.getByRole('heading', { name: 'There is no Chromium on this computer' })).toBeVisible();
    await page.getByText('Where was looked').click();
    await expect(page.getByText('/nowhere/chromium')).toBeVisible();
    await expectAccessible(page, 'a missing browser');
  });
});

test.describe('with a program that is no Chromium', () => {
  test.use({ start: { env: { ...headless, GUILDHALL_BROWSER: '/bin/false' } } });

  test('it says that it did not open, and may be tried again', async ({ server, windows }) => {
    const page = await windows.open('/browser');
    await page.getByRole('button', { name: 'Open it here' }).click();
    await expect(page.getByRole('heading', { name: 'The browser did not open' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'LAUNCH_FAILED' })).toHaveAttribute('href', '/docs/errors/LAUNCH_FAILED');
    const { revision } = await now(server);
    await page.getByRole('button', { name: 'Try again, here' }).click();
    await expect.poll(async () => (await now(server)).revision).toBeGreaterThan(revision);
    await expect(page.getByRole('heading', { name: 'The browser did not open' })).toBeVisible();
  });
});

test.describe('with a Chromium that never gets ready', () => {
  test.use({
    start: async ({}, use) => {
      const dir = mkdtempSync(join(tmpdir(), 'guildhall-slow-'));
      const program = join(dir, 'chromium');
      writeFileSync(program, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
      await use({ env: { ...headless, GUILDHALL_BROWSER: program } });
      rmSync(dir, { recursive: true });
    },
  });

  test('it says how far it is, and can be given up', async ({ server, windows }) => {
    const page = await windows.open('/browser');
    await page.getByRole('button', { name: 'Open it here' }).click();
    await expect(page.getByRole('heading', { name: 'The browser is being got ready' })).toBeVisible();
    await expect(page.locator('[aria-current=step]')).toContainText('Starting it');
    await expectAccessible(page, 'a browser that is got ready');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible();
    expect((await now(server)).status).toBe('disconnected');
  });
});

test.describe('not on this computer', () => {
  test.use({ start: { auth: 'login', env: headless } });

  test('a sentence says why there is none', async ({ server, browser }) => {
    const account = { email: 'ada@example.org', displayName: 'Ada', password: 'a rather long password' };
    await server.post('/api/auth/register', { ...account, setupCode: server.setupCode });
    // As behind a tunnel.
    const context = await browser.newContext({ extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } });
    const page = await context.newPage();
    await page.goto(`${server.url}/browser`);
    await page.getByLabel('E-mail').fill(account.email);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('heading', { name: 'Not on this computer' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Open it here' })).toHaveCount(0);
    await expectAccessible(page, 'somewhere else');
    await context.close();
  });
});

test('a browser that is switched off says so', async ({ server, windows }) => {
  await server.patch('/api/settings', { 'browser.enabled': false });
  const page = await windows.open('/browser');
  await page.getByRole('button', { name: 'Open it here' }).click();
  await expect(page.getByRole('alert').filter({ hasText: 'The local browser is switched off in the settings.' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible();
  expect((await now(server)).status).toBe('disconnected');
});

for (const look of viewports) {
  test(`the browser is for everybody: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const { url, close } = await site();
    const page = await windows.open('/browser', look);
    await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible();
    await expectAccessible(page, 'no browser');
    await opened(server, `${url}/?asks=confirm`);
    await isShown(page);
    await expectAccessible(page, 'a running browser');
    await server.post('/api/local-browser/pause', { paused: true });
    await expect(control(page)).toContainText('Paused');
    await press(page, 100, 50);
    await expect(page.getByRole('form', { name: 'The page asks' })).toBeVisible();
    await expectAccessible(page, 'a page that asks, and is paused');
    await server.post('/api/local-browser/tabs', { url: `${url}/secret` });
    await expect(page.getByRole('form', { name: 'Sign in at the site' })).toBeVisible();
    await expectAccessible(page, 'a site that asks who one is');
    process.kill(processes(server).browser, 'SIGKILL');
    await expect(page.getByRole('heading', { name: 'The browser ended by itself' })).toBeVisible();
    await expectAccessible(page, 'a browser that ended');
    expect(await picture(page).count()).toBe(0);
    await close();
  });
}
