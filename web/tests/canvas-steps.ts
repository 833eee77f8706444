/** What the tests of the canvas put on it, and how they speak of it as a person or an agent. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import type { CanvasDocument } from '../src/api/types';
import type { AgentClient, TestServer } from './test-server';

export type Shown = Record<string, unknown> & { type: string };

/** Opens a document, as the owner or as an agent. */
export function open(server: TestServer, roomId: string, content: Shown, as?: AgentClient): Promise<CanvasDocument> {
  return server.post(`/api/rooms/${roomId}/canvas`, { content }, as ? { 'x-service-agent': as.token } : {});
}

/** What an agent gets for an ask about one document: the status, and the body as it came. */
export async function ask(server: TestServer, as: AgentClient, method: string, document: CanvasDocument, body: unknown, more = ''): Promise<{ status: number; code?: string }> {
  const response = await fetch(`${server.url}/api/rooms/${document.roomId}/canvas/${document.id}${more}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-service-agent': as.token },
    body: JSON.stringify(body),
  });
  return { status: response.status, ...((await response.json()) as { code?: string }) };
}

export const one = (server: TestServer, { roomId, id }: CanvasDocument): Promise<CanvasDocument> => server.get(`/api/rooms/${roomId}/canvas/${id}`);

export const canvas = (page: Page) => page.getByRole('complementary', { name: 'Canvas' });
export const shown = (page: Page) => page.getByRole('tabpanel');
export const tab = (page: Page, name: string | RegExp) => page.getByRole('tab', { name });
export const tabs = (page: Page) => page.getByRole('tab').evaluateAll((all) => all.map((one) => one.getAttribute('title')));

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 144]>>endobj
trailer<</Root 1 0 R>>
%%EOF`;

/** A silent tenth of a second: 8 kHz, one channel, 8 bits. */
function wav(): Buffer {
  const samples = Buffer.alloc(800, 128);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** One triangle with a picture on it, its bytes inside. */
function gltf(): Buffer {
  const bytes = Buffer.from(new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1]).buffer);
  const model = {
    asset: { version: '2.0' },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0, TEXCOORD_0: 1 }, material: 0 }] }],
    materials: [{ doubleSided: true, pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }],
    textures: [{ source: 0 }],
    images: [{ uri: data('image/png', Buffer.from(PNG, 'base64')) }],
    accessors: [
      { bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 0] },
      { bufferView: 1, componentType: 5126, count: 3, type: 'VEC2' },
    ],
    bufferViews: [
      { buffer: 0, byteOffset: 0, byteLength: 36 },
      { buffer: 0, byteOffset: 36, byteLength: 24 },
    ],
    buffers: [{ byteLength: 60, uri: data('application/octet-stream', bytes) }],
  };
  return Buffer.from(JSON.stringify(model));
}

function data(mime: string, bytes: Buffer): string {
  return `data:${mime};base64,${bytes.toString('base64')}`;
}

export const MARKDOWN = `# The arch

It has to stand **before Friday**. See [the notes](https://example.org/notes) and \`cargo test\`.

#### A level left out

- [x] west wall
- [ ] keystone

| who | stones |
|---|--:|
| Ada | 12 |

\`\`\`rust
fn main() {}
\`\`\`

![far away](https://example.org/a.png) ![near](${data('image/png', Buffer.from(PNG, 'base64'))})

<img src="https://example.org/leak.png" onerror="alert(1)"> and [a trap](javascript:alert(1))
`;

/** One document of each kind; `elsewhere` is another server, `as` the agent in whose folder the files lie. */
export function everyKind(server: TestServer, as: AgentClient, elsewhere: string, rows = 1_200): Shown[] {
  const folder = server.folder(as.agent.name);
  const file = (name: string) => {
    writeFileSync(join(folder, name), 'text\n');
    return join(folder, name);
  };
  const stones = Array.from({ length: rows }, (_, at) => `stone ${at},"a, ""b"""`).join('\n');
  return [
    { type: 'markdown', title: 'Plan', content: MARKDOWN },
    { type: 'url', title: 'Site', url: `${elsewhere}/page` },
    { type: 'browser', title: 'Shared page', url: 'localhost:5173/app' },
    { type: 'json', title: 'Numbers', data: { name: 'arch', list: [1, { deep: true }], none: null } },
    { type: 'widget', title: 'Clock', definition: { kind: 'clock' } },
    { type: 'image', title: 'Dot', src: data('image/png', Buffer.from(PNG, 'base64')), alt: 'a dot' },
    { type: 'image', title: 'Far dot', src: 'https://pictures.example/dot.png' },
    { type: 'pdf', title: 'Paper', src: data('application/pdf', Buffer.from(PDF)) },
    { type: 'csv', title: 'Stones', src: `data:text/csv,${encodeURIComponent(`name,note\n${stones}`)}` },
    { type: 'audio', title: 'Bell', src: data('audio/wav', wav()) },
    { type: 'video', title: 'Film', src: data('video/mp4', Buffer.from('no film')) },
    { type: 'model3d', title: 'Keystone', src: data('model/gltf+json', gltf()) },
    { type: 'file', title: 'main.rs', sourcePath: file('main.rs'), language: 'rust', readOnly: true },
    { type: 'diff', title: 'lib.rs', sourcePath: file('lib.rs') },
    { type: 'mcp_app', title: 'Board', serverName: 'boards', uri: 'ui://board/1' },
  ];
}
