/** The data on disk: its backups, and the banner while it is damaged. */

import type { Backups } from '../src/api/types';
import { expect, test } from './house';

test('a backup is made, shown with its size and downloaded', async ({ house, windows }) => {
  const page = await windows.open('/settings');
  await page.getByRole('main').getByRole('link', { name: 'Backups' }).click();
  await expect(page.getByText('There is no backup yet.')).toBeVisible();
  await page.getByRole('button', { name: 'Back up now' }).click();
  await expect(page.getByText('The last backup was made and checked.')).toBeVisible();
  await expect(page.getByText('asked for')).toHaveCount(1);
  const { backups } = await house.get<Backups>('/api/backups');
  const arriving = page.waitForEvent('download');
  await page.getByRole('link', { name: /^Download the backup of/ }).click();
  expect((await arriving).suggestedFilename()).toContain(backups[0]!.id);
});

test('damaged data has a banner for its owner, which goes when the data is whole again', async ({ windows }) => {
  const page = await windows.open('/');
  const banner = page.getByRole('alert').filter({ hasText: 'data is damaged' });
  await expect(banner).toHaveCount(0);
  const enclosure = { ports: 'ok', files: 'ok', scopes: 'ok', calls: 'ok' };
  const checks = { store: 'the data is damaged (page 3)', disk: 'ok', tasks: 'ok', enclosure };
  await page.route('**/readyz', (route) => route.fulfill({ status: 503, json: { status: 'degraded', checks } }));
  await page.reload();
  await expect(banner).toContainText('restore a backup');
  await page.unroute('**/readyz');
  await page.reload();
  await expect(banner).toHaveCount(0);
});
