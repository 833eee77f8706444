import type { Page } from '@playwright/test';
import { linked, serviceTest as test } from './cloud-service';
import { expect, live, test as plainTest, type TestServer, type Windows } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const PROBLEM = 'application/problem+json';
const topUp = (page: Page) => page.getByRole('button', { name: 'Top up' });
const dialog = (page: Page) => page.getByRole('dialog');

test('the pages for plans and credits open in a new tab at the second press, and not before', async ({ server, service, windows }) => {
  await linked(server, service);
  const page = await windows.open('/cloud', { clicked: service.url });
  for (const [name, title, path] of [['Top up', 'Open the top-up page?', '/pay/topup'], ['Manage the plan', 'Open the plan page?', '/pay/portal']] as const) {
    const asks = page.getByRole('button', { name });
    await asks.focus();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('dialog', { name: title })).toContainText(`${service.url}${path}`);
    await expect(dialog(page).getByRole('strong')).toHaveText(new URL(service.url).host);
    await page.keyboard.press('Escape');
    await expect(dialog(page)).toHaveCount(0);
    await expect(asks).toBeFocused();
    expect(service.count(`GET ${path}`)).toBe(0);

    await asks.click();
    const opens = page.context().waitForEvent('page');
    await dialog(page).getByRole('link', { name: 'Open in a new tab' }).click();
    const opened = await opens;
    await expect(opened).toHaveTitle('A page of the service');
    expect(opened.url()).toBe(service.url + path);
    // Whoever is there knows neither this page nor its address.
    expect(await opened.evaluate(() => [window.opener, document.referrer])).toEqual([null, '']);
    expect(page.context().pages(), 'one new tab').toHaveLength(2);
    await opened.close();
    await expect(dialog(page)).toHaveCount(0);
  }
});

test('what the service refuses is shown in its words, with a link only where a person may be sent', async ({ server, service, windows }) => {
  await linked(server, service);
  const page = await windows.open('/cloud');
  const problem = { type: 'about:blank', title: 'No credits now', status: 402, detail: 'Pay the last bill first.', code: 'TOPUP_UNAVAILABLE', requiredPlanDisplayName: 'Team', retryAfterMs: 30_000 };
  service.pages.topup = { status: 402, type: PROBLEM, body: { ...problem, actionUrl: `${service.url}/pay/portal`, actionLabel: 'See the bill' } };
  await topUp(page).click();
  for (const words of ['No credits now', 'Pay the last bill first.', 'TOPUP_UNAVAILABLE', 'It needs the plan Team.', 'Try again in 30 s.']) await expect(dialog(page)).toContainText(words);
  await expect(dialog(page).getByRole('heading')).toHaveText('No top-up page');
  await expect(dialog(page).getByRole('link')).toHaveAttribute('href', `${service.url}/pay/portal`);
  await expect(dialog(page).getByRole('link')).toHaveAttribute('rel', /noopener/);
  await page.keyboard.press('Escape');
  for (const actionUrl of ['javascript:alert(1)', 'data:text/html,x', 'http://pay.example/']) {
    service.pages.topup = { status: 402, type: PROBLEM, body: { ...problem, actionUrl, actionLabel: 'See the bill' } };
    await topUp(page).click();
    await expect(dialog(page)).toContainText('No credits now');
    await expect(dialog(page).getByRole('link')).toHaveCount(0);
    await expect(dialog(page)).not.toContainText('See the bill');
    await page.keyboard.press('Escape');
  }
});

test('where there is no page, one sentence says why, and an offer that is gone leaves the list', async ({ server, service, windows }) => {
  await linked(server, service);
  const page = await windows.open('/cloud');
  const says = async (name: string, words: string) => {
    await page.getByRole('button', { name }).click();
    await expect(dialog(page)).toContainText(words);
    await expect(dialog(page).getByRole('link')).toHaveCount(0);
    await page.keyboard.press('Escape');
    await expect(dialog(page)).toHaveCount(0);
  };
  const missing = { status: 404, type: PROBLEM, body: { title: 'upstream words' } };
  service.pages = { portal: missing, topup: { status: 500, body: 'upstream words' } };
  await says('Manage the plan', 'This account has no plan yet, and so no page to manage one.');
  await says('Top up', 'The cloud service could not be reached. Try again later.');
  service.pages.topup = { status: 200, body: { url: 'javascript:alert(1)' } };
  await says('Top up', 'The cloud service answered with nothing that can be opened.');
  service.pages.checkout = missing;
  service.offers = { status: 200, body: { offers: [], denomination: null } };
  await says('Buy Team', 'The cloud service no longer has this offer.');
  await expect(page.getByRole('region', { name: 'Offers' })).toContainText('The service has no offers.');
  await server.kill();
  await topUp(page).click();
  await expect(page.getByRole('region', { name: 'Plan and payments' }).getByRole('alert')).toContainText('The server did not answer.');
});

const BEN = { email: 'ben@example.org', displayName: 'Ben' };

/** A person whom the owner invited, in a window of their own. */
async function signedIn(server: TestServer, windows: Windows): Promise<Page> {
  await server.post('/api/auth/register', { email: 'ada@example.org', displayName: 'Ada', password: 'a rather long password', setupCode: server.setupCode });
  const { invitePassword } = await server.post<{ invitePassword: string }>('/api/auth/accounts', BEN);
  const page = await windows.open('/cloud', { live: false });
  await page.getByLabel('E-mail').fill(BEN.email);
  await page.getByLabel('Password', { exact: true }).fill(invitePassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('New password', { exact: true }).fill('quite another password');
  await page.getByLabel('The new password again').fill('quite another password');
  await page.getByRole('button', { name: 'Use this password' }).click();
  await live(page);
  return page;
}

plainTest.describe('with accounts, and no service', () => {
  plainTest.use({ start: { auth: 'login' } });

  plainTest('who is not the owner is told who can set one up, and is sent nowhere else', async ({ server, windows }) => {
    const page = await signedIn(server, windows);
    const main = page.getByRole('main');
    await expect(main).toContainText('No cloud service is set up');
    await expect(main).toContainText('The owner of this server can set one up');
    await expect(main.getByRole('link')).toHaveCount(0);
  });
});

test.describe('with accounts', () => {
  test.use({ start: { auth: 'login' } });

  test('who is not the owner sees how the link stands, no code, and no button that would be refused', async ({ server, service, windows }) => {
    const page = await signedIn(server, windows);
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/api/') && response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    const main = page.getByRole('main');
    await expect(main).toContainText('This guildhall is not linked to an account.');
    await expect(main).toContainText('Only the owner of this server can link or unlink it.');
    await expect(main.getByRole('button')).toHaveCount(0);

    const { userCode } = await server.post<{ userCode: string }>('/api/cloud/link/start', {});
    await page.reload();
    await expect(main).toContainText('The owner is asked to type a code.');
    await expect(main).toContainText('waits for the owner');
    await expect(main.getByRole('button')).toHaveCount(0);
    expect(await page.content()).not.toContain(userCode);
    await page.goto(server.url);
    await expect(page.getByRole('heading', { name: 'Hello, Ben' })).toBeVisible();
    await expect(main).not.toContainText('cloud service');

    service.word = 'key';
    await expect.poll(() => server.get('/api/cloud/status')).toMatchObject({ linked: true });
    await page.goto(`${server.url}/cloud`);
    await expect(main).toContainText('This guildhall is linked to an account.');
    await expect(page.getByRole('region', { name: 'Offers' })).toContainText('EUR 12.50 a month');
    await expect(main).toContainText('Only the owner of this server can buy something.');
    await expect(main.getByRole('button')).toHaveCount(0);
    expect(await page.content()).not.toContain(userCode);
    await expectAccessible(page, 'another person');
    expect(refused).toEqual([]);
  });
});

for (const look of viewports) {
  test(`addresses and refusals are accessible: ${look.theme}, ${look.width} px`, async ({ server, service, windows }) => {
    await linked(server, service);
    const page = await windows.open('/cloud', look);
    await topUp(page).click();
    await expect(dialog(page)).toContainText('/pay/topup');
    await expectAccessible(page, 'an address');
    await page.keyboard.press('Escape');
    const title = 'x'.repeat(200);
    service.pages.topup = { status: 402, type: PROBLEM, body: { title, detail: 'y'.repeat(200), code: 'TOPUP_UNAVAILABLE', actionUrl: 'https://pay.example/', actionLabel: 'z'.repeat(80) } };
    await topUp(page).click();
    await expect(dialog(page)).toContainText(title);
    await expectAccessible(page, 'a problem');
  });
}
