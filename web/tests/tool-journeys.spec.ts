/** Whole ways to more tools, from the wish or the sign-in to the tool in an agent's hands. */

import { answer, call, openSession, pending, send } from './session-actions';
import { expect, test as base } from './test-server';
import { OauthToolServer } from './oauth-tool-server';
import { expectAccessible, viewports } from './view-checks';
import { approved, toolServer } from './tool-server-steps';
import type { Locator, Page } from '@playwright/test';

const test = base.extend<{ guarded: OauthToolServer }>({
  guarded: async ({ server: _ }, use) => {
    const guarded = await OauthToolServer.open();
    await use(guarded);
    guarded.close();
  },
});

const unattended = { permissionMode: 'autopilot', acknowledgedAutonomy: true };
const use = (server: string, tool: string, args: unknown): string => call('call_mcp', { server, tool, arguments: args });
const row = (page: Page, name: string) => page.getByRole('listitem', { name, exact: true });

test('an agent asks for a tool server, a person approves its exact card, and the next turn uses it', async ({ server, windows }) => {
  const session = await openSession(server, 'project', unattended);
  const command = toolServer(server);
  const page = await windows.open(`/sessions/${session.id}`);
  const connection = { transport: 'stdio', command, args: ['--notes', 'a b'], env: { KEY: 'canary-5e' } };
  await send(server, session, use('guildhall', 'mcp_add_server', { name: 'notes', connection }));

  await page.getByRole('alert').filter({ hasText: 'wants to add the tool server notes' }).waitFor({ state: 'attached' });
  await page.goto(`${server.url}/asks`);
  const card = pending(page);
  await expect(card.getByRole('heading').first()).toContainText('wants to add the tool server notes');
  await expect(card.locator('ol > li')).toHaveText([command, '--notes', 'a b']);
  await expect(card.getByRole('listitem').filter({ hasText: 'KEY' })).toContainText('value not shown');
  await expect(card.getByRole('link', { name: 'its session' })).toHaveAttribute('href', `/sessions/${session.id}`);
  expect(await server.get(`/api/agents/${session.agentId}/mcp-servers`)).toEqual([]);
  await answer(card, /^Approve/);

  // It waits until the turn that asked is over.
  await send(server, session, use('notes', 'look', {}));
  await page.goto(`${server.url}/sessions/${session.id}`);
  await expect(await outcome(page, 'look')).toContainText('three notes lie there');
  await page.goto(`${server.url}/agents/${session.agentId}/mcp`);
  await expect(row(page, 'notes')).toContainText('ready');
  await expect(row(page, 'notes')).toContainText('2 tools');
});

test('a person signs in with a tool server, the next turn uses it, and signing out takes it back', async ({ server, windows, guarded }) => {
  const session = await openSession(server, 'project', unattended);
  const page = await windows.open(`/agents/${session.agentId}/mcp`, { clicked: guarded.origin });
  await page.getByRole('button', { name: 'Add the first one' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('notes');
  await dialog.getByLabel('Reached by').selectOption('http');
  await dialog.getByLabel('Address').fill(guarded.url);
  await dialog.getByRole('button', { name: 'Add tool server' }).click();
  await expect(dialog.locator('[data-ask]')).toContainText(guarded.url);
  expect(guarded.asked, 'nothing is reached before its card').toEqual([]);
  await dialog.getByRole('button', { name: /^Approve/ }).click();
  const notes = row(page, 'notes');
  await expect(notes).toContainText('needs a sign-in');
  await expect(notes).toContainText('not signed in');

  // Neither the link nor the page behind it sends anything.
  const before = guarded.asked.length;
  await notes.getByRole('button', { name: 'Sign in with notes' }).click();
  await expect(notes.getByRole('status')).toHaveText('Waits for you to open the link.');
  const start = await opened(page);
  await expect(start.getByRole('heading', { name: 'Sign in with a tool server' })).toBeVisible();
  await expect(start.getByRole('main')).toContainText(guarded.url);
  await expect(start.getByRole('main')).toContainText('So far nothing was sent.');
  expect(guarded.asked.slice(before)).toEqual([]);

  await start.getByRole('link', { name: 'Continue' }).click();
  await expect(start.getByRole('heading', { name: 'Signed in' })).toBeVisible();
  expect(new URL(start.url()).pathname).toBe('/api/oauth/callback');
  expect(guarded.asked).toContain('GET /authorize');
  await start.close();
  await expect(notes).toContainText('ready');
  await expect(notes.getByText('signed in', { exact: true })).toBeVisible();
  await expect(notes).toContainText('1 tool');
  const [token] = guarded.tokens;
  expect(token).toMatch(/^canary-/);
  expect(await page.content()).not.toContain(token);

  await send(server, session, use('notes', 'recall', { topic: 'the fern' }));
  await page.goto(`${server.url}/sessions/${session.id}`);
  await expect(await outcome(page, 'recall')).toContainText('The note about the fern says: water it on Mondays.');

  await page.goto(`${server.url}/agents/${session.agentId}/mcp`);
  await notes.getByRole('button', { name: 'Sign out of notes' }).click();
  await expect(notes).toContainText('not signed in');
  await expect(notes.getByRole('button', { name: 'Sign in with notes' })).toBeVisible();
  await expect.poll(() => guarded.tokens, 'the token is given back').toEqual([]);
  // It stands among what waits for a person.
  await page.goto(`${server.url}/asks`);
  await expect(page.getByRole('listitem', { name: 'notes of' }).getByRole('button', { name: 'Sign in with notes' })).toBeVisible();
  await send(server, session, use('notes', 'recall', { topic: 'the fern' }));
  await page.goto(`${server.url}/sessions/${session.id}`);
  await expect(page.locator('[data-message]')).toHaveCount(4);
  await expect(await outcome(page, 'recall')).toContainText('there is no tool server notes');
});

/** The last message of the agent, with what came of its one call open. */
async function outcome(page: Page, tool: string): Promise<Locator> {
  const last = page.locator('[data-message]').last();
  await last.getByText(`Call ${tool} of notes`).click();
  return last;
}

/** Follows the link of a sign-in that was started. */
async function opened(page: Page): Promise<Page> {
  const start = page.context().waitForEvent('page');
  await page.getByRole('link', { name: /^Open the sign-in/ }).click();
  return start;
}

for (const look of viewports) {
  test(`the ways to more tools are accessible: ${look.theme}, ${look.width} px`, async ({ server, windows, guarded }) => {
    const session = await openSession(server, 'project', unattended);
    await send(server, session, use('guildhall', 'mcp_add_server', { name: 'wished', connection: { transport: 'stdio', command: toolServer(server) } }));
    const path = `/api/agents/${session.agentId}/mcp-servers`;
    await approved(server, 'POST', path, { name: 'notes', connection: { transport: 'http', url: guarded.url } });
    const page = await windows.open('/asks', { ...look, clicked: guarded.origin });
    await expect(pending(page)).toBeVisible();
    await expect(page.getByRole('button', { name: 'Sign in with notes' })).toBeVisible();
    await expectAccessible(page, 'the wish');
    await page.goto(`${server.url}/agents/${session.agentId}/mcp`);
    await page.getByRole('button', { name: 'Sign in with notes' }).click();
    await expect(page.getByRole('link', { name: /^Open the sign-in/ })).toBeVisible();
    await expectAccessible(page, 'a sign-in that was started');
    const start = await opened(page);
    await expect(start.getByRole('link', { name: 'Continue' })).toBeVisible();
    await expectAccessible(start, 'the start page');
    await start.getByRole('link', { name: 'Continue' }).click();
    await expect(start.getByRole('heading', { name: 'Signed in' })).toBeVisible();
    await expectAccessible(start, 'the page of the end');
    await expect(row(page, 'notes')).toContainText('ready');
    await expectAccessible(page, 'signed in');
  });
}
