import type { Page } from '@playwright/test';
import type { Connection } from '../src/connectors/types';
import { connect, grantAll, notesDocument, oneMore, provider, putNotes, rehearsal, run } from './connector-steps';
import { expect, test } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const row = (page: Page, name: string) => page.getByRole('listitem', { name, exact: true });
const accounts = (page: Page) => page.getByRole('region', { name: 'Connected accounts' });
const signIns = (page: Page) => page.getByRole('region', { name: 'Sign-ins' });

test('the whole way with the scripted service: connect it, say what an agent may do, and see what it ran', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const page = await windows.open('/');
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Connections' }).click();
  await expect(page.getByText('sealed on this computer')).toBeVisible();
  await page.getByRole('button', { name: 'Choose a service' }).click();
  await expect(page.getByText('scripted', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: /^Connect Rehearsal/ }).click();
  await page.getByRole('textbox', { name: 'Name of this connection' }).fill('Try it');
  await page.getByRole('dialog').getByRole('button', { name: 'Connect', exact: true }).click();

  await expect(accounts(page).getByRole('listitem', { name: 'Try it' })).toContainText('no agent may use it');
  await signIns(page).getByRole('link', { name: 'What agents may do' }).click();
  await expect(page.getByRole('heading', { name: 'What agents may do with Try it' })).toBeVisible();
  await expect(page.getByRole('timer')).toHaveText(/^(10:00|9:\d\d) left$/);
  await page.getByRole('checkbox', { name: 'Scribe may run List the notes' }).check();
  // What every agent may do is ticked for each, and is no grant of its own.
  await page.getByRole('checkbox', { name: 'Every agent may run Add a note' }).check();
  await expect(page.getByRole('checkbox', { name: 'Scribe may run Add a note' })).toBeChecked();
  await expect(page.getByRole('checkbox', { name: 'Scribe may run Add a note' })).toBeDisabled();
  await expect(page.getByText('2 changes')).toBeVisible();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(accounts(page).getByRole('listitem', { name: 'Try it' })).toContainText('2 grants');
  await expect(signIns(page)).toHaveCount(0);

  const { connections } = await server.get<{ connections: Connection[] }>('/api/connectors/connections');
  const granted = await server.get<{ operations: { id: string; title: string }[] }>(
    `/api/connectors/accessible/${connections[0]!.id}/operations?agentId=${scribe.agent.id}`,
  );
  expect(granted.operations.map(({ title }) => title).sort()).toEqual(['Add a note', 'List the notes']);
  await page.getByRole('link', { name: 'Executions' }).click();
  await expect(page.getByText('Nothing was run yet')).toBeVisible();
  await run(server, connections[0]!, scribe, granted.operations.find(({ title }) => title === 'List the notes')!.id);
  await page.reload();
  const ran = page.getByRole('row', { name: /List the notes/ });
  await expect(ran).toContainText('success');
  await expect(ran).toContainText('Scribe');
  await expect(ran).toContainText('Try it');
  // One that runs while somebody looks comes by itself.
  await run(server, connections[0]!, scribe, granted.operations.find(({ title }) => title === 'Add a note')!.id, { text: 'x' });
  await expect(page.getByRole('row', { name: /Add a note/ })).toContainText('success');
});

test('a service that takes a key asks for it, survives a reload, and never shows it', async ({ server, windows }) => {
  const { id } = await provider(server, 'Office');
  await putNotes(server, id);
  const page = await windows.open('/connections?show=services');
  await page.getByRole('button', { name: 'Connect Notes' }).click();
  await expect(page.getByRole('dialog')).toContainText('You are asked for its key next.');
  await page.getByRole('dialog').getByRole('button', { name: 'Connect', exact: true }).click();
  await expect(signIns(page)).toContainText('waits for you');
  await expect(page.getByRole('timer')).toHaveText(/^(15:00|14:\d\d) left$/);
  await page.reload();
  const field = page.getByLabel('Key for Notes');
  await expect(field).toHaveAttribute('type', 'password');
  await field.fill('canary-key-4e');
  await page.getByRole('button', { name: 'Connect with this key' }).click();
  await expect(accounts(page).getByRole('listitem', { name: 'Notes' })).toContainText('ready');
  await expect(signIns(page)).toContainText('connected');
  expect(await page.content()).not.toContain('canary-key-4e');
});

test('a sign-in can be cancelled, begun again and taken off the page', async ({ server, windows }) => {
  const { id } = await provider(server, 'Office');
  await putNotes(server, id);
  const page = await windows.open('/connections?show=services');
  await page.getByRole('button', { name: 'Connect Notes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Connect', exact: true }).click();
  await page.goto(`${server.url}/`);
  // It waits for a person, so it stands at home.
  await page.getByRole('link', { name: /needs you.*sign-in of a connection/s }).click();
  await signIns(page).getByRole('button', { name: /^Cancel/ }).click();
  await expect(signIns(page)).toContainText('failed');
  await signIns(page).getByRole('button', { name: /^Start again/ }).click();
  await expect(signIns(page).getByRole('listitem')).toHaveCount(1);
  await expect(signIns(page)).toContainText('waits for you');
  await signIns(page).getByRole('button', { name: /^Cancel/ }).click();
  await signIns(page).getByRole('button', { name: /^Dismiss/ }).click();
  await expect(signIns(page)).toHaveCount(0);
  await page.reload();
  await expect(page.getByText('Nothing is connected yet')).toBeVisible();
  await expect(signIns(page)).toHaveCount(0);
});

test('a connection is renamed, held, switched off, disconnected and removed; one fix is offered', async ({ server, windows }) => {
  await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
  const page = await windows.open('/connections');
  const more = async (name: string, item: string) => {
    await page.getByRole('button', { name: `More for ${name}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await more('Mine', 'Rename');
  await page.getByRole('textbox', { name: 'Name' }).fill('Ours');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(row(page, 'Ours')).toContainText('ready');
  await more('Ours', 'Pause');
  await expect(row(page, 'Ours')).toContainText('It is paused.');
  await row(page, 'Ours').getByRole('button', { name: 'Resume Ours' }).click();
  await expect(row(page, 'Ours')).toContainText('ready');
  await more('Ours', 'Switch off');
  await row(page, 'Ours').getByRole('button', { name: 'Switch on Ours' }).click();
  await expect(row(page, 'Ours')).toContainText('ready');
  await more('Ours', 'Disconnect');
  await expect(page.getByRole('dialog')).toContainText('erased from this computer');
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect', exact: true }).click();
  await expect(row(page, 'Ours')).toContainText('disconnected');
  await row(page, 'Ours').getByRole('button', { name: 'Remove Ours' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(page.getByText('Nothing is connected yet')).toBeVisible();
});

test('a list that changed under the reader is shown anew, and nothing was granted', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const { id } = await provider(server, 'Office');
  await putNotes(server, id);
  const connection = await connect(server, id, 'notes', 'Notes of us', 'k');
  const page = await windows.open(`/connections?review=${connection.id}`);
  await page.getByRole('checkbox', { name: 'Scribe may run List the notes' }).check();
  await putNotes(server, id, notesDocument(oneMore));
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('The service changed its operations meanwhile.')).toContainText('Your ticks are kept.');
  expect(await server.get(`/api/connectors/connections/${connection.id}/grants`)).toEqual({ grants: [], everyAgent: [] });
  await page.getByRole('checkbox', { name: 'Scribe may run List the tags' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(row(page, 'Notes of us')).toContainText('2 grants');
  const { grants } = await server.get<{ grants: { agentId: string; operationRevisionIds: string[] }[] }>(`/api/connectors/connections/${connection.id}/grants`);
  expect(grants.map(({ agentId, operationRevisionIds }) => [agentId, operationRevisionIds.length])).toEqual([[scribe.agent.id, 2]]);
});

test('a provider and its service are made, replaced and deleted on the page', async ({ windows }) => {
  const page = await windows.open('/connections?show=providers');
  const office = page.getByRole('region', { name: 'Office' });
  const scripted = page.getByRole('region', { name: /^Rehearsal/ });
  await expect(scripted).toContainText('There is nothing to change.');
  await expect(scripted.getByRole('button')).toHaveCount(0);

  await page.getByRole('button', { name: 'Add provider' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Office');
  await page.getByRole('dialog').getByRole('button', { name: 'Add provider' }).click();
  await office.getByRole('button', { name: 'Add service to Office' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Notes!');
  await expect(page.getByRole('textbox', { name: 'Short name' })).toHaveValue('notes');
  await page.getByRole('textbox', { name: 'The document' }).fill('openapi: 3.1.0');
  await page.getByRole('button', { name: 'Add service', exact: true }).click();
  await expect(page.getByText('This is not an OpenAPI document in JSON.')).toBeVisible();
  await page.getByRole('textbox', { name: 'The document' }).fill('{"openapi":"2.0"}');
  await page.getByRole('button', { name: 'Add service', exact: true }).click();
  await expect(page.getByRole('list', { name: 'Problems' }).getByRole('listitem').first()).toBeVisible();
  await page.getByRole('textbox', { name: 'The document' }).fill(JSON.stringify(notesDocument()));
  await page.getByLabel('How one signs in').selectOption('api-key');
  await page.getByRole('button', { name: 'Add service', exact: true }).click();
  await expect(row(page, 'Notes!')).toContainText('2 operations');
  await expect(row(page, 'Notes!')).toContainText('key in header Authorization');

  await page.getByRole('button', { name: 'Replace Notes!' }).click();
  await page.getByRole('textbox', { name: 'The document' }).fill(JSON.stringify(notesDocument(oneMore)));
  await page.getByRole('button', { name: 'Replace', exact: true }).click();
  await expect(row(page, 'Notes!')).toContainText('3 operations');

  await page.getByRole('button', { name: 'Rename Office' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Bureau');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Delete Notes!' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(page.getByRole('region', { name: 'Bureau' })).toContainText('It has no service yet.');
  await page.getByRole('button', { name: 'Delete Bureau' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(page.getByRole('region', { name: 'Bureau' })).toHaveCount(0);
});

for (const look of viewports) {
  test(`connections are accessible: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const scribe = await server.agent('Scribe');
    const { id } = await provider(server, 'Office');
    await putNotes(server, id);
    const page = await windows.open('/connections', look);
    await expect(page.getByText('Nothing is connected yet')).toBeVisible();
    await expectAccessible(page, 'no connection');
    const notes = await connect(server, id, 'notes', 'Notes of us', 'k');
    const mine = await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
    await server.post(`/api/connectors/connections/${notes.id}/pause`, {});
    const { operations } = await grantAll(server, mine, scribe);
    for (const { id: revision, classification } of operations) if (classification !== 'destructive') await run(server, mine, scribe, revision, classification === 'write' ? { text: 'x' } : {});
    await server.post('/api/connectors/connections', { providerInstanceId: id, toolkit: 'notes', idempotencyKey: 'a look' });
    await expect(page.getByLabel('Key for Notes')).toBeVisible();
    await expect(row(page, 'Notes of us')).toContainText('It is paused.');
    await expectAccessible(page, 'accounts');
    await page.goto(`${server.url}/connections?show=services`);
    await page.getByRole('button', { name: 'Connect Notes' }).click();
    await expectAccessible(page, 'connect');
    await page.goto(`${server.url}/connections?show=providers`);
    await expect(row(page, 'Notes')).toBeVisible();
    await expectAccessible(page, 'providers');
    await page.getByRole('button', { name: 'Replace Notes' }).click();
    await page.getByRole('dialog').getByText('More', { exact: true }).click();
    await expectAccessible(page, 'replace a service');
    await page.goto(`${server.url}/connections?show=executions`);
    await expect(page.getByRole('row', { name: /List the notes/ })).toBeVisible();
    await expectAccessible(page, 'executions');
    await page.goto(`${server.url}/connections?review=${mine.id}`);
    await expect(page.getByRole('checkbox', { name: 'Scribe may run List the notes' })).toBeChecked();
    await expectAccessible(page, 'review');
    const below = await page.evaluate(() => document.documentElement.scrollHeight - document.documentElement.clientHeight);
    expect(below, 'only the view itself scrolls').toBeLessThanOrEqual(0);
  });
}
