/**
 * A tool server that asks for a sign-in, with the authorization server beside it, as another
 * program at an address of this computer. It gives access without asking anybody, and counts
 * only tokens it gave for a code whose PKCE verifier fits.
 */

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Authorized = { challenge: string; redirect: string };
type Message = { id?: number; method: string; params?: { name?: string; protocolVersion?: string; arguments?: { topic?: string } } };

export class OauthToolServer {
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));
  readonly #codes = new Map<string, Authorized>();
  readonly #tokens = new Set<string>();
  /** The redirect addresses that were registered. */
  readonly #redirects = new Set<string>();
  /** What came, method and path, oldest first. */
  readonly asked: string[] = [];
  origin = '';

  static async open(): Promise<OauthToolServer> {
    const place = new OauthToolServer();
    place.#server.listen(0, '127.0.0.1');
    await once(place.#server, 'listening');
    place.origin = `http://127.0.0.1:${(place.#server.address() as AddressInfo).port}`;
    return place;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** The tokens that count. */
  get tokens(): string[] {
    return [...this.#tokens];
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin);
    const body = await text(request);
    const what = `${request.method} ${url.pathname}`;
    this.asked.push(what);
    const json = (status: number, answer: unknown, headers: Record<string, string> = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(answer === null ? '' : JSON.stringify(answer));
    switch (what) {
      case 'GET /.well-known/oauth-protected-resource/mcp':
        return json(200, { resource: this.url, authorization_servers: [this.origin], scopes_supported: ['notes'] });
      case 'GET /.well-known/oauth-authorization-server':
        return json(200, this.#metadata());
      case 'POST /register': {
        const { redirect_uris } = JSON.parse(body) as { redirect_uris: string[] };
        for (const redirect of redirect_uris) this.#redirects.add(redirect);
        return json(201, { client_id: 'registered', redirect_uris, token_endpoint_auth_method: 'none' });
      }
      case 'GET /authorize': {
        const back = this.#authorize(url.searchParams);
        return back === null ? json(400, { error: 'invalid_request' }) : void response.writeHead(302, { location: back }).end();
      }
      case 'POST /token': {
        const token = this.#exchange(new URLSearchParams(body));
        return token === null ? json(400, { error: 'invalid_grant' }) : json(200, { access_token: token, token_type: 'Bearer', expires_in: 3600 });
      }
      case 'POST /revoke':
        this.#tokens.delete(new URLSearchParams(body).get('token') ?? '');
        return json(200, {});
      case 'POST /mcp': {
        if (!this.#tokens.has((request.headers.authorization ?? '').replace('Bearer ', ''))) {
          const at = `${this.origin}/.well-known/oauth-protected-resource/mcp`;
          return json(401, null, { 'www-authenticate': `Bearer resource_metadata="${at}"` });
        }
        const message = JSON.parse(body) as Message;
        return message.id === undefined ? json(202, null) : json(200, { jsonrpc: '2.0', id: message.id, ...answerTo(message) });
      }
      default:
        return json(404, null);
    }
  }

  #metadata(): object {
    const at = (path: string) => this.origin + path;
    return {
      issuer: this.origin,
      authorization_endpoint: at('/authorize'),
      token_endpoint: at('/token'),
      registration_endpoint: at('/register'),
      revocation_endpoint: at('/revoke'),
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  /** Where the browser is sent back to; null when the request is not one to answer. */
  #authorize(asked: URLSearchParams): string | null {
    const redirect = asked.get('redirect_uri') ?? '';
    const challenge = asked.get('code_challenge') ?? '';
    const fits = asked.get('response_type') === 'code' && asked.get('client_id') === 'registered' && asked.get('resource') === this.url;
    if (!fits || !this.#redirects.has(redirect) || asked.get('code_challenge_method') !== 'S256' || challenge === '') return null;
    const code = randomBytes(16).toString('base64url');
    this.#codes.set(code, { challenge, redirect });
    const back = new URL(redirect);
    back.search = new URLSearchParams({ code, state: asked.get('state') ?? '', iss: this.origin }).toString();
    return back.href;
  }

  #exchange(asked: URLSearchParams): string | null {
    const code = asked.get('code') ?? '';
    const authorized = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256').update(asked.get('code_verifier') ?? '').digest('base64url');
    if (authorized?.challenge !== challenge || authorized.redirect !== asked.get('redirect_uri')) return null;
    const token = `canary-${randomBytes(16).toString('base64url')}`;
    this.#tokens.add(token);
    return token;
  }
}

function answerTo({ method, params }: Message): object {
  if (method === 'initialize') {
    return { result: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } } };
  }
  const inputSchema = { type: 'object', properties: { topic: { type: 'string' } } };
  if (method === 'tools/list') return { result: { tools: [{ name: 'recall', description: 'Finds a note.', inputSchema, annotations: { readOnlyHint: true } }] } };
  if (method !== 'tools/call') return { error: { code: -32601, message: 'there is no such method' } };
  return { result: { content: [{ type: 'text', text: `The note about ${params?.arguments?.topic} says: water it on Mondays.` }] } };
}
