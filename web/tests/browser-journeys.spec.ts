/** Whole ways with the local browser: signing in, sharing and taking back, its end, and its own window. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { call, openSession, send } from './session-actions';
import { address, control, go, headless, more, now, opened, press, processes, showsSite, site, tab, tabs } from './browser-steps';
import { devServer } from './dev-servers';
import { expect, test } from './test-server';
import { expectAccessible } from './view-checks';

test.use({ start: { env: headless } });
// Each has a server and a Chromium of its own, which on a busy computer take half a minute to start.
test.describe.configure({ mode: 'parallel', timeout: 120_000 });

test('a person signs in at a site, shares the tab with a session, pauses, takes over and closes', async ({ server, windows }) => {
  const { url, close } = await site();
  const session = await openSession(server, 'project', { title: 'Cut the stone' });
  const page = await windows.open('/browser');
  await page.getByRole('button', { name: 'Open it here' }).click();
  await expect(address(page)).toBeFocused({ timeout: 30_000 });

  // With a form.
  await go(page, `${url}/sign-in`);
  await expect(tab(page, 'Sign in')).toBeVisible();
  await press(page, 100, 40);
  await page.keyboard.type('ada');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Straße 7');
  await page.keyboard.press('Enter');
  await expect(tab(page, 'welcome ada')).toBeVisible();
  await expect(address(page)).toHaveValue(`${url}/home`);
  // With HTTP Basic: a wrong password is asked for again.
  await page.getByRole('button', { name: 'New tab' }).click();
  await expect(tab(page, 'New tab')).toHaveAttribute('aria-selected', 'true');
  await address(page).fill(`${url}/secret`);
  await address(page).press('Enter');
  const card = page.getByRole('form', { name: 'Sign in at the site' });
  await expect(card.getByText('The vault')).toBeVisible();
  await card.getByLabel('Name').fill('ada');
  await card.getByLabel('Password').fill('wrong');
  await card.getByRole('button', { name: 'Sign in' }).click();
  await expect(card.getByLabel('Password')).toHaveValue('');
  await expect(card.getByLabel('Name')).toHaveValue('');
  await card.getByLabel('Name').fill('ada');
  await card.getByLabel('Password').fill('secret');
  await card.getByRole('button', { name: 'Sign in' }).click();
  await expect(tab(page, 'let in')).toBeVisible();
  await expect(card).toHaveCount(0);

  // One tab is shared; the other one is not.
  await tab(page, 'welcome ada').click();
  await showsSite(page);
  await control(page).getByRole('button', { name: 'Share…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Share this tab with a session' });
  await expect(dialog).toContainText('welcome ada');
  await dialog.getByLabel('Session', { exact: true }).selectOption(session.id);
  await dialog.getByRole('button', { name: 'Share it' }).click();
  await expect(control(page)).toContainText('Nobody acts now');
  await expect(control(page).getByRole('link', { name: 'Cut the stone' })).toBeVisible();
  expect((await now(server)).tabs.map(({ shared }) => shared)).toEqual([true, false]);
  await tab(page, 'let in').click();
  await expect(control(page)).toContainText('without this tab');
  await tab(page, 'welcome ada').click();
  await showsSite(page);

  // Whoever acts has control, until they are still.
  await expect
    .poll(async () => {
      await press(page, 100, 50);
      return control(page).textContent();
    })
    .toContain('You have control');
  await expect(control(page)).toContainText('Nobody acts now');
  await control(page).getByRole('button', { name: 'Pause' }).click();
  await expect(control(page)).toContainText('Paused');
  // The person goes on all the same.
  await press(page, 100, 140);
  await page.keyboard.type('mine');
  await expect(tab(page, 'field mine')).toBeVisible();
  expect(await now(server)).toMatchObject({ paused: true, sessionId: session.id });
  await control(page).getByRole('button', { name: 'Stop sharing' }).click();
  await expect(control(page).getByRole('link')).toHaveCount(0);

  await more(page, 'Close the browser…');
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
  await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible();
  await close();
});

test('a session shares a tab, is paused, and loses it; its own view says the same', async ({ server, windows }) => {
  const { url, close } = await site();
  const session = await openSession(server, 'project', { title: 'Cut the stone' });
  await opened(server, url);
  const page = await windows.open(`/sessions/${session.id}`);
  await page.getByRole('button', { name: 'Browser', exact: true }).click();
  const panel = page.getByRole('complementary', { name: 'Browser' });
  await expect(panel.getByRole('tab', { name: 'ready' })).toBeVisible();
  await panel.getByRole('button', { name: 'Share this tab with this session' }).click();
  await expect(control(page)).toContainText('Shared with this session');
  expect(await now(server)).toMatchObject({ sessionId: session.id });
  await panel.getByRole('button', { name: 'Pause' }).click();
  await expect(control(page)).toContainText('Paused');

  const other = await windows.open('/browser');
  await expect(control(other)).toContainText('Paused');
  await expect(control(other).getByRole('link', { name: 'Cut the stone' })).toBeVisible();
  await control(other).getByRole('button', { name: 'Go on' }).click();
  await expect(control(page)).not.toContainText('Paused');
  await control(other).getByRole('button', { name: 'Stop sharing' }).click();
  await expect(control(page)).toContainText('You have control');
  // A session that ends loses it too.
  await panel.getByRole('button', { name: 'Share this tab with this session' }).click();
  await expect(control(other).getByRole('link', { name: 'Cut the stone' })).toBeVisible();
  await server.remove(`/api/sessions/${session.id}`);
  await expect(control(other)).toContainText('No chat sees this browser.');
  await close();
});

test('an agent fills in a form in the shared tab, is seen at it, and is refused while it is paused', async ({ server, windows }) => {
  const { url, close } = await site();
  const session = await openSession(server, 'project', { title: 'Cut the stone', permissionMode: 'autopilot', acknowledgedAutonomy: true });
  await opened(server, url);
  const page = await windows.open('/browser');
  await showsSite(page);
  await server.post('/api/local-browser/share', { sessionId: session.id });
  await expect(control(page)).toContainText('Nobody acts now');
  const does = (tool: string, args: unknown) => call('call_mcp', { server: 'guildhall', tool, arguments: args });

  // The field is the second thing on the page that can be used, after the button.
  await send(server, session, does('browser_snapshot', {}), does('browser_type', { ref: 'e2', text: 'from the agent' }));
  await expect(tab(page, 'field from the agent')).toBeVisible({ timeout: 30_000 });
  await control(page).getByRole('button', { name: 'Pause' }).click();
  await expect(control(page)).toContainText('Paused');
  await send(server, session, does('browser_press_key', { key: 'Escape' }), '#say it was refused');
  const other = await windows.open(`/sessions/${session.id}`);
  await expect(other.getByText('it was refused', { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect(tab(page, 'field from the agent')).toBeVisible();
  await control(page).getByRole('button', { name: 'Go on' }).click();
  await send(server, session, does('browser_press_key', { key: 'Escape' }));
  await expect(tab(page, 'escaped')).toBeVisible({ timeout: 30_000 });

  // What takes its time is seen while it goes on.
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = await devServer((_, response) => void held.then(() => response.writeHead(200, { 'content-type': 'text/html' }).end('<title>late</title>')));
  await send(server, session, does('browser_navigate', { url: slow.url }));
  await expect(control(page)).toContainText('Agent has control', { timeout: 30_000 });
  await expectAccessible(page, 'an agent at work');
  release();
  await expect(tab(page, 'late')).toBeVisible();
  await expect(control(page)).toContainText('Nobody acts now');
  await slow.close();
  await close();
});

test('two windows show the same page, and what one does the other sees; a fifth one has no room', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const [one, other] = [await windows.open('/browser'), await windows.open('/browser')];
  for (const page of [one, other]) await showsSite(page);
  await press(other, 100, 50);
  await expect(tab(one, 'pressed')).toBeVisible();
  await one.getByRole('button', { name: 'New tab' }).click();
  await expect(tabs(other).getByRole('tab')).toHaveCount(2);
  await tab(other, 'pressed').click();
  for (const page of [one, other]) await showsSite(page);

  // Four may look on.
  await one.evaluate(async () => {
    const more = [1, 2].map(() => new WebSocket('/api/local-browser/stream', 'guildhall-browser.v1'));
    await Promise.all(more.map((socket) => new Promise((resolve) => (socket.onopen = resolve))));
    Object.assign(window, { more });
  });
  const late = await windows.open('/browser');
  await expect(late.getByText('They are shown in a few windows at most')).toBeVisible({ timeout: 30_000 });
  await one.evaluate(() => (window as unknown as { more: WebSocket[] }).more.forEach((socket) => socket.close()));
  await late.getByRole('button', { name: 'Try now' }).click();
  await showsSite(late);
  await close();
});

test('what is seen comes back after the server was gone', async ({ server, windows }) => {
  const { url, close } = await site();
  await opened(server, url);
  const page = await windows.open('/browser');
  await showsSite(page);
  await server.kill();
  // Also after it tried in vain to come back: a server that is gone is not one that is full.
  await expect(page.getByText('The server did not answer.').first()).toBeVisible();
  await expect(page.getByText('The pictures broke off.')).toBeVisible();
  await server.start();
  // With the server its browser ended.
  await expect(page.getByRole('heading', { name: 'No browser is running' })).toBeVisible({ timeout: 30_000 });
  await opened(server, url);
  await showsSite(page);
  await close();
});

test('a browser that is killed is told of, and opens again with its sign-ins', async ({ server, windows }) => {
  const { url, close } = await site();
  const session = await openSession(server, 'project', { title: 'Cut the stone' });
  const page = await windows.open(`/sessions/${session.id}`);
  await page.getByRole('button', { name: 'Browser', exact: true }).click();
  await page.getByLabel('Share its tab with this session').check();
  await page.getByRole('button', { name: 'Open it here' }).click();
  await expect(control(page)).toContainText('Shared with this session', { timeout: 30_000 });
  await go(page, `${url}/sign-in`);
  await press(page, 100, 40);
  await page.keyboard.type('ada');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Straße 7');
  await page.keyboard.press('Enter');
  await expect(tab(page, 'welcome ada')).toBeVisible();

  process.kill(processes(server).browser, 'SIGKILL');
  await expect(page.getByRole('heading', { name: 'The browser ended by itself' })).toBeVisible();
  await expect(page.getByText('BROWSER_CRASHED')).toBeVisible();
  expect(await now(server)).toMatchObject({ status: 'failed', sessionId: '', connectionId: '' });
  await page.getByRole('button', { name: 'Try again, here' }).click();
  await expect(control(page)).toContainText('No chat sees this browser.', { timeout: 30_000 });
  await go(page, `${url}/home`);
  await showsSite(page);
  await close();
});

test('a window of its own without a screen says so, and offers the way that works', async ({ windows }) => {
  const page = await windows.open('/browser');
  await page.getByRole('button', { name: 'Open a window of its own' }).click();
  await expect(page.getByRole('heading', { name: 'There is no screen for a window' })).toBeVisible();
  await page.getByRole('button', { name: 'Open it here' }).click();
  await expect(tab(page, 'New tab')).toBeVisible({ timeout: 30_000 });
});

const XVFB = '/usr/bin/Xvfb';

test.describe('with a screen that nobody sees', () => {
  // Where a run is a judgement, what is missing is a failure.
  const isRequired = process.env.GUILDHALL_TEST_REQUIRE_DISPLAY === '1' || process.env.CI !== undefined;
  test.skip(!existsSync(XVFB) && !isRequired, 'skipped: Xvfb not installed');
  test.use({
    start: async ({}, use) => {
      const screen = spawn(XVFB, ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
      let said = '';
      for await (const part of screen.stdio[3] as NodeJS.ReadableStream) {
        said += String(part);
        if (said.includes('\n')) break;
      }
      await use({ env: { ...headless, DISPLAY: `:${said.trim()}` } });
      screen.kill();
      await once(screen, 'exit');
    },
  });

  test('a window of its own is steered from here, and moves into the page with its tabs', async ({ server, windows }) => {
    const { url, close } = await site();
    const page = await windows.open('/browser');
    await page.getByRole('button', { name: 'Open a window of its own' }).click();
    await expect(page.getByRole('heading', { name: 'The browser is a window of its own' })).toBeVisible({ timeout: 30_000 });
    await expect(tab(page, 'New tab')).toBeVisible();
    await address(page).fill(url);
    await address(page).press('Enter');
    await expect(tab(page, 'ready')).toBeVisible();
    await expectAccessible(page, 'a window of its own');
    await page.getByRole('button', { name: 'Move it into this page' }).click();
    await showsSite(page);
    await expect(tab(page, 'ready')).toBeVisible();
    expect((await now(server)).mode).toBe('embedded');
    await more(page, 'Move it to a window of its own');
    await expect(page.getByRole('heading', { name: 'The browser is a window of its own' })).toBeVisible({ timeout: 30_000 });
    await expect(tab(page, 'ready')).toBeVisible();
    await close();
  });
});
