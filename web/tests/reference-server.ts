/** The foreign MCP server of the tests, as `cargo xtask counterparts install` puts it beside the binary. */

import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const BELOW = join(dirname(resolve(process.env.GUILDHALL_BIN ?? '../target/debug/guildhall')), '../counterparts/everything');
const PROGRAM = join(BELOW, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
/** Somebody else may be quicker at taking a port that is free. */
const TRIES = 5;

export class ReferenceMcpServer {
  readonly #process: ChildProcess;
  readonly url: string;

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  static async start(): Promise<ReferenceMcpServer> {
    if (!existsSync(PROGRAM)) throw new Error('The MCP server of the tests is not installed: `cargo xtask counterparts install`.');
    for (let tried = 0; tried < TRIES; tried += 1) {
      const port = await freePort();
      const child = spawn(process.execPath, [PROGRAM, 'streamableHttp'], { env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] });
      for await (const line of createInterface({ input: child.stderr })) {
        if (!line.includes(`port ${port}`)) continue;
        // It must never wait for somebody to read what else it says.
        child.stderr.resume();
        return new ReferenceMcpServer(child, port);
      }
    }
    throw new Error(`The MCP server of the tests found no port in ${TRIES} tries.`);
  }

  stop(): void {
    this.#process.kill();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
