import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FileEditing as Editing } from './file-editing.svelte';

/** What the server is asked, and what it answers: the network is what stands outside of this page. */
type Asked = { method: string; path: string; body: Record<string, unknown> };
type Answer = { status: number; body: unknown } | 'unreachable';

const asked: Asked[] = [];
let answers: Answer[] = [];
const held = new Map<string, string>();

vi.stubGlobal('location', { origin: 'http://127.0.0.1:1' });
vi.stubGlobal('localStorage', {
  getItem: (key: string) => held.get(key) ?? null,
  setItem: (key: string, value: string) => void held.set(key, value),
  removeItem: (key: string) => void held.delete(key),
});
vi.stubGlobal('fetch', async (request: Request) => {
  const text = await request.text();
  asked.push({ method: request.method, path: new URL(request.url).pathname, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) });
  const answer = answers.shift();
  if (answer === undefined) throw new Error(`nobody expected ${request.method} ${request.url}`);
  if (answer === 'unreachable') throw new TypeError('no network');
  return new Response(JSON.stringify(answer.body), { status: answer.status, headers: { 'content-type': 'application/json' } });
});

const hash = (letter: string) => letter.repeat(64);
const file = (content: string, letter: string): Answer => ({
  status: 200,
  body: { path: '/home/a.txt', content, hash: hash(letter), hashAlgorithm: 'sha256', encoding: 'utf-8', identity: `id-${letter}`, size: content.length, mtime: '2026-01-01T00:00:00Z', writable: true },
});
const saved = (letter: string): Answer => ({ status: 200, body: { ok: true, hash: hash(letter), effect: 'changed', identity: `id-${letter}` } });
const conflict = (content: string | null, letter: string): Answer => ({
  status: 409,
  body: { error: 'changed', code: 'CONFLICT', requestId: 'r', details: { currentIdentity: `id-${letter}` }, currentHash: hash(letter), currentContent: content },
});
const refused = (status: number, code: string): Answer => ({ status, body: { error: 'no', code, requestId: 'r', details: null } });

async function open(...first: Answer[]): Promise<Editing> {
  const { FileEditing } = await import('./file-editing.svelte');
  answers = first;
  const editing = new FileEditing('/home', 'a.txt');
  await editing.load();
  return editing;
}
/** Whoever looks is the owner, or another person. */
async function look(kind: 'owner' | 'human'): Promise<void> {
  const { session } = await import('../accounts/session.svelte');
  session.who = { mode: 'login', caller: { kind, authorId: 'me' }, registrationOpen: false } as never;
}
const place = { kind: 'room', id: 'r' } as const;
const bound = { id: 'd', incarnation: { v: 1, documentId: 'd', physicalOpenedAt: 'x', channelCreatedAt: 'y', generation: hash('9') } } as never;

async function openBound(...first: Answer[]): Promise<Editing> {
  const { FileEditing } = await import('./file-editing.svelte');
  answers = first;
  const editing = new FileEditing('/home', 'a.txt', { place, document: () => bound, put: () => {} });
  await editing.load();
  return editing;
}
const write = (editing: Editing, text: string) => editing.touch(() => text);

beforeEach(() => {
  asked.length = 0;
  answers = [];
  held.clear();
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

test('a save names what was opened, and goes on from what it made', async () => {
  const editing = await open(file('old', 'a'), saved('b'), saved('c'));
  write(editing, 'new');
  await editing.save();
  expect(asked[1]).toEqual({
    method: 'PUT',
    path: '/api/files/content',
    body: { cwd: '/home', path: 'a.txt', content: 'new', expectedHash: hash('a'), expectedIdentity: 'id-a' },
  });
  expect([editing.dirty, held.size]).toEqual([false, 0]);
  write(editing, 'newer');
  await editing.save();
  expect(asked[2]?.body).toMatchObject({ expectedHash: hash('b'), expectedIdentity: 'id-b' });
});

test('a draft is kept with its baseline and goes on after a reload', async () => {
  const first = await open(file('old', 'a'));
  write(first, 'mine');
  first.stop();
  const again = await open(file('old', 'a'));
  expect([again.text, again.dirty, again.theirs]).toEqual(['mine', true, null]);
});

test('a draft of another baseline is a conflict at once, before anything is saved', async () => {
  const first = await open(file('old', 'a'));
  write(first, 'mine');
  first.stop();
  const again = await open(file('theirs', 'b'));
  expect(again.theirs).toEqual({ content: 'theirs', hash: hash('b'), identity: 'id-b' });
  expect([again.text, again.base?.content]).toEqual(['mine', 'old']);
});

test('the text of a file that is gone is not lost with it', async () => {
  const first = await open(file('old', 'a'));
  write(first, 'mine');
  first.stop();
  const again = await open(refused(404, 'NOT_FOUND'));
  expect([again.error?.code, again.orphan]).toEqual(['NOT_FOUND', 'mine']);
  again.forgetOrphan();
  expect([again.orphan, held.size]).toEqual([null, 0]);
});

test('mine goes over the text that was shown and no other: a third change is caught again', async () => {
  const editing = await open(file('old', 'a'), conflict('theirs', 'b'), conflict('third', 'c'), saved('d'));
  write(editing, 'mine');
  await editing.save();
  expect(editing.theirs).toEqual({ content: 'theirs', hash: hash('b'), identity: 'id-b' });
  await editing.save();
  expect(asked).toHaveLength(2);
  await editing.saveMine();
  expect(asked[2]?.body).toMatchObject({ content: 'mine', expectedHash: hash('b'), expectedIdentity: 'id-b' });
  expect(editing.theirs?.hash).toBe(hash('c'));
  await editing.saveMine();
  expect([editing.theirs, editing.dirty]).toEqual([null, false]);
});

test('theirs is taken and mine set aside, also over a reload, until it is brought back', async () => {
  const editing = await open(file('old', 'a'), conflict('theirs', 'b'));
  write(editing, 'mine');
  await editing.save();
  editing.takeTheirs();
  expect([editing.text, editing.dirty, editing.setAside]).toEqual(['theirs', false, 'mine']);
  editing.stop();
  const again = await open(file('theirs', 'b'));
  expect(again.setAside).toBe('mine');
  again.bringBack();
  expect([again.text, again.dirty, again.setAside]).toEqual(['mine', true, null]);
});

test('a merge holds both changes and is saved against theirs', async () => {
  const editing = await open(file('a\nb\nc\n', 'a'), conflict('A\nb\nc\n', 'b'), saved('c'));
  write(editing, 'a\nb\nC\n');
  await editing.save();
  editing.merge();
  expect([editing.text, editing.undecided]).toEqual(['A\nb\nC\n', 0]);
  await editing.save();
  expect(asked[2]?.body).toMatchObject({ content: 'A\nb\nC\n', expectedHash: hash('b') });
});

test('what is no text any more can only be replaced by mine', async () => {
  const editing = await open(file('old', 'a'), conflict(null, 'b'), saved('c'));
  write(editing, 'mine');
  await editing.save();
  editing.takeTheirs();
  editing.merge();
  expect([editing.text, editing.theirs?.content]).toEqual(['mine', null]);
  await editing.saveMine();
  expect(asked[2]?.body).toMatchObject({ expectedHash: hash('b') });
});

test('a replaced file is reloaded with the text kept beside it', async () => {
  const editing = await open(file('old', 'a'), refused(412, 'FILE_IDENTITY_CHANGED'), file('other', 'b'));
  write(editing, 'mine');
  await editing.save();
  expect(editing.replaced).toBe(true);
  await editing.reload();
  expect([editing.replaced, editing.text, editing.setAside]).toEqual([false, 'other', 'mine']);
});

test('without a network the save is tried again by itself, against the same baseline', async () => {
  const editing = await open(file('old', 'a'), 'unreachable', 'unreachable', conflict('theirs', 'b'));
  write(editing, 'mine');
  await editing.save();
  expect([editing.queued, held.size]).toEqual([true, 1]);
  await vi.runAllTimersAsync();
  expect(asked.slice(1).map(({ body }) => body.expectedHash)).toEqual([hash('a'), hash('a'), hash('a')]);
  // It met a change, so it stopped: a person decides.
  expect([editing.queued, editing.theirs?.content]).toEqual([false, 'theirs']);
});

test('any other refusal is said, and the text stays', async () => {
  const editing = await open(file('old', 'a'), refused(507, 'STORAGE_FULL'));
  write(editing, 'mine');
  await editing.save();
  expect([editing.refusal?.code, editing.text, editing.dirty, held.size]).toEqual(['STORAGE_FULL', 'mine', true, 1]);
});

test('what is written while a save is on its way is not taken for saved', async () => {
  const editing = await open(file('old', 'a'), saved('b'));
  write(editing, 'new');
  const saving = editing.save();
  write(editing, 'newer');
  await saving;
  expect([editing.text, editing.dirty, editing.base?.content]).toEqual(['newer', true, 'new']);
});

test('a change by somebody else is told and moves nothing by itself', async () => {
  const editing = await open(file('old', 'a'), file('theirs', 'b'));
  await editing.look();
  expect([editing.text, editing.news?.content]).toEqual(['old', 'theirs']);
  editing.takeNews();
  expect([editing.text, editing.dirty, editing.news]).toEqual(['theirs', false, null]);
});

test('a document of a canvas is saved as that document, and a repeated save is the same one', async () => {
  await look('owner');
  const editing = await openBound(file('old', 'a'), 'unreachable', saved('b'), saved('c'));
  write(editing, 'new');
  await editing.save();
  await vi.runAllTimersAsync();
  write(editing, 'newer');
  await editing.save();
  const saves = asked.slice(1).map(({ body }) => body.documentSave as { eventId: string; expectedFileHash: string; incarnation: unknown });
  expect(saves.map(({ expectedFileHash }) => expectedFileHash)).toEqual([hash('a'), hash('a'), hash('b')]);
  expect(saves[0]?.incarnation).toMatchObject({ generation: hash('9') });
  expect(saves[0]?.eventId).toBe(saves[1]?.eventId);
  expect(saves[2]?.eventId).not.toBe(saves[0]?.eventId);
});

test('the same text over the same state is another save once the first is done', async () => {
  await look('owner');
  const editing = await openBound(file('old', 'a'), saved('b'), file('old', 'a'), saved('b'));
  write(editing, 'new');
  await editing.save();
  await editing.look();
  editing.takeNews();
  write(editing, 'new');
  await editing.save();
  const ids = asked.filter(({ method }) => method === 'PUT').map(({ body }) => (body.documentSave as { eventId: string }).eventId);
  expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
});

test('who is not the owner saves and reads a document of a canvas by its path alone', async () => {
  await look('human');
  const editing = await openBound(file('old', 'a'), refused(412, 'FILE_IDENTITY_CHANGED'), file('theirs', 'b'), saved('c'));
  write(editing, 'mine');
  await editing.save();
  expect(editing.replaced).toBe(true);
  await editing.reload();
  expect([editing.text, editing.setAside]).toEqual(['theirs', 'mine']);
  editing.bringBack();
  await editing.save();
  expect(editing.dirty).toBe(false);
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /api/files/content',
    'PUT /api/files/content',
    'GET /api/files/content',
    'PUT /api/files/content',
  ]);
  expect(asked.some(({ body }) => 'documentSave' in body)).toBe(false);
});

test('the owner binds a replaced document anew where it stands', async () => {
  await look('owner');
  const now = { document: {}, content: 'theirs', hash: hash('b'), identity: 'id-b', incarnation: {} };
  const editing = await openBound(file('old', 'a'), refused(412, 'FILE_IDENTITY_CHANGED'), { status: 200, body: now });
  write(editing, 'mine');
  await editing.save();
  await editing.reload();
  expect(asked[2]?.path).toBe('/api/rooms/r/canvas/d/reload');
  expect([editing.text, editing.setAside]).toEqual(['theirs', 'mine']);
});

test('a box is set in the file itself, and what others wrote beside it is there too', async () => {
  const editing = await open(file('- [ ] a\r\nb', 'a'), saved('b'), file('- [x] a\r\nc', 'c'));
  await editing.tick(1, true);
  expect(asked[1]).toEqual({ method: 'POST', path: '/api/files/checkbox', body: { cwd: '/home', path: 'a.txt', line: 1, expectedLine: '- [ ] a', checked: true } });
  expect([editing.text, editing.dirty, editing.base?.hash]).toEqual(['- [x] a\r\nc', false, hash('c')]);
});

test('a box of a line that changed is not set, and the change is told', async () => {
  const editing = await open(file('- [ ] a', 'a'), conflict('- [ ] other', 'b'), file('- [ ] other', 'b'));
  await editing.tick(1, true);
  expect([editing.text, editing.theirs, editing.news?.content]).toEqual(['- [ ] a', null, '- [ ] other']);
});

test('a box in a text that is not saved yet is set in that text alone', async () => {
  const editing = await open(file('- [ ] a', 'a'));
  write(editing, '- [ ] a\n- [ ] b');
  await editing.tick(2, true);
  expect([editing.text, editing.dirty, asked.length]).toEqual(['- [ ] a\n- [x] b', true, 1]);
});

test('a box of a document of a canvas is set by saving that document', async () => {
  await look('owner');
  const editing = await openBound(file('- [ ] a', 'a'), saved('b'));
  await editing.tick(1, true);
  expect(asked[1]?.body).toMatchObject({ content: '- [x] a', documentSave: { documentId: 'd', expectedFileHash: hash('a') } });
  expect(editing.dirty).toBe(false);
});

test('the path without links is what a file is known by to those who tell of saves', async () => {
  const editing = await open({ status: 200, body: { ...(file('old', 'a') as { body: object }).body, path: '/real/a.txt' } });
  expect([editing.whole, editing.real]).toEqual(['/home/a.txt', '/real/a.txt']);
});

test('a window drops no draft of another one', async () => {
  const first = await open(file('old', 'a'));
  write(first, 'mine');
  first.flush();
  const second = await open(file('old', 'a'), saved('b'));
  expect(second.text).toBe('mine');
  write(first, 'mine and more');
  first.flush();
  await second.save();
  const third = await open(file('mine', 'b'));
  expect([third.text, third.theirs?.content]).toEqual(['mine and more', 'mine']);
});

test('what was typed last is set aside with the rest when theirs is taken', async () => {
  const editing = await open(file('old', 'a'), conflict('theirs', 'b'));
  write(editing, 'mine');
  await editing.save();
  write(editing, 'mine and more');
  editing.takeTheirs();
  expect([editing.text, editing.setAside]).toEqual(['theirs', 'mine and more']);
});
