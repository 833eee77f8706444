import type { Browser, Page } from '@playwright/test';
import { cloudTest, EMAIL, PASSWORD, type CompanionProcess } from './companion';
import { expect, live, test } from './test-server';
import { expectAccessible, viewports } from './view-checks';

/** A phone or another browser, in which the account's owner signs in and answers to the code. */
async function answer(browser: Browser, companion: CompanionProcess, address: string, decision: 'Link it' | 'Do not'): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(companion.account());
  await page.getByLabel('Password, at least').fill(PASSWORD);
  await page.getByLabel('The same again').fill(PASSWORD);
  await page.getByRole('button', { name: 'Keep this password' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
  await page.goto(address);
  await page.getByRole('button', { name: decision }).click();
  await expect(page.getByRole('heading', { name: decision === 'Link it' ? 'It is linked' : 'It is not linked' })).toBeVisible();
  await context.close();
}

const state = (page: Page) => page.getByRole('region', { name: 'Link', exact: true });
/** What waits is polled for every five seconds. */
const POLLED = { timeout: 20_000 };

test('without a cloud service the page says that nothing needs one, and how to set one up', async ({ windows }) => {
  const page = await windows.open('/settings');
  await page.getByRole('navigation', { name: 'Sections of the settings' }).getByRole('link', { name: 'Cloud' }).click();
  await expect(page).toHaveURL(/\/cloud$/);
  await expect(page.getByText('Everything on this page works without it')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'No cloud service is set up' })).toBeVisible();
  await expect(page.getByText('GUILDHALL_CLOUD_URL')).toBeVisible();
  await expect(page.getByRole('main').getByRole('link', { name: 'settings of this server' })).toHaveAttribute('href', '/settings/server');
  await expect(page.getByRole('main').getByRole('button')).toHaveCount(0);
  await expectAccessible(page, 'no cloud');
});

cloudTest('an instance is linked by its code, sees what there is to pay for, and is unlinked', async ({ browser, companion, server, windows }) => {
  const page = await windows.open('/cloud');
  await expect(state(page)).toContainText('not linked');
  await page.getByRole('button', { name: 'Link this guildhall' }).click();
  const code = page.getByLabel('Code', { exact: true });
  await expect(code).toHaveText(/^[A-Z]{4}-[A-Z]{4}$/);
  // It survives a reload, and stands nowhere but on the page.
  const typed = await code.innerText();
  await page.reload();
  await live(page);
  await expect(code).toHaveText(typed);
  expect(await page.title()).not.toContain(typed);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(typed);

  await answer(browser, companion, `${companion.url}/activate?user_code=${typed}`, 'Link it');
  await expect(state(page).getByRole('status')).toContainText('is linked to an account', POLLED);
  await expect(state(page)).toContainText(EMAIL);
  await expect(state(page)).toContainText('Last answer of the service');
  await state(page).getByRole('button', { name: 'Check now' }).click();
  await expect(page.getByText('The service has no offers.')).toBeVisible();
  await page.getByRole('button', { name: 'Manage the plan' }).click();
  await expect(page.getByRole('dialog', { name: 'No plan page' })).toBeVisible();
  await expectAccessible(page, 'no plan page');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);

  await page.getByRole('button', { name: 'Unlink' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
  await expect(state(page)).toContainText('not linked');
  await expect(page.getByRole('region', { name: 'Offers' })).toHaveCount(0);
  expect(await server.get('/api/cloud/status')).toMatchObject({ configured: true, linked: false });
});

cloudTest('a link that is refused says so until it is dismissed', async ({ browser, companion, windows }) => {
  const page = await windows.open('/cloud');
  await page.getByRole('button', { name: 'Link this guildhall' }).click();
  const typed = await page.getByLabel('Code', { exact: true }).innerText();
  await answer(browser, companion, `${companion.url}/activate?user_code=${typed}`, 'Do not');
  await expect(state(page).getByRole('status')).toHaveText('The link was refused. Nothing was linked.', POLLED);
  await expect(state(page).getByRole('button', { name: 'Try again' })).toBeVisible();
  await state(page).getByRole('button', { name: 'Dismiss' }).click();
  await expect(state(page)).toContainText('not linked');
});

cloudTest.describe('where something is sold', () => {
  cloudTest.use({ sells: true });

  cloudTest('an offer is bought at an address that is read before it is opened', async ({ browser, companion, windows }) => {
    const page = await windows.open('/cloud');
    await page.getByRole('button', { name: 'Link this guildhall' }).click();
    const typed = await page.getByLabel('Code', { exact: true }).innerText();
    await answer(browser, companion, `${companion.url}/activate?user_code=${typed}`, 'Link it');
    const offer = page.getByRole('region', { name: 'Offers' }).getByRole('listitem', { name: 'Team' });
    await expect(offer).toContainText('EUR 12.50 a month', POLLED);
    await expect(offer).toContainText('agents: 5');
    await offer.getByRole('button', { name: 'Buy Team' }).click();
    const dialog = page.getByRole('dialog', { name: 'Open the payment page?' });
    await expect(dialog).toContainText('https://checkout.stripe.com/c/pay/1');
    await expect(dialog.getByRole('strong')).toHaveText('checkout.stripe.com');
    const open = dialog.getByRole('link', { name: 'Open in a new tab' });
    await expect(open).toHaveAttribute('href', 'https://checkout.stripe.com/c/pay/1');
    await expect(open).toHaveAttribute('target', '_blank');
    await expect(open).toHaveAttribute('rel', /noopener/);
    await expectAccessible(page, 'an address');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Manage the plan' }).click();
    await expect(page.getByRole('dialog', { name: 'Open the plan page?' })).toContainText('https://billing.stripe.com/p/1');
  });
});

for (const look of viewports) {
  cloudTest(`a code that waits is accessible, and can be cancelled: ${look.theme}, ${look.width} px`, async ({ companion, windows }) => {
    const page = await windows.open('/cloud', look);
    await page.getByRole('button', { name: 'Link this guildhall' }).click();
    await expect(page.getByRole('img', { name: /^QR code/ })).toBeVisible();
    await expect(page.getByRole('timer')).toHaveText(/^(30:00|29:\d\d) left$/);
    await expect(page.getByRole('link', { name: `${companion.url}/activate` })).toHaveAttribute('rel', /noopener/);
    await expectAccessible(page, 'a code');
    await page.getByRole('button', { name: /^Cancel/ }).click();
    await expect(state(page)).toContainText('not linked');
    await expect(page.getByRole('img', { name: /^QR code/ })).toHaveCount(0);
  });
}
