/** A real server on a fresh data directory, and windows that look at it. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test as base, expect, type Browser, type BrowserContext, type Page } from '@playwright/test';

import type { Agent, Author, Entry, ResponseMode, Room } from '../src/api/types';

const BINARY = resolve(process.env.GUILDHALL_BIN ?? '../target/debug/guildhall');

/** How a server is started, beside its data folder. */
export type ServerOptions = {
  auth?: 'local' | 'login';
  /** Where it listens; only this computer's own address unless it is named. */
  bind?: string;
  /** Further words of the command line. */
  flags?: string[];
  /** Further variables of its environment. */
  env?: Record<string, string>;
};

export class TestServer {
  readonly dir = mkdtempSync(join(tmpdir(), 'guildhall-page-'));
  url = '';
  /** Who asks when a test asks without a page: the owner of this computer. */
  headers: Record<string, string> = {};
  readonly #start: ServerOptions;
  #process: ChildProcess | null = null;
  #log = '';

  constructor(start: ServerOptions = {}) {
    this.#start = start;
  }

  /** Starts the server; a second start takes the port of the first. */
  async start(): Promise<void> {
    if (!existsSync(BINARY)) throw new Error(`There is no server at ${BINARY}: build it, or name it in GUILDHALL_BIN.`);
    const { auth = 'local', bind: first = '127.0.0.1:0', flags = [], env = {} } = this.#start;
    const bind = this.url === '' ? first : first.replace(/:\d+$/, `:${new URL(this.url).port}`);
    const words = ['serve', '--data-dir', this.data, '--bind', bind, ...(auth === 'login' ? ['--auth', auth] : []), ...flags];
    const child = spawn(BINARY, words, {
      env: { ...process.env, HOME: this.dir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (text) => (this.#log += String(text)));
    await expect
      .poll(() => this.#discovered(child), { message: 'the server says where it listens', timeout: 20_000 })
      .toBe(true);
  }

  get data(): string {
    return join(this.dir, 'data');
  }

  /** A folder an agent may work in. */
  folder(name: string): string {
    const path = join(this.dir, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** SIGKILL: no goodbye, nothing flushed that was not flushed before. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (!child || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Everything this server kept is gone; the next start is another server at the same address. */
  forget(): void {
    rmSync(this.data, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.kill();
    // What it started ends with it, a moment later. The whole removal is tried again: `maxRetries`
    // does not look again at a folder that was written to while it was emptied.
    await expect.poll(() => isRemoved(this.dir), { message: `${this.dir} is removed`, timeout: 20_000 }).toBe(true);
  }

  /** Only in mode `login`, and only before there is an account. */
  get setupCode(): string {
    return readFileSync(join(this.data, 'setup-code'), 'utf8').trim();
  }

  async get<Body>(path: string): Promise<Body> {
    return this.#answer<Body>(await fetch(this.url + path, { headers: this.headers }));
  }

  async post<Body>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Body> {
    const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...this.headers, ...headers }, body: JSON.stringify(body) };
    return this.#answer<Body>(await fetch(this.url + path, asked));
  }

  async react(roomId: string, entryId: string, emoji: string, headers: Record<string, string> = {}): Promise<void> {
    const path = `/api/rooms/${roomId}/entries/${entryId}/reactions/${encodeURIComponent(emoji)}`;
    await this.#answer(await fetch(this.url + path, { method: 'PUT', headers: { ...this.headers, ...headers } }));
  }

  async patch<Body>(path: string, body: unknown): Promise<Body> {
    const asked = { method: 'PATCH', headers: { 'content-type': 'application/json', ...this.headers }, body: JSON.stringify(body) };
    return this.#answer<Body>(await fetch(this.url + path, asked));
  }

  async remove(path: string): Promise<void> {
    await this.#answer(await fetch(this.url + path, { method: 'DELETE', headers: this.headers }));
  }

  async team(): Promise<Room> {
    const { rooms } = await this.get<{ rooms: Room[] }>('/api/rooms');
    return rooms.find((room) => room.wellKnown === 'team')!;
  }

  me = () => this.get<Author>('/api/rooms/authors/me');

  /**
   * Registers an agent and mints a token: from here on a program can speak as it.
   * It is silent, so that in a room it says only what the test says for it.
   */
  async agent(name: string, responseMode: ResponseMode = 'silent'): Promise<AgentClient> {
    const agent = await this.post<Agent>('/api/agents', { name, cwd: this.folder(name), runtime: 'rehearsal', responseMode });
    const { token } = await this.post<{ token: string }>(`/api/agents/${agent.id}/tokens`, { label: 'test' });
    return new AgentClient(this, agent, token);
  }

  async entries(roomId: string): Promise<Entry[]> {
    return (await this.get<{ entries: Entry[] }>(`/api/rooms/${roomId}/entries?limit=200`)).entries;
  }

  /** What the server counts as open streams. */
  async streams(): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return Number(/^guildhall_streams_open(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? Number.NaN);
  }

  /** How many requests the server has answered so far with this method and class of status. */
  async answered(method: string, status: '2xx' | '4xx'): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return Number(new RegExp(`^guildhall_requests_total\\{class="${status}",method="${method}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
  }

  #discovered(child: ChildProcess): boolean {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}:\n${this.#log}`);
    const path = join(this.data, 'run', 'server.json');
    if (!existsSync(path)) return false;
    const found = JSON.parse(readFileSync(path, 'utf8')) as { url: string; pid: number; localToken: string | null };
    // After a SIGKILL the file of the dead server is still there.
    if (found.pid !== child.pid) return false;
    this.url = found.url.replace(/\/$/, '').replace('//0.0.0.0', '//127.0.0.1');
    if (found.localToken) this.headers = { authorization: `Bearer ${found.localToken}` };
    return true;
  }

  async #answer<Body>(response: Response): Promise<Body> {
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.url}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }
}

export class AgentClient {
  readonly #server: TestServer;
  readonly agent: Agent;
  readonly token: string;

  constructor(server: TestServer, agent: Agent, token: string) {
    this.#server = server;
    this.agent = agent;
    this.token = token;
  }

  say(roomId: string, text: string, threadRootEntryId?: string): Promise<{ entry: Entry }> {
    return this.#server.post(`/api/rooms/${roomId}/entries`, { text, threadRootEntryId }, { 'x-service-agent': this.token });
  }
}

/** A browser of its own: its own storage, its own leading tab. */
export type Windows = {
  open(path: string, look?: WindowOptions): Promise<Page>;
};

export type WindowOptions = {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  withoutLocks?: boolean;
  /** A screen that is touched. */
  touch?: boolean;
  /** The one other origin that a person clicks in this window. */
  clicked?: string;
  /** Another address of the same server. */
  at?: string;
  /** Another browser than the one all tests share. */
  browser?: Browser;
  /** False where nobody is signed in yet, so that no stream can be live. */
  live?: boolean;
};

type Fixtures = { start: ServerOptions; server: TestServer; windows: Windows };

export const test = base.extend<Fixtures>({
  start: [{}, { option: true }],
  server: async ({ start }, use) => {
    const server = new TestServer(start);
    await server.start();
    await use(server);
    await server.close();
  },
  windows: async ({ browser, server }, use) => {
    const opened: BrowserContext[] = [];
    const strangers: string[] = [];
    const broken: string[] = [];
    await use({
      async open(path, look = {}) {
        const { theme = 'light', width = 1280, height = 800, withoutLocks = false, touch = false, clicked = '', at = server.url, browser: other, live: waits = true } = look;
        const context = await newContext(other ?? browser, theme, width, height, touch);
        opened.push(context);
        watch(context, [at, clicked], strangers, broken);
        // As on plain http off loopback, where the browser offers no Web Locks.
        if (withoutLocks) await context.addInitScript('delete Navigator.prototype.locks');
        const page = await context.newPage();
        await page.goto(at + path);
        if (waits) await live(page);
        return page;
      },
    });
    for (const context of opened) await context.close();
    // In every test: the page talks to its own server only, breaks nowhere, and the policy refuses nothing of it.
    expect(strangers).toEqual([]);
    expect(broken).toEqual([]);
  },
});

function isRemoved(dir: string): boolean {
  try {
    rmSync(dir, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

function newContext(browser: Browser, colorScheme: 'light' | 'dark', width: number, height: number, touch: boolean): Promise<BrowserContext> {
  return browser.newContext({ colorScheme, viewport: { width, height }, hasTouch: touch, isMobile: touch, reducedMotion: 'reduce' });
}

function watch(context: BrowserContext, known: string[], strangers: string[], broken: string[]): void {
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && !known.includes(url.origin)) strangers.push(request.url());
  });
  context.on('weberror', (error) => broken.push(String(error.error().stack)));
  context.on('console', (message) => {
    if (/Content Security Policy|Content-Security-Policy|TrustedHTML/.test(message.text())) broken.push(message.text());
  });
}

/** A page that was cut off may wait up to 15 s before it tries again. */
export async function live(page: Page): Promise<void> {
  await expect(page.getByRole('status').filter({ hasText: 'Live' })).toBeVisible({ timeout: 25_000 });
}

/** The texts of a room as they stand on the page, oldest first. */
export function texts(page: Page): Promise<string[]> {
  return page.locator('[data-entry] .text').allInnerTexts();
}

export const composer = (page: Page) => page.getByRole('textbox', { name: /^Write to/ });

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

export { expect };
