/** The data on disk: its backups, and the banner while it is damaged. */

import type { Backup, Backups } from '../src/api/types';
import { expect, test } from './test-server';

test('a backup is made, shown with its size and downloaded', async ({ server, windows }) => {
  const page = await windows.open('/settings');
  await page.getByRole('main').getByRole('link', { name: 'Backups' }).click();
  await expect(page.getByText('There is no backup yet.')).toBeVisible();
  await page.getByRole('button', { name: 'Back up now' }).click();
  await expect(page.getByText('The last backup was made and checked.')).toBeVisible();
  await expect(page.getByText('asked for')).toHaveCount(1);
  const { backups } = await server.get<Backups>('/api/backups');
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

test('a backup is restored in two steps, the page comes back by itself, and what counts again is decided', async ({ server, windows }) => {
  const ada = await server.agent('ada');
  const backup = await server.post<Backup>('/api/backups', {});
  const tokens = `/api/agents/${ada.agent.id}/tokens`;
  const [token] = (await server.get<{ tokens: { id: string }[] }>(tokens)).tokens;
  await server.remove(`${tokens}/${token!.id}`);
  const before = await server.get<{ startedAt: string }>('/api/health');

  const page = await windows.open('/settings/backups');
  await page.getByRole('button', { name: `Restore the backup of ${backup.createdAt}` }).click();
  await expect(page.getByRole('dialog')).toContainText('The data of now is set aside');
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('dialog')).toContainText('is not there any more after this');
  await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Last restore' })).toBeVisible({ timeout: 60_000 });
  expect((await server.get<{ startedAt: string }>('/api/health')).startedAt).not.toBe(before.startedAt);

  const left = page.getByRole('list', { name: 'To decide' });
  await expect(left).toContainText('Token “test” of ada');
  await left.getByRole('button', { name: /^Revoke Token/ }).click();
  await expect(left).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Last restore' })).toBeVisible();
  await expect(left).toHaveCount(0);
});

test('the settings say what takes the disk and what bounds it', async ({ windows }) => {
  const page = await windows.open('/settings/storage');
  await expect(page.getByRole('status').filter({ hasText: 'are free' })).toBeVisible();
  await expect(page.getByRole('row', { name: /^Attachments .*until their entry or room is removed/ })).toBeVisible();
  await expect(page.getByText('The first check is still to come')).toBeVisible();
});
