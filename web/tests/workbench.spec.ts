import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Frame, Page } from '@playwright/test';

import { expect, test, type TestServer } from './test-server';

/** A page that tries what it must not, and says what came of it. */
const HOSTILE = `
import { part } from './part.mjs';

const tried = async (name, action) => {
  try {
    return [name, await action()];
  } catch {
    return [name, 'refused'];
  }
};
const asked = async (mode, init = {}) => {
  const answer = await fetch('/api/rooms', { mode, credentials: 'include', ...init });
  return answer.type === 'opaque' ? 'unreadable' : answer.status;
};
const socket = () =>
  new Promise((resolve, reject) => {
    const opened = new WebSocket(\`ws://\${location.host}/api/events\`);
    opened.onopen = () => resolve('open');
    opened.onerror = reject;
  });
const found = await Promise.all([
  tried('cors', () => asked('cors')),
  tried('no-cors', () => asked('no-cors')),
  tried('post', () => asked('no-cors', { method: 'POST', body: '{"kind":"channel","title":"stolen"}' })),
  tried('revoke', () => fetch('/api/workbench/revoke', { method: 'POST', mode: 'no-cors', body: '{}' }).then(() => 'unreadable')),
  tried('socket', socket),
  tried('storage', () => localStorage.length),
  tried('cookie', () => document.cookie),
  tried('worker', () => navigator.serviceWorker.register('part.mjs').then(() => 'registered')),
  tried('parent', () => (parent === self ? 'refused' : parent.document.title)),
]);
window.found = { part, origin: self.origin, ...Object.fromEntries(found) };
`;

const EXPECTED = {
  part: 'loaded',
  origin: 'null',
  cors: 'refused',
  'no-cors': 'refused',
  post: 'refused',
  revoke: 'refused',
  socket: 'refused',
  storage: 'refused',
  cookie: 'refused',
  worker: 'refused',
  parent: 'refused',
};

async function served(server: TestServer): Promise<string> {
  const folder = server.folder('site');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>served</title><script type="module" src="app.mjs"></script>');
  writeFileSync(join(folder, 'app.mjs'), HOSTILE);
  writeFileSync(join(folder, 'part.mjs'), "export const part = 'loaded';");
  const { url } = await server.post<{ url: string }>('/api/workbench/sign', { kind: 'serve', cwd: folder });
  return url;
}

/** What the server answered while something was done; a page is not told of answers that are kept from it. */
async function answers(server: TestServer, action: () => Promise<void>): Promise<{ read: number; changed: number; refused: number }> {
  const count = async () => [await server.answered('GET', '2xx'), await server.answered('POST', '2xx'), (await server.answered('GET', '4xx')) + (await server.answered('POST', '4xx'))];
  const before = await count();
  await action();
  const [read, changed, refused] = (await count()).map((after, at) => after - before[at]!);
  // Counting is reading, four times.
  return { read: read! - 4, changed: changed!, refused: refused! };
}

const found = (frame: Frame | Page) => frame.waitForFunction(() => (window as unknown as { found?: unknown }).found).then((it) => it.jsonValue());

test('a served page has no origin, framed and on its own, loads its own modules and reaches no route', async ({ server, page }) => {
  const url = await served(server);
  // How often its own three files are asked for, also where the browser's own store answers.
  let own = 0;
  page.on('request', (request) => {
    if (request.url().startsWith(url)) own += 1;
  });
  const counted = await answers(server, async () => {
    await page.goto(url);
    expect(await found(page)).toEqual(EXPECTED);

    const framing = `${server.url}/around`;
    const frame = `<iframe sandbox="allow-scripts allow-forms allow-popups allow-modals" src="${url}"></iframe>`;
    await page.route(framing, (route) => route.fulfill({ contentType: 'text/html', body: `<title>secret</title>${frame}` }));
    await page.goto(framing);
    const inner = page.frames().find((one) => one !== page.mainFrame())!;
    await inner.waitForURL(url);
    expect(await found(inner)).toEqual(EXPECTED);
  });
  // Beside its own files nothing came through. How much of the rest is sent at all depends on the browser's version.
  expect(counted.read).toBeLessThanOrEqual(own);
  expect(counted.changed).toBe(0);
  expect(counted.refused).toBeGreaterThan(0);
  const { rooms } = await server.get<{ rooms: { title: string }[] }>('/api/rooms');
  expect(rooms.map((room) => room.title)).not.toContain('stolen');
  // And nothing was revoked.
  expect((await fetch(url)).status).toBe(200);
});

/** A page of another server of this computer that frames an address. */
async function around(url: string): Promise<{ url: string; close: () => void }> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(`<iframe src="${url}"></iframe>`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

test('a page of another site frames no served page', async ({ server, page }) => {
  const other = await around(await served(server));
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
  await page.goto(other.url);
  await refused;
  other.close();
});

test('a preview is an origin of its own, keeps its storage, and reaches no route', async ({ server, page }) => {
  const seen: string[] = [];
  const dev = createServer((request, response) => {
    seen.push(request.headers.cookie ?? '');
    response.setHeader('content-type', 'text/html');
    response.setHeader('x-frame-options', 'DENY');
    response.end('<!doctype html><title>dev</title>');
  });
  dev.listen(0, '127.0.0.1');
  await once(dev, 'listening');
  const { port } = dev.address() as AddressInfo;
  const { url } = await server.post<{ url: string }>('/api/workbench/sign', { kind: 'proxy', port });
  const framing = await around(url);
  await page.goto(framing.url);
  const inner = page.frames().find((one) => one !== page.mainFrame())!;
  await inner.waitForFunction(() => document.title === 'dev');
  expect(inner.url()).toBe(url.split('?')[0]);
  const { origin } = new URL(url);
  expect(await inner.evaluate(() => [self.origin, document.cookie])).toEqual([origin, '']);
  await inner.evaluate(() => localStorage.setItem('kept', 'yes'));
  const counted = await answers(server, async () => {
    const asked = await inner.evaluate(async (api) => {
      const ask = (mode: RequestMode) => fetch(api, { mode, credentials: 'include' }).then((answer) => answer.type, () => 'refused');
      return [await ask('cors'), await ask('no-cors')];
    }, `${server.url}/api/rooms`);
    expect(asked).toEqual(['refused', 'refused']);
  });
  // The server refused what arrived, and not the browser alone.
  expect(counted).toMatchObject({ read: 0, changed: 0 });
  expect(counted.refused).toBeGreaterThan(0);
  await page.goto(url);
  expect(await page.evaluate(() => localStorage.getItem('kept'))).toBe('yes');
  expect(seen.join('')).not.toContain('guildhall');
  dev.close();
  framing.close();
});
