import type { Page } from '@playwright/test';
import type { Setting } from '../src/api/types';
import { expect, test, type TestServer } from './test-server';

const setting = (page: Page, key: string) => page.locator(`[data-setting="${key}"]`);

async function stored(server: TestServer, key: string): Promise<Setting> {
  const { settings } = await server.get<{ settings: Setting[] }>('/api/settings');
  return settings.find((one) => one.key === key)!;
}

test('every setting shows its value and who said so', async ({ server, windows }) => {
  const page = await windows.open('/settings');
  await page.getByRole('main').getByRole('link', { name: 'This server' }).click();
  await expect(page).toHaveURL(`${server.url}/settings/server`);
  const { settings } = await server.get<{ settings: Setting[] }>('/api/settings');
  await expect(page.locator('[data-setting]')).toHaveCount(settings.length);
  await expect(page.getByRole('heading', { level: 2, name: 'Rooms and turns' })).toBeVisible();
  await expect(setting(page, 'rooms.maxAgentDepth')).toContainText('30');
  await expect(setting(page, 'rooms.maxAgentDepth')).toContainText('default');
  await expect(setting(page, 'files.roots')).toContainText('needs a restart');

  await page.getByRole('searchbox', { name: 'Filter the settings' }).fill('agent depth');
  await expect(page.locator('[data-setting]')).toHaveCount(1);
  await page.getByRole('searchbox', { name: 'Filter the settings' }).fill('no such thing');
  await expect(page.getByText('No setting has these words.')).toBeVisible();
});

test('a number is changed, refused at its field, seen elsewhere and reset', async ({ server, windows }) => {
  const key = 'rooms.maxAgentDepth';
  const page = await windows.open('/settings/server');
  const other = await windows.open('/settings/server');
  await page.getByRole('button', { name: `Change ${key}` }).click();
  const field = page.getByLabel(key, { exact: true });
  await expect(field).toBeFocused();
  await field.fill('many');
  await page.keyboard.press('Enter');
  await expect(setting(page, key).getByRole('alert')).toHaveText('Write a number.');
  await field.fill('500');
  await page.keyboard.press('Enter');
  await expect(setting(page, key).getByRole('alert')).toHaveText('Must be 0 to 100.');
  await expect(field).toHaveAttribute('aria-invalid', 'true');
  expect((await stored(server, key)).source).toBe('default');

  await field.fill('5');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: `Change ${key}` })).toBeFocused();
  await expect(setting(other, key)).toContainText('changed here');
  await expect(setting(other, key)).toContainText('Default: 30');
  expect(await stored(server, key)).toMatchObject({ value: 5, source: 'stored' });
  // What counts is told beside the room's own limits.
  expect(await server.team()).toMatchObject({ maxAgentDepth: 5 });

  await page.getByRole('button', { name: `Reset ${key}` }).click();
  await expect(setting(page, key)).toContainText('default');
  await expect(page.getByRole('button', { name: `Reset ${key}` })).toHaveCount(0);
  expect(await stored(server, key)).toMatchObject({ value: 30, source: 'default' });
});

test('a switch and a list are changed by their own inputs', async ({ server, windows }) => {
  const page = await windows.open('/settings/server');
  await page.getByRole('button', { name: 'Change rooms.turnLimitsEnabled' }).click();
  await page.getByRole('combobox', { name: 'rooms.turnLimitsEnabled' }).selectOption('off');
  await setting(page, 'rooms.turnLimitsEnabled').getByRole('button', { name: 'Save' }).click();
  await expect(setting(page, 'rooms.turnLimitsEnabled')).toContainText('changed here');
  expect((await stored(server, 'rooms.turnLimitsEnabled')).value).toBe(false);

  await page.getByRole('button', { name: 'Change server.allowedHosts' }).click();
  await page.getByLabel('server.allowedHosts', { exact: true }).fill('hall.example\n\n  tower.example ');
  await setting(page, 'server.allowedHosts').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('server.allowedHosts is stored. It counts from the next start on.')).toBeVisible();
  expect((await stored(server, 'server.allowedHosts')).value).toEqual(['hall.example', 'tower.example']);
});

test.describe('set at the start', () => {
  test.use({ start: { flags: ['--allowed-host', 'hall.example'] } });

  test('what a flag sets can only be read, and says why', async ({ windows }) => {
    const page = await windows.open('/settings/server');
    const row = setting(page, 'server.allowedHosts');
    await expect(row).toContainText('hall.example');
    await expect(row).toContainText('flag');
    await expect(row).toContainText('Set by a flag the server was started with; it can only be changed there.');
    await expect(row.getByRole('button', { name: /^Change|^Reset/ })).toHaveCount(0);
  });
});

test('a setting is copied as lines of the configuration file', async ({ windows }) => {
  const page = await windows.open('/settings/server');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy rooms.maxAgentDepth as config' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('[rooms]\nmaxAgentDepth = 30\n');
});

test('without accounts the sections say so, and appearance is chosen here', async ({ server, windows }) => {
  const page = await windows.open('/settings/appearance');
  await page.getByRole('radio', { name: 'Dark', exact: true }).check();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.goto(`${server.url}/settings/people`);
  await expect(page.getByText('This server has no accounts')).toBeVisible();
  await page.goto(`${server.url}/settings/account`);
  await expect(page.getByText('There is nothing here in mode local')).toBeVisible();
  await page.goto(`${server.url}/settings/nonsense`);
  await expect(page.getByText('There is no such section')).toBeVisible();
});
