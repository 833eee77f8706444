import { expect, test } from 'vitest';
import { afterEvent, withStartPath, devPort, frameUrl, sandboxOf, displayUrl, previewProblem } from './preview';

const HERE = 'http://127.0.0.1:4747';
const folder = { kind: 'serve', cwd: '/a' } as const;
const port = { kind: 'proxy', port: 5173 } as const;

test('the address that is shown holds no token', () => {
  expect(displayUrl(`${HERE}/api/workbench/serve/v4.local.secret/%C3%BC/a.html?x=1`)).toBe(`${HERE}/api/workbench/serve/…/ü/a.html?x=1`);
  expect(displayUrl('http://localhost:4748/?__guildhall_preview=v4.local.secret')).toBe('http://localhost:4748/');
  expect(displayUrl(`${HERE}/api/workbench/serve/t/%FF`)).toBe(`${HERE}/api/workbench/serve/…/%FF`);
});

test('only a dev server has an origin, and never ours', () => {
  expect(sandboxOf(folder)).toBe('allow-scripts allow-forms allow-popups allow-modals');
  expect(sandboxOf(port)).toContain('allow-same-origin');
  expect(frameUrl('http://127.0.0.1:4748/?x', port, HERE)?.port).toBe('4748');
  expect(frameUrl(`${HERE}/rooms`, port, HERE)).toBeNull();
  expect(frameUrl(`${HERE}/rooms`, folder, HERE)).toBeNull();
  expect(frameUrl(`${HERE}/api/workbench/serve/t/`, folder, HERE)).not.toBeNull();
  expect(frameUrl('javascript:alert(1)', port, HERE)).toBeNull();
});

test('each reason has its words and a next step, an unknown one as well', () => {
  for (const reason of ['tunnel', 'insecure', 'no-port', 'moon']) {
    const { title, text, next } = previewProblem(reason, 5173);
    expect([title, text, next].every((words) => words.length > 10)).toBe(true);
  }
  expect(previewProblem('moon', 1).text).toContain('moon');
});

test('which address is a dev server of this computer', () => {
  const ports = ['http://localhost:5173/a', 'http://127.0.0.1/', 'http://app.localhost:80', 'https://localhost:1', 'http://example.org:5173'];
  expect(ports.map((address) => devPort(new URL(address)))).toEqual([5173, 80, 80, null, null]);
});

test('a dev server is begun at another page, and never at another host', () => {
  const url = 'http://127.0.0.1:4748/?__guildhall_preview=t.k';
  expect(withStartPath(url, '/docs?x=1#y')).toBe('http://127.0.0.1:4748/docs?x=1&__guildhall_preview=t.k#y');
  expect(new URL(withStartPath(url, '//evil.example/a')).host).toBe('127.0.0.1:4748');
  expect(withStartPath(url, '/')).toBe(url);
});

test('the list of open previews follows what is told of them', () => {
  const told = (type: string, data: Record<string, unknown>) => ({ seq: 1, scope: 'hall', type, at: '2026-11-22T00:00:00.000Z', actorId: null, data });
  const opened = (port: number, listenPort: number) => told('preview_opened', { port, listenPort });
  const one = afterEvent([], opened(5173, 4748));
  expect(one).toEqual([{ port: 5173, listenPort: 4748, openedAt: '2026-11-22T00:00:00.000Z', lastRequestAt: null, openSockets: 0 }]);
  const two = afterEvent(one, opened(3000, 4749));
  expect(two.map(({ port }) => port)).toEqual([3000, 5173]);
  expect(afterEvent(two, opened(5173, 4750)).map(({ listenPort }) => listenPort)).toEqual([4749, 4750]);
  expect(afterEvent(two, told('preview_closed', { port: 5173, listenPort: 4748, reason: 'idle' }))).toEqual([two[0]]);
  expect(afterEvent(two, told('file_saved', { port: 5173 }))).toBe(two);
});
