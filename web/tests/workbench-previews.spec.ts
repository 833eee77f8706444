/** Dev servers in the preview panel: a hostile one reaches nothing of ours, and those people have work as they do alone. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Page } from '@playwright/test';

import { devServer, python } from './dev-servers';
import { expect, test, type TestServer } from './test-server';

/** A page that tries what it must not, knowing every address there is, and says what came of it. */
const HOSTILE = `
const tried = async (name, action) => {
  try {
    return [name, await action()];
  } catch {
    return [name, 'refused'];
  }
};
const asked = (url, init) => fetch(url, { credentials: 'include', ...init }).then((answer) => (answer.type === 'opaque' ? 'unreadable' : answer.text()));
const settled = (target, good, bad) =>
  new Promise((resolve) => {
    target[good] = () => resolve('open');
    target[bad] = () => resolve('refused');
  });
const put = (tag, fields) => document.body.appendChild(Object.assign(document.createElement(tag), fields));
const framed = async (url) => {
  const frame = put('iframe', { src: url });
  await settled(frame, 'onload', 'onerror');
  return frame.contentWindow.document.title;
};
const posted = async (target) => {
  put('iframe', { name: 'sink' });
  const form = put('form', { method: 'post', action: HALL + '/api/rooms', enctype: 'text/plain', target });
  form.appendChild(Object.assign(document.createElement('input'), { name: '{"kind":"channel","title":"stolen","x":"', value: '"}' }));
  form.submit();
  return 'sent';
};
const room = JSON.stringify({ kind: 'channel', title: 'stolen' });
const json = { 'content-type': 'application/json' };
const run = async () => {
  document.cookie = 'guildhall_preview_' + new URL(OTHER).port + '=mine; path=/';
  document.cookie = 'guildhall_' + new URL(HALL).port + '=mine; path=/';
  return Object.fromEntries(await Promise.all([
    tried('parent', () => parent.document.title),
    tried('top', () => top.location.href),
    tried('leaving', () => ((top.location = location.origin + '/taken'), 'gone')),
    tried('rooms', () => asked(HALL + '/api/rooms')),
    tried('rooms unread', () => asked(HALL + '/api/rooms', { mode: 'no-cors' })),
    tried('own room', () => asked(HALL + '/api/rooms', { method: 'POST', body: room, headers: json })),
    tried('own room unread', () => asked(HALL + '/api/rooms', { method: 'POST', body: room, mode: 'no-cors' })),
    tried('home', () => asked(HALL + '/api/workbench/sign', { method: 'POST', body: JSON.stringify({ kind: 'serve', cwd: '~' }), headers: json })),
    tried('events', () => settled(new EventSource(HALL + '/api/events', { withCredentials: true }), 'onopen', 'onerror')),
    tried('socket', () => settled(new WebSocket(HALL.replace('http', 'ws') + '/api/events'), 'onopen', 'onerror')),
    tried('script', () => settled(put('script', { src: HALL + '/api/openapi.json' }), 'onload', 'onerror')),
    tried('picture', () => settled(put('img', { src: HALL + '/favicon.svg' }), 'onload', 'onerror')),
    tried('our page', () => framed(HALL + '/')),
    tried('worker', () => navigator.serviceWorker.register(HALL + '/sw.js')),
    tried('form', () => posted('sink')),
    tried('form on top', () => posted('_top')),
    tried('other page', () => asked(OTHER + '/')),
    tried('other frame', () => framed(OTHER + '/')),
    tried('other socket', () => settled(new WebSocket(OTHER.replace('http', 'ws') + '/'), 'onopen', 'onerror')),
    tried('storage', () => localStorage.getItem('secret') ?? 'empty'),
    tried('cookies', () => document.cookie.includes('v4.local') ? document.cookie : 'none of ours'),
  ]));
};
put('button', { textContent: 'A prize', onclick: () => open(HALL + '/settings') });
run().then((found) => (window.found = found));
`;

const EXPECTED = {
  parent: 'refused',
  top: 'refused',
  leaving: 'refused',
  rooms: 'refused',
  'rooms unread': 'refused',
  'own room': 'refused',
  'own room unread': 'refused',
  home: 'refused',
  events: 'refused',
  socket: 'refused',
  script: 'refused',
  picture: 'refused',
  'our page': 'refused',
  worker: 'refused',
  form: 'sent',
  'form on top': 'sent',
  'other page': 'refused',
  'other frame': 'refused',
  'other socket': 'refused',
  storage: 'empty',
  cookies: 'none of ours',
};

const panel = (page: Page) => page.getByRole('complementary', { name: 'Preview' });
const inside = (page: Page) => panel(page).frameLocator('iframe');
const found = (frame: Frame) => frame.waitForFunction(() => (window as unknown as { found?: unknown }).found).then((it) => it.jsonValue());
const sign = (server: TestServer, port: number) => server.post<{ url: string }>('/api/workbench/sign', { kind: 'proxy', port });

test('a hostile dev server in the panel reaches nothing of ours and nothing of another preview', async ({ server, page, context }) => {
  const victim = await devServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>victim</title><p>mine, ${request.url}</p><script>localStorage.setItem('secret', 'kept')</script>`);
  });
  const { url } = await sign(server, victim.port);
  await page.goto(url);
  const other = new URL(url).origin;
  let seen = '';
  const hostile = await devServer((request, response) => {
    seen += JSON.stringify(request.headers);
    response.setHeader('content-type', 'text/html');
    response.setHeader('clear-site-data', '"cookies"');
    response.end(`<!doctype html><title>hostile</title><body><script type="module">const HALL = '${server.url}', OTHER = '${other}';${HOSTILE}</script>`);
  });
  const before = await server.get<object>('/api/settings');

  const changes = async () => [await server.answered('POST', '2xx'), await server.answered('POST', '4xx')];
  const [changed, refused] = await changes();
  const reads = await server.answered('GET', '4xx');
  const panelled = `${server.url}/files?preview=${hostile.port}`;
  await page.goto(panelled);
  await expect(inside(page).locator('body')).toBeAttached();
  const frame = page.frames().find((one) => one !== page.mainFrame() && one.parentFrame() === page.mainFrame())!;
  expect(await found(frame)).toEqual(EXPECTED);
  // What was sent was refused by the server too: reads, a post of a script and one of a form; how many more there are
  // depends on the browser's version. The page itself looked for the port and had the address made.
  await expect.poll(async () => (await changes())[1]).toBeGreaterThanOrEqual(refused! + 2);
  expect((await changes())[0]).toBe(changed! + 2);
  expect(await server.answered('GET', '4xx')).toBeGreaterThan(reads);
  // A page of ours that it opens is not even loaded: it would take the frame's sandbox with it.
  const [popup] = await Promise.all([context.waitForEvent('page'), inside(page).getByRole('button', { name: 'A prize' }).click()]);
  await expect.poll(() => popup.url()).toBe('chrome-error://chromewebdata/');
  await popup.close();

  // The page stands where it stood, and nothing was made, changed, signed or revoked.
  expect(page.url()).toBe(panelled);
  await expect(panel(page).getByRole('heading', { name: 'Preview' })).toBeVisible();
  const { rooms } = await server.get<{ rooms: { title: string }[] }>('/api/rooms');
  expect(rooms.map(({ title }) => title)).not.toContain('stolen');
  expect(await server.get('/api/settings')).toEqual(before);
  expect(seen).not.toContain('guildhall_');
  // The other preview has its cookie and its storage.
  await page.goto(`${other}/again`);
  await expect(page.getByText('mine, /again')).toBeVisible();
  expect(await page.evaluate(() => localStorage.getItem('secret'))).toBe('kept');
  await victim.close();
  await hostile.close();
});

const LIVE = `<!doctype html><title>live</title><body><script type="module">
  const say = (words) => document.body.append(Object.assign(document.createElement('p'), { textContent: words }));
  const events = new EventSource('/events');
  events.onmessage = ({ data }) => say('event ' + data);
  events.onerror = () => say('cut');
  const socket = new WebSocket('ws://' + location.host + '/socket');
  socket.onopen = () => ['a', 'ü'.repeat(2000)].forEach((words) => socket.send(words));
  socket.onmessage = ({ data }) => say('echo ' + data.length);
  socket.onclose = () => say('closed');
  window.send = (words) => socket.send(words);
</script>`;

test('server-sent events, a WebSocket and the server of Python work in the panel as they do alone', async ({ server, page }) => {
  const listeners: ((words: string) => void)[] = [];
  const cut: string[] = [];
  const live = await devServer((request, response) => {
    if (request.url !== '/events') return void response.setHeader('content-type', 'text/html; charset=utf-8').end(LIVE);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    listeners.push((words) => response.write(`data: ${words}\n\n`));
    request.on('close', () => cut.push('gone'));
    response.write('data: first\n\n');
  });
  await page.goto(`${server.url}/files?preview=${live.port}`);
  const shown = inside(page);
  // A first event comes while the answer goes on, and so does each later one.
  await expect(shown.getByText('event first')).toBeVisible();
  for (const words of ['second', 'third']) {
    listeners.forEach((tell) => tell(words));
    await expect(shown.getByText(`event ${words}`)).toBeVisible();
  }
  await expect(shown.getByText('echo 1', { exact: true })).toBeVisible();
  await expect(shown.getByText('echo 2000')).toBeVisible();
  const frame = page.frames().find((one) => one !== page.mainFrame())!;
  await frame.evaluate(() => (window as unknown as { send: (words: string) => void }).send('later'));
  await expect(shown.getByText('echo 5')).toBeVisible();
  await expect(shown.getByText('cut')).toHaveCount(0);

  // Who stops looking is told to the dev server; closing the preview ends both.
  expect((await fetch(`${server.url}/api/workbench/previews/${live.port}`, { method: 'DELETE', headers: server.headers })).status).toBe(204);
  await expect(shown.getByText('closed')).toBeVisible();
  await expect.poll(() => cut.length).toBe(listeners.length);

  const folder = server.folder('site');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>py</title><h1>By Python</h1><a href="sub">below</a>');
  writeFileSync(join(server.folder('site/sub'), 'page.txt'), 'plain words');
  const py = await python(folder);
  await page.goto(`${server.url}/files?preview=${py.port}`);
  await expect(shown.getByRole('heading', { name: 'By Python' })).toBeVisible();
  // It redirects to the folder with a slash and lists it.
  await shown.getByRole('link', { name: 'below' }).click();
  await shown.getByRole('link', { name: 'page.txt' }).click();
  await expect(shown.getByText('plain words')).toBeVisible();
  await live.close();
  await py.close();
});
