/** The real companion service, and a stand-in for the payment service behind it. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { TestServer, test } from './test-server';

/** Built beside the server. */
const COMPANION = join(dirname(resolve(process.env.GUILDHALL_BIN ?? '../target/debug/guildhall')), 'guildhall-cloud');
export const EMAIL = 'ada@example.org';
export const PASSWORD = 'correct horse battery';

const product = { id: 'prod_1', active: true, name: 'Team', metadata: { guildhall: '1', planId: 'team', 'limit.agents': '5' } };
const recurring = { interval: 'month', interval_count: 1 };

/** What Stripe answers where all goes well: it costs money, so it is the one thing that is played. */
const paid: Record<string, unknown> = {
  'GET /v1/prices': { object: 'list', has_more: false, data: [{ id: 'price_month', active: true, currency: 'eur', unit_amount: 1_250, recurring, product }] },
  'POST /v1/customers': { id: 'cus_1', object: 'customer' },
  'POST /v1/checkout/sessions': { id: 'cs_1', object: 'checkout.session', url: 'https://checkout.stripe.com/c/pay/1' },
  'POST /v1/billing_portal/sessions': { id: 'bps_1', object: 'billing_portal.session', url: 'https://billing.stripe.com/p/1' },
};

/** On a folder and a port of its own. */
export class CompanionProcess {
  readonly #dir = mkdtempSync(join(tmpdir(), 'guildhall-cloud-'));
  #process: ChildProcess | null = null;
  #stripe: Server | null = null;
  url = '';

  async start(sells: boolean): Promise<void> {
    const words = ['serve', '--bind', '127.0.0.1:0', '--data-dir', this.#dir, ...(sells ? await this.#stripeWords() : [])];
    const child = spawn(COMPANION, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#process = child;
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    this.url = line.replace('listening on ', '');
  }

  async #stripeWords(): Promise<string[]> {
    const server = createServer((request, response) => {
      const answer = paid[`${request.method} ${(request.url ?? '').split('?')[0]}`];
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
    });
    this.#stripe = server;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const key = join(this.#dir, 'stripe-key');
    writeFileSync(key, 'sk_test_page', { mode: 0o600 });
    return ['--stripe-key-file', key, '--stripe-base', `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
  }

  /** Makes the account; answers the link where its password is chosen. */
  account(): string {
    const made = spawnSync(COMPANION, ['account', 'add', EMAIL, '--data-dir', this.#dir, '--public-url', this.url], { encoding: 'utf8' });
    const link = /http:\S+/.exec(made.stdout)?.[0];
    if (!link) throw new Error(`guildhall-cloud account add: ${made.stdout}${made.stderr}`);
    return link;
  }

  async close(): Promise<void> {
    const child = this.#process;
    if (child && child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    this.#stripe?.closeAllConnections();
    this.#stripe?.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** A house that knows a companion; both end with the test. `sells` puts offers there. */
export const cloudTest = test.extend<{ sells: boolean; companion: CompanionProcess }>({
  sells: [false, { option: true }],
  companion: async ({ sells }, use) => {
    const companion = new CompanionProcess();
    await companion.start(sells);
    await use(companion);
    await companion.close();
  },
  server: async ({ companion }, use) => {
    const server = new TestServer({ env: { GUILDHALL_CLOUD_URL: companion.url } });
    await server.start();
    await use(server);
    await server.close();
  },
});
