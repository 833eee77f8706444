/**
 * A browser that may be an agent's, for real: one that was started while an agent ran without its
 * enclosure, and whose server was killed and started again.
 */

import type { Browser, Page } from '@playwright/test';
import { openSession, prompt, send } from './session-actions';
import { composer, expect, live, test as base, texts } from './test-server';
import { expectAccessible, viewports } from './view-checks';

type Doubtful = {
  /** The browser that will be in doubt. */
  doubted: Browser;
  /** Kills the server and starts it again: from then on it is. */
  raiseDoubt: () => Promise<void>;
  /** The address that `guildhall open` would show. */
  link: string;
  /** A session of the agent. */
  session: string;
};

const test = base.extend<{ doubtful: Doubtful }>({
  doubtful: async ({ server, browser }, use) => {
    await server.patch('/api/settings', { 'agents.enclosure': 'off' });
    const session = await openSession(server, 'project');
    await send(server, session, 'hello');
    // Only an agent that runs already can have started the browser.
    const messages = async () => (await server.get<{ messages: { role: string; state: string }[] }>(`/api/sessions/${session.id}/messages`)).messages;
    await expect.poll(async () => (await messages()).some(({ role, state }) => role === 'assistant' && state === 'complete')).toBe(true);
    // Made now: with some browsers running nobody is beyond doubt later.
    const { path } = await server.post<{ path: string }>('/api/auth/open', {});
    const doubted = await browser.browserType().launch();
    const raiseDoubt = async () => {
      await server.kill();
      await server.start();
    };
    await use({ doubted, raiseDoubt, link: server.url + path, session: `/sessions/${session.id}` });
    await doubted.close();
  },
});

const view = (page: Page) => page.getByRole('heading', { name: 'Is this your browser?' });

/** In another tab of the same browser. */
async function openLink(page: Page, link: string): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(link);
  await live(tab);
  return tab;
}

for (const look of viewports) {
  test(`a browser in doubt is told so, and goes on once its link was opened: ${look.theme}, ${look.width} px`, async ({ windows, doubtful }) => {
    await doubtful.raiseDoubt();
    const page = await windows.open('/settings/devices', { ...look, browser: doubtful.doubted, live: false });
    await expect(view(page)).toBeVisible();
    await expect(page.getByText('guildhall open', { exact: true })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Sign in' })).toHaveCount(0);
    await expectAccessible(page, 'doubt');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).press('Enter');
    await expect(page.getByRole('button', { name: 'Copied' })).toBeFocused();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('guildhall open');
    await page.getByRole('button', { name: 'Try again' }).press('Enter');
    await expect(page.getByText('Not settled yet')).toBeVisible();
    await expectAccessible(page, 'doubt that lasts');
    const why = await page.evaluate(async () => (await fetch('/docs/errors/CALLER_IN_DOUBT')).status);
    expect(why).toBe(200);

    const tab = await openLink(page, doubtful.link);
    await live(page);
    await expect(page.getByRole('heading', { name: 'Devices', exact: true })).toBeVisible();

    // The link counted once; whoever opens it again reads why.
    await tab.goto(doubtful.link);
    await expect(tab.getByText('This link was opened already')).toBeVisible();
    await expectAccessible(tab, 'link that was used');
    await tab.getByRole('link', { name: 'Go to guildhall' }).click();
    await live(tab);
    await tab.close();

    // Forgotten, it is in doubt again; the page behind stays as it is.
    await page.getByRole('button', { name: 'Forget all Browsers opened by guildhall open' }).click();
    const confirm = page.getByRole('dialog', { name: 'Forget all these browsers?' });
    await expectAccessible(page, 'confirmation');
    await confirm.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByRole('button', { name: /^Forget all/ })).toBeFocused();
    await page.getByRole('button', { name: /^Forget all/ }).press('Enter');
    await confirm.getByRole('button', { name: 'Forget all' }).click();
    await expect(confirm).toHaveCount(0);
    await page.reload();
    await expect(view(page)).toBeVisible();
  });
}

test('a doubt that arises later covers the page and keeps what was typed', async ({ server, windows, doubtful }) => {
  const page = await windows.open(`/rooms/${(await server.team()).id}`, { browser: doubtful.doubted });
  const other = await page.context().newPage();
  await other.goto(server.url + doubtful.session);
  await live(other);
  await composer(page).fill('Half a sentence');
  await prompt(other).fill('Another half');
  await composer(page).focus();
  await doubtful.raiseDoubt();
  for (const tab of [page, other]) {
    await expect(view(tab)).toBeVisible({ timeout: 25_000 });
    await expect(tab.getByText('What you typed is kept.')).toBeVisible();
  }
  await expectAccessible(page, 'doubt over a page');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await expect(view(page)).toBeVisible();

  await openLink(page, doubtful.link);
  for (const one of [page, other]) {
    await expect(view(one)).toHaveCount(0);
    await live(one);
  }
  await page.bringToFront();
  await expect(composer(page)).toBeFocused();
  await page.keyboard.type(', and the rest');
  await page.keyboard.press('Enter');
  await expect.poll(() => texts(page)).toContain('Half a sentence, and the rest');
  await expect(prompt(other)).toHaveValue('Another half');
});

test('words of a form survive a doubt too', async ({ windows, doubtful }) => {
  const page = await windows.open('/agents', { browser: doubtful.doubted, width: 360, height: 640, theme: 'dark' });
  await page.getByRole('button', { name: /^Add (agent|the first agent)$/ }).first().click();
  const name = page.getByRole('dialog').getByRole('textbox').first();
  await name.fill('Mason');
  await doubtful.raiseDoubt();
  await expect(view(page)).toBeVisible({ timeout: 25_000 });
  await expectAccessible(page, 'doubt over a dialog');
  await openLink(page, doubtful.link);
  await expect(view(page)).toHaveCount(0);
  await expect(name).toHaveValue('Mason');
});
