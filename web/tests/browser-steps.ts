/** The local browser as the specs use it: a site to look at, the parts of its view, and its processes. */

import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Locator, Page } from '@playwright/test';
import type { BrowserState } from '../src/api/types';
import { devServer, type DevServer } from './dev-servers';
import { expect, type TestServer } from './test-server';

const isRoot = process.getuid?.() === 0;

/** The environment of a server that has a Chromium and no screen. */
export const headless = {
  GUILDHALL_BROWSER: process.env.GUILDHALL_CHROMIUM ?? '/usr/bin/chromium',
  DISPLAY: '',
  WAYLAND_DISPLAY: '',
  ...(isRoot ? { GUILDHALL_BROWSER_NO_SANDBOX: '1' } : {}),
};

/** A page whose title tells what was done in it, so that it can be read off its tab. Its parts stand at places of the picture. */
const SITE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>ready</title>
<style>body { margin: 0; font: 20px sans-serif } body > * { position: absolute; left: 20px } button { top: 20px; width: 160px; height: 60px }
input, textarea { top: 120px; width: 300px; height: 40px } textarea { top: 180px; width: 200px; height: 100px } b { top: 300px; font-size: 30px }
i { left: 0; top: 400px; width: 200px; height: 200px; background: rgb(200, 30, 30) } p { top: 3000px }</style>
<button>Press</button><input aria-label="Text"><textarea aria-label="Lines"></textarea><b>twofold</b><i></i><p>the end</p>
<script>
const say = (text) => (document.title = text);
const [field, lines] = [document.querySelector('input'), document.querySelector('textarea')];
document.querySelector('button').onclick = () => say('pressed');
field.oninput = () => say('field ' + field.value);
lines.oninput = () => say('lines ' + lines.value.split('\\n').join('/'));
addEventListener('scroll', () => say(scrollY > 0 ? 'scrolled' : 'back at the top'));
addEventListener('contextmenu', (event) => (event.preventDefault(), say('context')));
addEventListener('keydown', ({ key }) => key === 'Escape' && say('escaped'));
addEventListener('dblclick', () => say('twice ' + getSelection()));
const asked = new URLSearchParams(location.search).get('asks');
if (asked === 'leave') addEventListener('beforeunload', (event) => event.preventDefault());
else if (asked) document.querySelector('button').onclick = () =>
  say('answered ' + { confirm: () => confirm('Really?\\n\\u200bIt is late.'), prompt: () => prompt('Which one?', 'the first'), alert: () => alert('Look') }[asked]());
</script>`;

const SIGN_IN = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
<style>body { margin: 0 } * { position: absolute } form { inset: 0 } input { left: 20px; top: 20px; width: 300px; height: 40px } input + input { top: 80px } button { left: 20px; top: 140px; width: 160px; height: 60px }</style>
<form method="post" action="/sign-in"><input name="name" aria-label="Name"><input name="password" type="password" aria-label="Password"><button>Sign in</button></form>`;

/** A small site: a page, a sign-in by form, a room behind HTTP Basic, something to download. */
export const site = (): Promise<DevServer> =>
  devServer((request, response) => {
    void answer(request).then(({ status, headers, body }) => response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body));
  });

type Answer = { status: number; headers?: Record<string, string>; body: string };

async function answer(request: IncomingMessage): Promise<Answer> {
  const { pathname } = new URL(request.url ?? '/', 'http://site');
  switch (pathname) {
    case '/secret': {
      const mayEnter = request.headers.authorization === `Basic ${Buffer.from('ada:secret').toString('base64')}`;
      if (mayEnter) return { status: 200, body: '<title>let in</title>' };
      return { status: 401, headers: { 'www-authenticate': 'Basic realm="The vault"' }, body: '<title>kept out</title>' };
    }
    case '/sign-in': {
      if (request.method !== 'POST') return { status: 200, body: SIGN_IN };
      const said = new URLSearchParams(await text(request));
      if (said.get('name') !== 'ada' || said.get('password') !== 'Straße 7') return { status: 403, body: '<title>who are you</title>' };
      return { status: 303, headers: { 'set-cookie': 'who=ada; HttpOnly', location: '/home' }, body: '' };
    }
    case '/home': {
      const who = /who=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? 'nobody';
      return { status: 200, body: SITE.replace('<title>ready', `<title>welcome ${who}`) };
    }
    case '/file':
      return { status: 200, headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="x.bin"' }, body: 'x' };
    default:
      return { status: 200, body: SITE };
  }
}

export const tabs = (page: Page): Locator => page.getByRole('tablist', { name: 'Tabs of the browser' });
export const tab = (page: Page, name: string | RegExp): Locator => tabs(page).getByRole('tab', { name });
export const picture = (page: Page): Locator => page.getByRole('img', { name: /^Picture of the page/ });
export const address = (page: Page): Locator => page.getByLabel('Address of the page');
export const control = (page: Page): Locator => page.getByRole('group', { name: 'Who has control' });
export const now = (server: TestServer): Promise<BrowserState> => server.get('/api/local-browser');

export async function more(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More about the browser' }).click();
  await page.getByRole('menuitem', { name }).click();
}

/** Goes to an address as a person does, and waits until its load is over and the keys are the page's. */
export async function go(page: Page, to: string): Promise<void> {
  await address(page).fill(to);
  await address(page).press('Enter');
  await expect(page.getByLabel(/^Keys for the page/)).toBeFocused();
  await expect(address(page)).toHaveValue(to);
  await expect(page.getByRole('button', { name: 'Reload the page' })).toBeVisible();
}

/** Opens it over HTTP, at an address if one is named. */
export async function opened(server: TestServer, url?: string): Promise<void> {
  const state = await server.post<BrowserState>('/api/local-browser/open', { mode: 'embedded', ...(url ? { url } : {}) }, { prefer: 'wait=30' });
  expect(state.status).toBe('connected');
}

/** The red square of the site is in the picture, where it belongs. */
export const showsSite = (page: Page): Promise<void> => expect.poll(async () => isRed(await colourAt(page, 100, 500)), { timeout: 30_000 }).toBe(true);

/** The colour at a place of the picture, in CSS pixels of the page; nothing while there is no picture. */
const colourAt = (page: Page, x: number, y: number): Promise<number[]> =>
  picture(page).evaluate(
    (it, at) => {
      const canvas = it as HTMLCanvasElement;
      if (canvas.clientWidth === 0) return [];
      const part = canvas.width / canvas.clientWidth;
      return [...(canvas.getContext('2d')?.getImageData(at.x * part, at.y * part, 1, 1).data ?? [])].slice(0, 3);
    },
    { x, y },
  );
const isRed = ([red = 0, green = 0, blue = 0]: number[]): boolean => red > 150 && green < 90 && blue < 90;

/** There is a picture, whatever it shows. */
export const isShown = (page: Page): Promise<void> => expect.poll(async () => (await colourAt(page, 0, 0)).length, { timeout: 30_000 }).toBe(3);

/** The picture is one of the page that is there now, as a person sees before pressing. */
export const isNew = (page: Page): Promise<void> => expect(picture(page)).toHaveAttribute('aria-busy', 'false');

/** Presses at a place of the page. */
export async function press(page: Page, x: number, y: number, how: { button?: 'right'; clickCount?: number } = {}): Promise<void> {
  await isNew(page);
  await picture(page).click({ position: { x, y }, ...how });
}

type Process = { pid: number; parent: number; words: string[] };

/** The processes of a server's browser, as Linux lists them: its first one and all below. */
export function processes(server: TestServer): { browser: number; renderers: number[] } {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap(known);
  const first = all.find(({ words }) => words.includes(`--user-data-dir=${server.data}/browser/profile`) && !words.some((word) => word.startsWith('--type=')) && words.includes('--remote-debugging-pipe') && !words.includes('keeper'));
  if (!first) throw new Error('The browser has no process.');
  const below = new Set([first.pid]);
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const { pid, parent } of all) if (below.has(parent)) below.add(pid);
  }
  return { browser: first.pid, renderers: all.filter(({ pid, words }) => below.has(pid) && words.includes('--type=renderer')).map(({ pid }) => pid) };
}

function known(name: string): Process[] {
  try {
    const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split(/[\0 ]/);
    const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1]);
    return [{ pid: Number(name), parent, words }];
  } catch {
    // It ended while it was looked at.
    return [];
  }
}
