/** Dev servers as people have them: pages of their own, server-sent events, a WebSocket that echoes, Python's own. */

import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export type DevServer = { port: number; url: string; close: () => Promise<void> };

/** One that answers as `answer` says, and echoes what comes over a WebSocket. */
export async function devServer(answer: RequestListener): Promise<DevServer> {
  const server: Server = createServer(answer);
  server.on('upgrade', ({ headers }, socket) => echo(socket as Socket, headers['sec-websocket-key'] ?? ''));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { port, url: `http://127.0.0.1:${port}`, close };
}

/** Says every text back that comes in one frame of up to 64 KiB (RFC 6455 §5.2), and ends when the browser does. */
function echo(socket: Socket, key: string): void {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  let bytes = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('end', () => socket.end());
  socket.on('data', (part) => {
    bytes = Buffer.concat([bytes, part]);
    for (let frame = whole(bytes); frame; frame = whole(bytes)) {
      bytes = bytes.subarray(frame.end);
      if (frame.opcode === 8) socket.end();
      else socket.write(Buffer.concat([frame.head, frame.payload]));
    }
  });
}

/** The first frame that is there to its end, its payload unmasked, with the head of the one that says it back. */
function whole(bytes: Buffer): { opcode: number; head: Buffer; payload: Buffer; end: number } | null {
  const short = (bytes[1] ?? 0) & 0x7f;
  const masks = short === 126 ? 4 : 2;
  if (bytes.length < masks + 4) return null;
  const length = short === 126 ? bytes.readUInt16BE(2) : short;
  const end = masks + 4 + length;
  if (bytes.length < end) return null;
  const mask = bytes.subarray(masks, masks + 4);
  const payload = Buffer.from(bytes.subarray(masks + 4, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
  const head = Buffer.from(bytes.subarray(0, masks));
  head[1] = short;
  return { opcode: (bytes[0] ?? 0) & 0x0f, head, payload, end };
}

/** `python3 -m http.server` in a folder. */
export async function python(folder: string): Promise<DevServer> {
  const child: ChildProcess = spawn('python3', ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1', '--directory', folder], { stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  // `Serving HTTP on 127.0.0.1 port 41235 (http://127.0.0.1:41235/) ...`
  for await (const part of child.stdout!) {
    said += String(part);
    if (said.includes('\n')) break;
  }
  const port = Number(/ port (\d+) /.exec(said)?.[1]);
  const close = async () => {
    child.kill();
    await once(child, 'exit');
  };
  return { port, url: `http://127.0.0.1:${port}`, close };
}
