/** A real server on a fresh data directory, and windows that look at it. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test as base, expect, type Browser, type BrowserContext, type Page } from '@playwright/test';

import type { Agent, Author, Entry, Room } from '../src/api/types';

const BINARY = resolve(process.env.GUILDHALL_BIN ?? '../target/debug/guildhall');

export class House {
  readonly dir = mkdtempSync(join(tmpdir(), 'guildhall-page-'));
  url = '';
  #process: ChildProcess | null = null;
  #log = '';

  /** Starts the server; a second start takes the port of the first. */
  async start(): Promise<void> {
    if (!existsSync(BINARY)) throw new Error(`There is no server at ${BINARY}: build it, or name it in GUILDHALL_BIN.`);
    const bind = this.url === '' ? '127.0.0.1:0' : new URL(this.url).host;
    const child = spawn(BINARY, ['serve', '--data-dir', this.data, '--bind', bind], {
      env: { ...process.env, HOME: this.dir },
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

  /** Everything this server kept is gone; the next start is another house at the same address. */
  forget(): void {
    rmSync(this.data, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async get<Body>(path: string): Promise<Body> {
    return this.#answer<Body>(await fetch(this.url + path));
  }

  async post<Body>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Body> {
    const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
    return this.#answer<Body>(await fetch(this.url + path, asked));
  }

  async patch<Body>(path: string, body: unknown): Promise<Body> {
    const asked = { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return this.#answer<Body>(await fetch(this.url + path, asked));
  }

  async team(): Promise<Room> {
    const { rooms } = await this.get<{ rooms: Room[] }>('/api/rooms');
    return rooms.find((room) => room.wellKnown === 'team')!;
  }

  me = () => this.get<Author>('/api/rooms/authors/me');

  /** Registers an agent and mints a token: from here on a program can speak as it. */
  async agent(name: string): Promise<AgentVoice> {
    const agent = await this.post<Agent>('/api/agents', { name, cwd: this.folder(name), runtime: 'rehearsal' });
    const { token } = await this.post<{ token: string }>(`/api/agents/${agent.id}/tokens`, { label: 'test' });
    return new AgentVoice(this, agent, token);
  }

  async entries(roomId: string): Promise<Entry[]> {
    return (await this.get<{ entries: Entry[] }>(`/api/rooms/${roomId}/entries?limit=200`)).entries;
  }

  /** What the server counts as open streams. */
  async streams(): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return Number(/^guildhall_streams_open(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? Number.NaN);
  }

  #discovered(child: ChildProcess): boolean {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}:\n${this.#log}`);
    const path = join(this.data, 'run', 'server.json');
    if (!existsSync(path)) return false;
    const found = JSON.parse(readFileSync(path, 'utf8')) as { url: string; pid: number };
    // After a SIGKILL the file of the dead server is still there.
    if (found.pid !== child.pid) return false;
    this.url = found.url.replace(/\/$/, '');
    return true;
  }

  async #answer<Body>(response: Response): Promise<Body> {
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.url}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }
}

export class AgentVoice {
  readonly #house: House;
  readonly agent: Agent;
  readonly token: string;

  constructor(house: House, agent: Agent, token: string) {
    this.#house = house;
    this.agent = agent;
    this.token = token;
  }

  say(roomId: string, text: string): Promise<{ entry: Entry }> {
    return this.#house.post(`/api/rooms/${roomId}/entries`, { text }, { 'x-service-agent': this.token });
  }
}

/** A browser of its own: its own storage, its own leading tab. */
export type Windows = {
  open(path: string, look?: Look): Promise<Page>;
};

type Look = {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  withoutLocks?: boolean;
  /** The one other origin that a person clicks in this window. */
  clicked?: string;
};

type Fixtures = { house: House; windows: Windows };

export const test = base.extend<Fixtures>({
  house: async ({}, use) => {
    const house = new House();
    await house.start();
    await use(house);
    await house.close();
  },
  windows: async ({ browser, house }, use) => {
    const opened: BrowserContext[] = [];
    const strangers: string[] = [];
    const broken: string[] = [];
    await use({
      async open(path, { theme = 'light', width = 1280, height = 800, withoutLocks = false, clicked = '' } = {}) {
        const context = await newContext(browser, theme, width, height);
        opened.push(context);
        watch(context, [house.url, clicked], strangers, broken);
        // As on plain http off loopback, where the browser offers no Web Locks.
        if (withoutLocks) await context.addInitScript('delete Navigator.prototype.locks');
        const page = await context.newPage();
        await page.goto(house.url + path);
        await live(page);
        return page;
      },
    });
    for (const context of opened) await context.close();
    // In every test: the page talks to its own server only, breaks nowhere, and the policy refuses nothing of it.
    expect(strangers).toEqual([]);
    expect(broken).toEqual([]);
  },
});

function newContext(browser: Browser, colorScheme: 'light' | 'dark', width: number, height: number): Promise<BrowserContext> {
  return browser.newContext({ colorScheme, viewport: { width, height }, reducedMotion: 'reduce' });
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
