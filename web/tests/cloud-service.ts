/** Another cloud service than the companion: it says what a story needs, at once, and counts what it heard. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { TestServer, test } from './test-server';

/** What it says of the code: nobody typed it, a key, or an error of OAuth. */
export type CodeState = 'waiting' | 'key' | 'access_denied' | 'invalid_scope';
/** What it says of the key: it takes it, takes it no more, or is out of order. */
export type KeyState = 'taken' | 'gone' | 'broken';
type Said = { status: number; type?: string; body: unknown };

export const ACCOUNT = 'ada@example.org';
export const OFFERS = {
  offers: [{ skuId: 'team-month', planId: 'team', displayName: 'Team', interval: 'month', amountMicro: '12500000', limits: { agents: 5 } }],
  denomination: { currency: 'EUR', microPerCredit: '10000' },
};

export class CloudServiceStub {
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));
  readonly #held: (() => void)[] = [];
  /** What came, method and path, oldest first. */
  readonly asked: string[] = [];
  url = '';
  word: CodeState = 'waiting';
  heart: KeyState = 'taken';
  /** True where answers about the code wait until they are let go. */
  holds = false;
  /** Seconds a code counts. */
  expiresIn = 1_800;
  /** Where its codes are typed; a page of its own unless it is said. */
  activate = '';
  offers: Said = { status: 200, body: OFFERS };
  /** What each billing page answers; its own page of the same name where nothing is said. */
  pages: Partial<Record<'portal' | 'checkout' | 'topup', Said>> = {};

  static async open(): Promise<CloudServiceStub> {
    const service = new CloudServiceStub();
    service.#server.listen(0, '127.0.0.1');
    await once(service.#server, 'listening');
    service.url = `http://127.0.0.1:${(service.#server.address() as AddressInfo).port}`;
    return service;
  }

  /** How often this was asked: method and path. */
  count(what: string): number {
    return this.asked.filter((one) => one === what).length;
  }

  /** Lets all go that was held, and holds no more. */
  letGo(): void {
    this.holds = false;
    for (const go of this.#held.splice(0)) go();
  }

  close(): void {
    this.letGo();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.url);
    await text(request);
    const what = `${request.method} ${pathname}`;
    this.asked.push(what);
    const say = ({ status, type = 'application/json', body }: Said): void => void response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
    const page = /^POST \/v1\/(portal|checkout|topup)$/.exec(what)?.[1] as 'portal' | 'checkout' | 'topup' | undefined;
    if (page) return say(this.pages[page] ?? { status: 200, body: { url: `${this.url}/pay/${page}` } });
    switch (what) {
      case 'GET /.well-known/oauth-authorization-server':
        return say({ status: 200, body: this.#metadata() });
      case 'POST /oauth/device':
        return say({ status: 200, body: this.#code() });
      case 'POST /oauth/token':
        if (this.holds) await new Promise<void>((go) => this.#held.push(go));
        return say(this.#token());
      case 'POST /oauth/revoke':
        return say({ status: 200, body: {} });
      case 'POST /v1/instances/heartbeat':
        return say(this.#heartbeat());
      case 'GET /v1/offers':
        return say(this.offers);
      case 'GET /pay/portal':
      case 'GET /pay/topup':
        return say({ status: 200, type: 'text/html', body: '<title>A page of the service</title>' });
      default:
        return say({ status: 404, body: {} });
    }
  }

  #metadata(): object {
    return {
      issuer: this.url,
      device_authorization_endpoint: `${this.url}/oauth/device`,
      token_endpoint: `${this.url}/oauth/token`,
      revocation_endpoint: `${this.url}/oauth/revoke`,
      grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
    };
  }

  /** Each code is another one. */
  #code(): object {
    const letter = 'BCDFGHJKLM'[this.count('POST /oauth/device') % 10]!;
    const user_code = `${letter.repeat(4)}-WXZB`;
    const verification_uri = this.activate || `${this.url}/activate`;
    return {
      device_code: `canary-device-${letter}`,
      user_code,
      verification_uri,
      verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
      expires_in: this.expiresIn,
      interval: 1,
    };
  }

  #token(): Said {
    if (this.word === 'key') return { status: 200, body: { access_token: `ghc_canary_${this.asked.length}`, token_type: 'Bearer', scope: 'instance' } };
    return { status: 400, body: { error: this.word === 'waiting' ? 'authorization_pending' : this.word } };
  }

  #heartbeat(): Said {
    if (this.heart === 'gone') return { status: 401, body: {} };
    if (this.heart === 'broken') return { status: 500, body: {} };
    return { status: 200, body: { instanceId: 'one', lastSeenAt: new Date().toISOString(), accountLabel: ACCOUNT } };
  }
}

/** A house that knows such a service; both end with the test. */
export const serviceTest = test.extend<{ service: CloudServiceStub }>({
  service: async ({}, use) => {
    const service = await CloudServiceStub.open();
    await use(service);
    service.close();
  },
  server: async ({ service, start }, use) => {
    const server = new TestServer({ ...start, env: { ...start.env, GUILDHALL_CLOUD_URL: service.url } });
    await server.start();
    await use(server);
    await server.close();
  },
});

/** Linked before any page looks. */
export async function linked(server: TestServer, service: CloudServiceStub): Promise<void> {
  service.word = 'key';
  await server.post('/api/cloud/link/start', {});
  const { expect } = test;
  await expect.poll(() => server.get<{ state: string }>('/api/cloud/link/status')).toMatchObject({ state: 'linked' });
  await expect.poll(() => service.count('POST /v1/instances/heartbeat')).toBeGreaterThan(0);
  service.word = 'waiting';
}
