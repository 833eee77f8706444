import type { Page } from '@playwright/test';
import { ACCOUNT, linked, serviceTest as test } from './cloud-service';
import { expect, live, test as plainTest, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const card = (page: Page) => page.getByRole('region', { name: 'Link', exact: true });
const words = (page: Page) => card(page).getByRole('status');
const button = (page: Page, name: string | RegExp) => card(page).getByRole('button', { name });
const code = (page: Page) => page.getByLabel('Code', { exact: true });
/** What stands on Home about the link. */
const tile = (page: Page) => page.getByRole('region', { name: 'What goes on' }).getByRole('listitem').filter({ hasText: 'link to the cloud service' });
const home = (page: Page) => page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: /^Home/ });

async function restarted(server: TestServer, page: Page): Promise<void> {
  await server.kill();
  await server.start();
  await live(page);
}

plainTest('Home is silent about a cloud service that is not set up', async ({ windows }) => {
  const page = await windows.open('/');
  await expect(page.getByRole('heading', { name: /^Hello|^Home/ })).toBeVisible();
  await expect(page.getByRole('main')).not.toContainText(/cloud/i);
});

test('Home says that a code waits and that a link was refused, and nothing once all is well', async ({ server, service, windows }) => {
  const page = await windows.open('/');
  await expect(page.getByRole('heading', { name: 'Next steps' })).toBeVisible();
  await expect(tile(page)).toHaveCount(0);
  const { userCode } = await server.post<{ userCode: string }>('/api/cloud/link/start', {});
  await expect(tile(page)).toContainText('needs you');
  await expect(page.getByRole('heading', { name: 'One thing needs you' })).toBeVisible();
  expect(await page.content()).not.toContain(userCode);
  service.word = 'access_denied';
  await expect(tile(page)).toContainText('The link was refused. Nothing was linked.');
  await expect(tile(page)).toContainText('failed');

  await tile(page).getByRole('link').click();
  await expect(page).toHaveURL(`${server.url}/cloud`);
  await button(page, 'Dismiss').click();
  await expect(words(page)).toHaveText('This guildhall is not linked to an account.');
  await home(page).click();
  await expect(page.getByRole('heading', { name: 'Next steps' })).toBeVisible();
  await expect(tile(page)).toHaveCount(0);

  service.word = 'waiting';
  await server.post('/api/cloud/link/start', {});
  await expect(tile(page)).toContainText('needs you');
  service.word = 'key';
  await expect(tile(page)).toHaveCount(0);
  expect(await server.get('/api/cloud/status')).toMatchObject({ linked: true, accountLabel: ACCOUNT });
});

test('a key that the service takes no more is told on Home and in the card', async ({ server, service, windows }) => {
  await linked(server, service);
  const page = await windows.open('/');
  await expect(page.getByRole('heading', { name: 'Next steps' })).toBeVisible();
  await expect(tile(page)).toHaveCount(0);
  service.heart = 'gone';
  await restarted(server, page);
  await expect(tile(page)).toContainText('failed');
  await expect(tile(page)).toContainText('does not take the key any more');
  await tile(page).getByRole('link').click();
  await expect(card(page)).toContainText('unlinked');
  await expect(card(page)).not.toContainText(ACCOUNT);
  await expect(page.getByRole('region', { name: 'Offers' })).toHaveCount(0);
  await expect(button(page, 'Try again')).toBeVisible();
  await button(page, 'Dismiss').click();
  await expect(words(page)).toHaveText('This guildhall is not linked to an account.');
});

test('a code whose time is over says so, is nothing for Home, and another one is asked for', async ({ server, service, windows }) => {
  service.expiresIn = 7;
  const page = await windows.open('/cloud');
  await button(page, 'Link this guildhall').click();
  const first = await code(page).innerText();
  await expect(page.getByRole('timer')).toHaveText(/^0:0\d left$/);
  await expect(words(page)).toHaveText('Nobody typed the code in time. Nothing was linked.');
  await expect(code(page)).toHaveCount(0);
  await expect(card(page)).toContainText('expired');
  service.expiresIn = 1_800;
  await button(page, 'Try again').click();
  await expect(code(page)).toHaveText(/^[A-Z]{4}-[A-Z]{4}$/);
  expect(await code(page).innerText()).not.toBe(first);
  await button(page, /^Cancel/).click();
  await expect(words(page)).toHaveText('This guildhall is not linked to an account.');
  service.expiresIn = 1;
  await server.post('/api/cloud/link/start', {});
  await expect(words(page)).toHaveText('Nobody typed the code in time. Nothing was linked.');
  await home(page).click();
  await expect(page.getByRole('heading', { name: 'Next steps' })).toBeVisible();
  await expect(tile(page)).toHaveCount(0);
});

test('a try to link anew leaves the link and a note, until the note is dismissed', async ({ server, service, windows }) => {
  await linked(server, service);
  const page = await windows.open('/cloud');
  await expect(card(page)).toContainText(ACCOUNT);
  const ends = [
    { word: 'access_denied', expiresIn: 1_800, note: 'Linking anew was refused.' },
    { word: 'invalid_scope', expiresIn: 1_800, note: 'Linking anew failed.' },
    { word: 'waiting', expiresIn: 6, note: 'Nobody typed the new code in time.' },
  ] as const;
  for (const { word, expiresIn, note } of ends) {
    service.word = 'waiting';
    service.expiresIn = expiresIn;
    await button(page, 'Link anew').click();
    await expect(code(page)).toBeVisible();
    await expect(words(page)).toContainText('The link from before stands until somebody does.');
    await expect(page.getByRole('region', { name: 'Offers' })).toBeVisible();
    service.word = word;
    await expect(words(page).locator('span')).toHaveText(['This guildhall is linked to an account.', `${note} The link from before still stands.`]);
    await expect(code(page)).toHaveCount(0);
    await button(page, /^Dismiss/).click();
    await expect(words(page)).toHaveText('This guildhall is linked to an account.');
    await expect(button(page, /^Dismiss/)).toHaveCount(0);
  }
  expect(await server.get('/api/cloud/link/status')).toMatchObject({ state: 'linked', relinkOutcome: null, accountLabel: ACCOUNT });
});

test('a service that is silent is said to be, and heard again when it is asked', async ({ server, service, windows }) => {
  await linked(server, service);
  const page = await windows.open('/cloud');
  await expect(words(page)).toHaveText('This guildhall is linked to an account.');
  service.heart = 'broken';
  await restarted(server, page);
  await expect(words(page)).toContainText('The service does not answer at the moment. The link stays');
  await expect(card(page)).toContainText('linked, no answer');
  await expect(card(page)).toContainText('Last answer of the service');
  service.heart = 'taken';
  // The service is asked at most every 15 seconds.
  await expect(async () => {
    await button(page, 'Check now').click();
    await expect(page.getByText('The service answered.')).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 40_000 });
  await expect(words(page)).toHaveText('This guildhall is linked to an account.');
  await expect(button(page, 'Check now')).toBeFocused();
});

test('a cancel waits for the answer that is on its way, and keeps the key it brings', async ({ server, service, windows }) => {
  const page = await windows.open('/cloud');
  for (const brings of ['waiting', 'key'] as const) {
    service.word = 'waiting';
    await button(page, 'Link this guildhall').click();
    await expect(code(page)).toBeVisible();
    service.holds = true;
    const before = service.count('POST /oauth/token');
    await expect.poll(() => service.count('POST /oauth/token')).toBeGreaterThan(before);
    await button(page, /^Cancel/).click();
    await expect(card(page)).toContainText('If it brings a key, the key is kept');
    await expect(button(page, /^Cancel/)).toHaveAttribute('aria-busy', 'true');
    service.word = brings;
    service.letGo();
    await expect(code(page)).toHaveCount(0);
    await expect(card(page)).not.toContainText('on its way');
    await expect(words(page)).toHaveText(brings === 'key' ? 'This guildhall is linked to an account.' : 'This guildhall is not linked to an account.');
  }
  expect(await server.get('/api/cloud/status')).toMatchObject({ linked: true, accountLabel: ACCOUNT });
});

test('what goes wrong with the service or the server is said in a sentence, and can be tried again', async ({ server, service, windows }) => {
  const page = await windows.open('/cloud');
  service.activate = 'javascript:alert(1)';
  await button(page, 'Link this guildhall').click();
  await expect(card(page).getByRole('alert')).toContainText('answered with something that cannot be used');
  service.activate = '';
  service.offers = { status: 500, body: {} };
  await linked(server, service);
  const offers = page.getByRole('region', { name: 'Offers' });
  await expect(offers.getByRole('alert')).toContainText('The cloud service cannot be reached.');
  service.offers = { status: 200, body: { offers: [], denomination: null } };
  await offers.getByRole('button', { name: 'Try again' }).click();
  await expect(offers).toContainText('The service has no offers.');

  await button(page, 'Unlink').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
  await expect(words(page)).toHaveText('This guildhall is not linked to an account.');
  service.close();
  await button(page, 'Link this guildhall').click();
  const alert = card(page).getByRole('alert');
  await expect(alert).toContainText('The cloud service cannot be reached. Try again later');
  await expect(alert.getByRole('link', { name: 'CLOUD_UNREACHABLE' })).toHaveAttribute('href', '/docs/errors/CLOUD_UNREACHABLE');
  await server.kill();
  await button(page, 'Link this guildhall').click();
  await expect(alert).toContainText('The server did not answer.');
});

test('the link is made, looked after and given up by keyboard, and the focus stays near', async ({ service, windows }) => {
  const page = await windows.open('/cloud');
  const press = async (name: string | RegExp, key = 'Enter') => {
    await button(page, name).focus();
    await page.keyboard.press(key);
  };
  await press('Link this guildhall');
  await expect(code(page)).toBeVisible();
  await expect(card(page).getByRole('group', { name: 'Link to the service' })).toBeFocused();
  const order: string[] = [];
  for (let step = 0; step < 3; step++) {
    await page.keyboard.press('Tab');
    order.push(await page.evaluate(() => document.activeElement?.textContent?.trim() ?? ''));
  }
  expect(order).toEqual(['Copy the code', expect.stringContaining('/activate'), expect.stringMatching(/^Cancel/)]);
  // Each second it says something else, and is read out to nobody who does not ask.
  await expect(page.getByRole('timer')).toHaveAttribute('aria-live', 'off');
  service.word = 'key';
  await expect(words(page)).toHaveText('This guildhall is linked to an account.');
  await press('Check now', 'Space');
  await expect(button(page, 'Check now')).toHaveAttribute('aria-busy', 'false');
  await expect(button(page, 'Check now')).toBeFocused();
  await press('Unlink');
  await expect(page.getByRole('dialog', { name: 'Unlink this guildhall?' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(button(page, 'Unlink')).toBeFocused();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).focus();
  await page.keyboard.press('Enter');
  await expect(words(page)).toHaveText('This guildhall is not linked to an account.');
  await expect(card(page).getByRole('group', { name: 'Link to the service' })).toBeFocused();
});

for (const look of viewports) {
  test(`every face of the link is accessible: ${look.theme}, ${look.width} px`, async ({ server, service, windows }) => {
    const page = await windows.open('/cloud', look);
    await expect(words(page)).toHaveText('This guildhall is not linked to an account.');
    await expectAccessible(page, 'idle');
    await server.post('/api/cloud/link/start', {});
    await expect(code(page)).toBeVisible();
    await expectAccessible(page, 'pending');
    await page.goto(server.url);
    await expect(tile(page)).toContainText('needs you');
    await expectAccessible(page, 'pending on Home');
    await page.goto(`${server.url}/cloud`);
    service.word = 'access_denied';
    await expect(words(page)).toContainText('The link was refused.');
    await expectAccessible(page, 'denied');
    await linked(server, service);
    await expect(card(page)).toContainText(ACCOUNT);
    await expect(page.getByRole('button', { name: 'Buy Team' })).toBeVisible();
    await expectAccessible(page, 'linked');
    service.word = 'access_denied';
    await button(page, 'Link anew').click();
    await expect(words(page)).toContainText('Linking anew was refused.');
    await expectAccessible(page, 'a note');
    await button(page, 'Unlink').click();
    await expectAccessible(page, 'unlink');
    await page.keyboard.press('Escape');
    service.heart = 'gone';
    await restarted(server, page);
    await expect(card(page)).toContainText('unlinked');
    await expectAccessible(page, 'unlinked');
  });
}
