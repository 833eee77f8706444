// A real authorization server (oidc-provider, with its own pages for signing in) in front of a
// real tool server, which is asked only with a token that counts.
// Arguments: the program of oidc-provider, the program of server-everything.
// A token posted to `/forget` counts no more, and neither does what renews it.
// It is a cloud service too: it knows its client, takes heartbeats, and says at `/keys` how many keys
// of it count.
// Writes its origin in one line, and ends when its standard input does.
import { spawn } from 'node:child_process';
import http from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Nobody reads what the library says of itself.
console.info = console.warn = () => {};

const [providerProgram, toolsProgram] = process.argv.slice(2);
const toldPort = fileURLToPath(new URL('../../../../tests/tools/told-port.mjs', import.meta.url));
const tools = spawn(process.execPath, ['--import', toldPort, toolsProgram, 'streamableHttp'], {
  env: { ...process.env, PORT: '0' },
  stdio: ['ignore', 'ignore', 'pipe'],
});
const listens = new Promise((resolve, reject) => {
  let said = '';
  tools.stderr.on('data', (text) => {
    said += text;
    const [, port] = /^listens at (\d+)\n/m.exec(said) ?? [];
    if (port) resolve(Number(port));
  });
  tools.on('exit', () => reject(new Error(`the tool server does not start: ${said}`)));
});
// Both at once: each takes seconds where the machine is busy.
const [toolsPort, { default: Provider }] = await Promise.all([listens, import(pathToFileURL(providerProgram))]);

const server = http.createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const resource = `${origin}/mcp`;

const cloudClient = 'guildhall-instance';
const provider = new Provider(origin, {
  clients: [
    {
      client_id: cloudClient,
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      response_types: [],
      redirect_uris: [],
    },
  ],
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'tools', 'instance'],
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  ttl: { AccessToken: 90 },
  features: {
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, asked) => {
        if (asked !== resource) throw new Error('another resource');
        return { scope: 'tools', accessTokenFormat: 'opaque', accessTokenTTL: 90 };
      },
      useGrantedResource: () => true,
    },
  },
});
const answer = provider.callback();

const keys = new Set();
provider.on('access_token.saved', ({ jti, clientId }) => clientId === cloudClient && keys.add(jti));
provider.on('access_token.destroyed', ({ jti }) => keys.delete(jti));

async function tokenOf(request) {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  const known = token && (await provider.AccessToken.find(token));
  return known?.isValid ? known : undefined;
}

async function isAllowed(request) {
  return (await tokenOf(request))?.aud === resource;
}

function say(response, status, body) {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}

server.on('request', async (request, response) => {
  const { pathname } = new URL(request.url, origin);
  if (pathname === '/.well-known/oauth-protected-resource/mcp') {
    say(response, 200, { resource, authorization_servers: [origin], scopes_supported: ['tools', 'offline_access'] });
    return;
  }
  if (pathname === '/keys') {
    say(response, 200, keys.size);
    return;
  }
  if (pathname === '/v1/instances/heartbeat') {
    const known = await tokenOf(request);
    if (known?.clientId === cloudClient) say(response, 200, { instanceId: 'i', lastSeenAt: new Date(), accountLabel: known.accountId });
    else say(response, 401, {});
    return;
  }
  if (pathname === '/forget') {
    let token = '';
    for await (const piece of request) token += piece;
    const { grantId } = await provider.AccessToken.find(token);
    await provider.AccessToken.revokeByGrantId(grantId);
    response.end();
    return;
  }
  if (pathname !== '/mcp') {
    await answer(request, response);
    return;
  }
  if (!(await isAllowed(request))) {
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
    return;
  }
  const { authorization, ...headers } = request.headers;
  const asked = http.request(
    {
      host: '127.0.0.1',
      port: toolsPort,
      path: request.url,
      method: request.method,
      headers: { ...headers, host: `localhost:${toolsPort}` },
      // A kept connection may end over there just as it is used again, which nobody behind this could tell.
      agent: false,
    },
    (told) => {
      // What is said of that connection is not said of the one in front.
      const { connection, 'keep-alive': kept, ...passedOn } = told.headers;
      response.writeHead(told.statusCode, passedOn);
      told.pipe(response);
    },
  );
  asked.on('error', () => response.destroy());
  response.on('close', () => asked.destroy());
  request.pipe(asked);
});

process.stdin.resume().on('end', () => {
  tools.kill();
  process.exit();
});
console.log(origin);
