/** What agents are kept from. Which mechanisms a computer has differs: `/readyz` says it. */

import type { Locator, Page } from '@playwright/test';
import type { Agent, EnclosureChecks } from '../src/api/types';
import { expect, test, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const NAMES: [keyof EnclosureChecks, string][] = [
  ['ports', 'The server’s ports'],
  ['files', 'The server’s files'],
  ['scopes', 'Other processes'],
  ['calls', 'Ways around that'],
];

const mechanisms = (page: Page): Locator => page.getByRole('list', { name: 'What agents are kept from' }).getByRole('listitem');
const sections = (page: Page): Locator => page.getByRole('navigation', { name: 'Sections of the settings' });

async function checksOf(server: TestServer): Promise<EnclosureChecks> {
  const answer = await fetch(`${server.url}/readyz`, { headers: server.headers });
  return ((await answer.json()) as { checks: { enclosure: EnclosureChecks } }).checks.enclosure;
}

async function expectTold(page: Page, checks: EnclosureChecks): Promise<void> {
  await expect(mechanisms(page)).toHaveCount(NAMES.length);
  for (const [index, [id, name]] of NAMES.entries()) {
    await expect(mechanisms(page).nth(index)).toContainText(`${name} ${checks[id] === 'ok' ? 'yes' : 'no'}`);
    if (checks[id] !== 'ok') await expect(mechanisms(page).nth(index)).toContainText(checks[id]);
  }
  const lacks = NAMES.some(([id]) => checks[id] !== 'ok');
  await expect(page.getByText('Agents are not completely enclosed.')).toHaveCount(lacks ? 1 : 0);
  await expect(sections(page).getByText('partial')).toHaveCount(lacks ? 1 : 0);
}

for (const look of viewports) {
  test(`the settings say of each mechanism whether it is there, ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const page = await windows.open('/settings', look);
    await sections(page).getByRole('link', { name: 'Enclosure' }).click();
    await expect(page).toHaveURL(`${server.url}/settings/enclosure`);
    await expectTold(page, await checksOf(server));
    await expect(page.locator('[data-setting="agents.enclosure"]')).toContainText('as far as this computer can');
    await expectAccessible(page, 'enclosure');

    // Ports that are not reserved are never closed to agents, on any computer.
    await server.patch('/api/settings', { 'workbench.previewPorts': '30000-30010' });
    const checks = await checksOf(server);
    expect(checks.ports).not.toBe('ok');
    await expectTold(page, checks);
    await expectAccessible(page, 'enclosure with a gap');
  });

  test(`an agent’s enclosure is switched off with a confirmation, and on again, ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const { agent } = await server.agent('Scribe');
    const enclosed = async () => (await server.get<Agent>(`/api/agents/${agent.id}`)).enclosed;
    const page = await windows.open(`/agents/${agent.id}`, look);
    await page.getByRole('button', { name: 'Switch off the enclosure' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Switch off the enclosure of Scribe?' });
    await expect(dialog).toContainText('Scribe’s programs can then reach this server as you do, and read and change its files, from its next start on.');
    await expectAccessible(page, 'confirmation');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect(dialog).toHaveCount(0);
    expect(await enclosed()).toBe(true);

    await page.getByRole('button', { name: 'Switch off the enclosure' }).click();
    await dialog.getByRole('button', { name: 'Switch off' }).click();
    await expect(dialog).toHaveCount(0);
    const on = page.getByRole('button', { name: 'Switch on the enclosure' });
    await expect(on).toBeFocused();
    expect(await enclosed()).toBe(false);
    await expectAccessible(page, 'agent that is not enclosed');

    const other = await windows.open('/agents', look);
    const row = other.getByRole('main').getByRole('link', { name: /Scribe/ });
    await expect(row).toContainText('not enclosed');
    await expectAccessible(other, 'agents');
    await other.goto(`${server.url}/settings/enclosure`);
    await expect(other.getByText('Not enclosed: Scribe.')).toBeVisible();

    await on.press('Enter');
    await expect(page.getByRole('button', { name: 'Switch off the enclosure' })).toBeFocused();
    expect(await enclosed()).toBe(true);
    await expect(other.getByText('Not enclosed: Scribe.')).toHaveCount(0);
  });
}

test('switched off for all agents it says so once, without a warning', async ({ server, windows }) => {
  const { agent } = await server.agent('Scribe');
  const page = await windows.open('/settings/enclosure');
  await expect(mechanisms(page)).toHaveCount(NAMES.length);
  await server.patch('/api/settings', { 'agents.enclosure': 'off' });
  await expect(page.getByText('Agents are not enclosed: the setting agents.enclosure is off.')).toBeVisible();
  for (const [index, [, name]] of NAMES.entries()) await expect(mechanisms(page).nth(index)).toContainText(`${name} off`);
  await expect(sections(page).getByText('partial')).toHaveCount(0);
  await page.goto(`${server.url}/agents/${agent.id}`);
  await expect(page.getByRole('link', { name: 'no, agents.enclosure is off' })).toHaveAttribute('href', '/settings/enclosure');
});

test('what cannot be read is said, and read again when asked', async ({ server, windows }) => {
  const page = await windows.open('/settings/appearance');
  await page.route('**/readyz', (route) => route.abort());
  await page.goto(`${server.url}/settings/enclosure`);
  await expect(page.getByRole('main').getByRole('alert')).toContainText('Try again');
  await page.unroute('**/readyz');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(mechanisms(page)).toHaveCount(NAMES.length);
});

test('a server that is not ready says the same', async ({ server, windows }) => {
  const checks = { ports: 'ok', files: 'No files.', scopes: 'ok', calls: 'ok' };
  const page = await windows.open('/settings/appearance');
  await page.route('**/readyz', (route) => route.fulfill({ status: 503, json: { status: 'not_ready', checks: { store: 'ok', disk: 'full', tasks: 'ok', enclosure: checks } } }));
  await page.goto(`${server.url}/settings/enclosure`);
  await expect(mechanisms(page).nth(1)).toContainText('The server’s files no No files.');
});
