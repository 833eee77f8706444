import { expect, say, test, texts } from './test-server';

test('a named agent answers, and the ledger says why', async ({ server, windows }) => {
  const team = await server.team();
  await server.agent('Scribe', 'engaged');
  const page = await windows.open(`/rooms/${team.id}`);
  await say(page, '@scribe please\n#say The west wall stands.');
  await expect.poll(() => texts(page)).toContain('The west wall stands.');
  await page.getByRole('button', { name: 'Turns of agents' }).click();
  const ledger = page.getByRole('complementary', { name: 'Turns of agents' });
  await expect(ledger.getByRole('listitem').first()).toContainText('answered');
  await expect(ledger).toContainText(/Turns this hour: 1 of/);
  await ledger.getByRole('link', { name: 'Its session' }).click();
  await expect(page).toHaveURL(/\/sessions\/.+/);
});

test('a turn that a limit refused says so with its count, and a person may run it', async ({ server, windows }) => {
  const room = await server.post<{ id: string }>('/api/rooms', { kind: 'channel', title: 'Quarry' });
  const scribe = await server.agent('Scribe', 'engaged');
  await server.post(`/api/rooms/${room.id}/members`, { authorId: scribe.agent.authorId });
  await server.patch(`/api/rooms/${room.id}`, { turnLimitsEnabled: true, maxAgentDepth: 0 });
  const page = await windows.open(`/rooms/${room.id}`);
  await say(page, '@scribe\n#say I may after all.');
  await page.getByRole('button', { name: 'Turns of agents' }).click();
  const ledger = page.getByRole('complementary', { name: 'Turns of agents' });
  await expect(ledger.getByRole('listitem').first()).toContainText(/refused.*depth \d+ of 0, set for this room/s);
  await ledger.getByRole('button', { name: 'Run anyway' }).click();
  await expect.poll(() => texts(page)).toContain('I may after all.');
});

test('an agent at work is shown with its session, and all can be stopped', async ({ server, windows }) => {
  const team = await server.team();
  await server.agent('Scribe', 'engaged');
  const page = await windows.open(`/rooms/${team.id}`);
  await say(page, '@scribe\n#hang');
  const line = page.getByRole('list', { name: 'Agents at work here' });
  await expect(line).toContainText('Scribe');
  await expect(line.getByRole('link', { name: 'Look into its session' })).toBeVisible();
  await page.getByRole('button', { name: 'Turns of agents' }).click();
  await page.getByRole('button', { name: /^Stop all/ }).click();
  await expect(line).toHaveCount(0);
  await expect(page.getByRole('complementary', { name: 'Turns of agents' }).getByRole('listitem').first()).toContainText('stopped');
});
