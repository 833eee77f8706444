/** What happens to connections over time, and the ways between agents, services and the owner. */

import type { Page } from '@playwright/test';
import type { Agent, Session } from '../src/api/types';
import type { Connection } from '../src/connectors/types';
import { answer, call, cards, openSession, pending, send } from './session-actions';
import { connect, grant, provider, putNotes, rehearsal } from './connector-steps';
import { ReferenceMcpServer } from './reference-server';
import { expect, live, test, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const row = (page: Page, name: string) => page.getByRole('listitem', { name, exact: true });
const accounts = (page: Page) => page.getByRole('region', { name: 'Connected accounts' });
const signIns = (page: Page) => page.getByRole('region', { name: 'Sign-ins' });
const unattended = { permissionMode: 'autopilot', acknowledgedAutonomy: true };
const use = (tool: string, args: unknown): string => call('call_mcp', { server: 'guildhall', tool, arguments: args });
const agentOf = (server: TestServer, { agentId }: Session) => server.get<Agent>(`/api/agents/${agentId}`);

async function beginNotes(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Connect Notes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Connect', exact: true }).click();
  await expect(page.getByLabel('Key for Notes')).toBeVisible();
}

test('a connection is signed in anew with another key, and stays the same connection', async ({ server, windows }) => {
  const { id } = await provider(server, 'Office');
  await putNotes(server, id);
  const before = await connect(server, id, 'notes', 'Notes of us', 'first');
  const page = await windows.open('/connections');
  await page.getByRole('button', { name: 'More for Notes of us' }).click();
  await page.getByRole('menuitem', { name: 'Reconnect' }).click();
  await expect(row(page, 'Notes of us')).toContainText('It is paused.');
  const again = signIns(page).getByRole('listitem', { name: 'Notes of us, again' });
  await again.getByLabel('Key for Notes').fill('second');
  await again.getByRole('button', { name: 'Connect with this key' }).click();
  await expect(row(page, 'Notes of us')).toContainText('ready');
  await expect(again).toContainText('connected');
  const { connections } = await server.get<{ connections: Connection[] }>('/api/connectors/connections');
  expect(connections.map(({ id: one, lifecycle }) => [one, lifecycle])).toEqual([[before.id, 'connected']]);
});

test('a sign-in that runs is seen in another browser, and stays away where it was dismissed', async ({ server, windows }) => {
  const { id } = await provider(server, 'Office');
  await putNotes(server, id);
  const one = await windows.open('/connections?show=services');
  await beginNotes(one);
  const other = await windows.open('/connections');
  await other.getByLabel('Key for Notes').fill('the key');
  await other.getByRole('button', { name: 'Connect with this key' }).click();
  await expect(signIns(one)).toContainText('connected');
  await signIns(one).getByRole('button', { name: /^Dismiss/ }).click();
  await one.reload();
  await expect(accounts(one).getByRole('listitem', { name: 'Notes' })).toContainText('ready');
  await expect(signIns(one)).toHaveCount(0);
  await other.reload();
  await expect(signIns(other)).toContainText('connected');
});

test('the client secret of a service is kept, never shown, and forgotten', async ({ server, windows }) => {
  const { id } = await provider(server, 'Office');
  const at = 'http://127.0.0.1:9';
  await putNotes(server, id, undefined, { kind: 'oauth2', flow: 'authorization_code', clientId: 'us', authorizationUrl: `${at}/authorize`, tokenUrl: `${at}/token` });
  const page = await windows.open('/connections?show=providers');
  const notes = row(page, 'Notes');
  await expect(notes).toContainText('no client secret');
  await notes.getByRole('button', { name: 'Client secret of Notes' }).click();
  await page.getByLabel('Client secret', { exact: true }).fill('canary-secret-7c');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(notes).toContainText('client secret kept');
  await notes.getByRole('button', { name: 'Client secret of Notes' }).click();
  await expect(page.getByLabel('Client secret', { exact: true })).toHaveValue('');
  expect(await page.content()).not.toContain('canary-secret-7c');
  await page.getByRole('button', { name: 'Forget the kept one' }).click();
  await expect(notes).toContainText('no client secret');
});

test('a sign-in says that its time is over, and the server decides whether it is', async ({ server, windows }) => {
  const { id } = await provider(server, 'Office');
  await putNotes(server, id);
  const page = await windows.open('/connections?show=services');
  await beginNotes(page);
  await page.clock.install();
  await page.reload();
  const waits = signIns(page).getByRole('listitem', { name: 'Notes', exact: true });
  await expect(waits.getByRole('timer')).toHaveText(/^1\d:\d\d left$/);
  const asked = page.waitForResponse(/\/authentication-flows\/[^/]+$/);
  await page.clock.fastForward('15:00');
  await expect(waits.getByRole('timer')).toHaveText('Time is over');
  expect(await (await asked).json()).toMatchObject({ state: 'pending' });
  await waits.getByRole('button', { name: /^Cancel/ }).click();
  await expect(waits.getByRole('button', { name: /^Start again/ })).toBeVisible();
});

test('a review whose time is over is opened anew with the ticks it had, and nothing was granted meanwhile', async ({ server, windows }) => {
  const scribe = await server.agent('Scribe');
  const mine = await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
  const page = await windows.open('/connections');
  await page.clock.install();
  await page.goto(`${server.url}/connections?review=${mine.id}`);
  await page.getByRole('checkbox', { name: 'Scribe may run List the notes' }).check();
  const anew = page.getByRole('button', { name: 'List the operations anew' });
  await expect(anew).toHaveCount(0);
  await page.clock.fastForward('10:00');
  await expect(page.getByRole('timer')).toHaveText('Time is over');
  await expect(page.getByRole('button', { name: 'Save' })).toHaveCount(0);
  await anew.click();
  await expect(page.getByText('The ten minutes were over.')).toContainText('Your ticks are kept.');
  expect(await server.get(`/api/connectors/connections/${mine.id}/grants`)).toEqual({ grants: [], everyAgent: [] });
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(row(page, 'Mine')).toContainText('1 grant');
  const { grants } = await server.get<{ grants: { agentId: string }[] }>(`/api/connectors/connections/${mine.id}/grants`);
  expect(grants.map(({ agentId }) => agentId)).toEqual([scribe.agent.id]);
});

test('an MCP server becomes a service: it is added, connected, granted and run', async ({ server, windows }) => {
  const everything = await ReferenceMcpServer.start();
  try {
    await server.agent('Scribe');
    const page = await windows.open('/connections?show=providers');
    await page.getByRole('button', { name: 'Add provider' }).click();
    await page.getByLabel('Kind').selectOption('mcp');
    await page.getByRole('textbox', { name: 'Name' }).fill('Tools');
    await page.getByRole('dialog').getByRole('button', { name: 'Add provider' }).click();
    await page.getByRole('button', { name: 'Add service to Tools' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Everything');
    await page.getByRole('textbox', { name: 'Address of the MCP server' }).fill(everything.url);
    await page.getByRole('button', { name: 'Add service', exact: true }).click();
    await expect(row(page, 'Everything')).toContainText(/\d+ operations/);

    await page.getByRole('link', { name: 'Services', exact: true }).click();
    await page.getByRole('button', { name: 'Connect Everything' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Connect', exact: true }).click();
    await signIns(page).getByRole('link', { name: 'What agents may do' }).click();
    await page.getByRole('checkbox', { name: /^Scribe may run Echo/ }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(row(page, 'Everything')).toContainText('1 grant');

    const { connections } = await server.get<{ connections: Connection[] }>('/api/connectors/connections');
    const { agents } = await server.get<{ agents: Agent[] }>('/api/agents');
    const at = `/api/connectors/accessible/${connections[0]!.id}/operations?agentId=${agents[0]!.id}`;
    const { operations } = await server.get<{ operations: { id: string; operationSlug: string; title: string }[] }>(at);
    expect(operations.map(({ operationSlug }) => operationSlug)).toEqual(['echo']);
    const body = { agentId: agents[0]!.id, connectionId: connections[0]!.id, operationRevisionId: operations[0]!.id, arguments: { message: 'hello' } };
    expect(await server.post('/api/connectors/executions', body)).toMatchObject({ result: { status: 'success' } });
    await page.getByRole('link', { name: 'Executions' }).click();
    await expect(page.getByRole('row', { name: new RegExp(operations[0]!.title) })).toContainText('success');
  } finally {
    everything.stop();
  }
});

test('an agent asks for a service, the owner grants it in a review, and that settles the card', async ({ server, windows }) => {
  const session = await openSession(server, 'project', unattended);
  const { name } = await agentOf(server, session);
  const mine = await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
  await send(server, session, use('connector_request_access', { toolkit: 'rehearsal', access: 'read', purpose: 'to see the notes' }));
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card.getByRole('heading').first()).toContainText('wants to use the service');
  await expect(card).toContainText('to see the notes');
  await expect(card.getByRole('button', { name: /^Approve/ })).toBeDisabled();
  await card.getByRole('link', { name: 'choose a connection of this service' }).click();
  await row(page, 'Mine').getByRole('button', { name: 'What agents may do with Mine' }).click();
  await page.getByRole('checkbox', { name: `${name} may run List the notes` }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(row(page, 'Mine')).toContainText('1 grant');
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: /^Approvals/ }).click();
  await expect(page.getByText('Nothing waits for you')).toBeVisible();
  await expect(cards(page).filter({ hasText: 'wants to use the service' })).toContainText('It may run what was granted.');
  const { grants } = await server.get<{ grants: { agentId: string }[] }>(`/api/connectors/connections/${mine.id}/grants`);
  expect(grants.map(({ agentId }) => agentId)).toEqual([session.agentId]);
});

test('what destroys waits for a person who sees exactly what is asked, and runs once', async ({ server, windows }) => {
  const session = await openSession(server, 'project', unattended);
  const mine = await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
  const [clear] = await grant(server, mine, session.agentId, ['clear_notes']);
  const asked = { connectionId: mine.id, operationRevisionId: clear, arguments: { play: 'success' } };
  await send(server, session, use('connector_execute_destructive', asked));
  const page = await windows.open('/asks');
  const card = pending(page);
  await expect(card.getByRole('heading').first()).toContainText('wants to run the operation');
  await expect(card).toContainText('Remove all notes');
  await expect(card.getByRole('definition').filter({ hasText: 'Mine' })).toContainText(mine.id);
  await expect(card.getByRole('region', { name: 'Arguments' })).toHaveText(/^\{\s*"play": "success"\s*\}$/);
  expect(await server.get('/api/connectors/usage')).toMatchObject({ attempts: [] });
  await answer(card, /^Approve/);
  await expect(cards(page).filter({ hasText: 'wants to run the operation' })).toContainText('It was done, once.');
  await page.goto(`${server.url}/connections?show=executions`);
  const ran = page.getByRole('row', { name: /Remove all notes/ });
  await expect(ran).toContainText('success');
  await expect(ran).toHaveCount(1);
});

test('a session turns a connection off for itself alone, and on again', async ({ server, windows }) => {
  const session = await openSession(server, 'project', unattended);
  const page = await windows.open(`/sessions/${session.id}`);
  const part = page.getByRole('region', { name: 'Connections' });
  await expect(part).toContainText('The agent may run nothing at a service yet.');
  // What is granted meanwhile comes by itself.
  const mine = await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
  const [read] = await grant(server, mine, session.agentId, ['list_notes']);
  const box = part.getByRole('checkbox', { name: 'Mine' });
  await expect(box).toBeChecked();
  await box.uncheck();
  const said = async () => (await server.get<{ connections: { on: boolean | null }[] }>(`/api/sessions/${session.id}/connections`)).connections.map(({ on }) => on);
  await expect.poll(said).toEqual([false]);
  const run = use('connector_execute_read', { connectionId: mine.id, operationRevisionId: read, arguments: {} });
  const attempts = async () => (await server.get<{ attempts: unknown[] }>('/api/connectors/usage')).attempts.length;
  await send(server, session, run, '#say refused');
  await expect(page.getByText('refused', { exact: true })).toBeVisible();
  expect(await attempts()).toBe(0);
  await page.reload();
  await live(page);
  await expect(box).not.toBeChecked();
  await box.check();
  await expect.poll(said).toEqual([null]);
  await send(server, session, run);
  await expect.poll(attempts).toBe(1);
});

for (const look of viewports) {
  test(`stories of connections are accessible: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const session = await openSession(server, 'project', unattended);
    const mine = await connect(server, (await rehearsal(server)).id, 'rehearsal', 'Mine');
    await send(server, session, use('connector_request_access', { toolkit: 'rehearsal', access: 'read-write', purpose: 'to see the notes' }));
    const page = await windows.open('/asks', look);
    await expect(pending(page)).toBeVisible();
    await expectAccessible(page, 'a wish for a service');
    const [clear] = await grant(server, mine, session.agentId, ['clear_notes']);
    await send(server, session, use('connector_execute_destructive', { connectionId: mine.id, operationRevisionId: clear, arguments: {} }));
    await expect(pending(page)).toContainText('wants to run the operation');
    await expectAccessible(page, 'an execution that destroys');
    await page.goto(`${server.url}/sessions/${session.id}`);
    // Beside the session where there is room, over it where there is not.
    if (look.width < 720) await page.getByRole('button', { name: 'Plan and changes' }).click();
    await expect(page.getByRole('checkbox', { name: 'Mine' })).toBeVisible();
    await expectAccessible(page, 'the connections of a session');
  });
}

