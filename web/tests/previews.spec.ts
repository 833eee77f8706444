import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { filesPath } from '../src/files/paths';
import { expect, test, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const panel = (page: Page) => page.getByRole('complementary', { name: 'Preview' });
const inside = (page: Page) => panel(page).frameLocator('iframe');

function site(server: TestServer): string {
  const folder = server.folder('site');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><html lang="en"><title>site</title><main aria-label="Arch"><h1>The arch</h1></main><script type="module" src="app.mjs"></script>');
  writeFileSync(join(folder, 'app.mjs'), "document.body.append(self.origin + ' ran');");
  writeFileSync(join(folder, 'other.html'), '<!doctype html><title>other</title><h1>Other page</h1>');
  return folder;
}

/** A dev server whose page asks for a program and for its cookie of storage. */
async function devServer(port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    const isProgram = request.url === '/app.js';
    response.setHeader('content-type', isProgram ? 'text/javascript' : 'text/html');
    response.end(
      isProgram
        ? "localStorage.setItem('n', String(Number(localStorage.getItem('n') ?? 0) + 1)); document.body.append('ran ' + localStorage.getItem('n') + ' at ' + location.pathname);"
        : '<!doctype html><title>dev</title><body><script src="/app.js"></script>',
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test('a folder is shown as a page with its address outside the frame, reloaded, and as wide as a phone', async ({ server, windows }) => {
  const folder = site(server);
  const page = await windows.open(filesPath(folder, '', 'list'));
  await panel(page).getByRole('button', { name: /its index\.html/ }).click();
  await expect(page).toHaveURL(server.url + filesPath(folder, '', 'folder'));
  await expect(inside(page).getByText('null ran')).toBeVisible();
  await expect(panel(page).getByText(`${server.url}/api/workbench/serve/…/`)).toBeVisible();
  const frame = panel(page).locator('iframe');
  expect(await frame.getAttribute('sandbox')).toBe('allow-scripts allow-forms allow-popups allow-modals');
  await expect(panel(page).getByRole('link', { name: 'Open in a new tab' })).toHaveAttribute('target', '_blank');

  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>site</title><h1>The vault</h1>');
  const before = await frame.getAttribute('src');
  await panel(page).getByRole('button', { name: 'Reload the preview' }).click();
  await expect(inside(page).getByText('The vault')).toBeVisible();
  // Each load has an address of its own.
  expect(await frame.getAttribute('src')).not.toBe(before);
  await panel(page).getByLabel('Width').selectOption('Phone');
  await expect.poll(() => frame.evaluate((one) => one.clientWidth)).toBe(390);

  await page.goto(server.url + filesPath(folder, 'other.html'));
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await expect(inside(page).getByText('Other page')).toBeVisible();
});

test.describe('dev servers', () => {
  test('a listening port is chosen from the list, runs its programs, and keeps its storage', async ({ server, browser }) => {
    const { server: target, port } = await devServer();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.url}/files?preview=list`);
    await panel(page).getByRole('button', { name: new RegExp(`Port ${port}`) }).click();
    await expect(inside(page).getByText('ran 1 at /')).toBeVisible();
    await expect(panel(page).locator('.address')).toContainText(/http:\/\/127\.0\.0\.1:\d+\/$/);
    await panel(page).getByRole('button', { name: 'Reload the preview' }).click();
    await expect(inside(page).getByText('ran 2 at /')).toBeVisible();
    await panel(page).getByRole('button', { name: 'Show something else' }).click();
    await panel(page).getByRole('button', { name: `Close the preview of port ${port}` }).click();
    await expect(panel(page).getByText('Open previews')).toHaveCount(0);
    // What others open and close is told.
    await server.post('/api/workbench/sign', { kind: 'proxy', port });
    await expect(panel(page).getByText(`Port ${port} on`)).toBeVisible();
    await server.post('/api/workbench/revoke', {});
    await expect(panel(page).getByText('Open previews')).toHaveCount(0);
    await context.close();
    target.close();
  });

  test('where nothing listens a page says so, and shows it as soon as it does', async ({ server, browser }) => {
    const first = await devServer();
    const { port } = first;
    first.server.close();
    await once(first.server, 'close');
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.url}/files?preview=list`);
    await panel(page).getByLabel('Another port').fill('70000');
    await panel(page).getByRole('button', { name: 'Show it' }).click();
    await expect(panel(page).getByRole('alert')).toHaveText('A port is a number from 1 to 65535.');
    await panel(page).getByLabel('Another port').fill(String(port));
    await panel(page).getByRole('button', { name: 'Show it' }).click();
    await expect(panel(page).getByRole('heading', { name: `Nothing listens on port ${port}` })).toBeVisible();
    const { server: target } = await devServer(port);
    await expect(inside(page).getByText('ran 1 at /')).toBeVisible();
    await context.close();
    target.close();
  });

  test('the server itself is no dev server', async ({ server, windows }) => {
    const page = await windows.open(`/files?preview=${new URL(server.url).port}`);
    await expect(panel(page).getByRole('alert')).toContainText("That port is the server's own");
  });
});

test('a document of the canvas that names a dev server is shown by way of a preview', async ({ server, browser }) => {
  const { server: target, port } = await devServer();
  const room = await server.team();
  const { id } = await server.post<{ id: string }>(`/api/rooms/${room.id}/canvas`, { content: { type: 'browser', url: `http://localhost:${port}/docs` } });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/rooms/${room.id}?doc=${id}`);
  await expect(page.locator('iframe')).toHaveCount(0);
  await page.getByRole('button', { name: 'Show it here' }).click();
  await expect(page.frameLocator('iframe').getByText('ran 1 at /docs')).toBeVisible();
  await context.close();
  target.close();
});

test.describe('behind a tunnel', () => {
  test.use({ start: { env: { GUILDHALL_PUBLIC_URL: 'https://hall.example' } } });

  test('a folder is shown all the same', async ({ server, windows }) => {
    const folder = site(server);
    const page = await windows.open(filesPath(folder, '', 'folder'));
    await expect(inside(page).getByText('The arch')).toBeVisible();
  });
});

for (const look of viewports) {
  test(`previews are for everybody: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const folder = site(server);
    const page = await windows.open(filesPath(folder, '', 'list'), look);
    await expect(panel(page).getByRole('heading', { name: 'A folder' })).toBeVisible();
    await expectAccessible(page, 'the choice of a preview');
    await page.goto(server.url + filesPath(folder, '', 'folder'));
    await expect(inside(page).getByText('The arch')).toBeVisible();
    await expectAccessible(page, 'a preview');
    await page.goto(`${server.url}/files?preview=9`);
    await expect(panel(page).getByRole('heading', { name: 'Nothing listens on port 9' })).toBeVisible();
    await expectAccessible(page, 'a silent port');
  });
}
