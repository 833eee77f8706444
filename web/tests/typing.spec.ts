/** People type sentences where they believe a text field to be. Nothing that waits may be decided by one. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Page } from '@playwright/test';
import type { Approval, PendingInteraction } from '../src/api/types';
import { call, openSession, send } from './session-actions';
import { expect, live, test, type TestServer } from './test-server';
import { askFor, program } from './tool-server-steps';

/** Another seed types other sentences at another pace; the one of a failure is printed with it. */
const SEED = Number(process.env.TYPING_SEED ?? 19);
/** Pages typed into side by side. */
const HANDS = 4;
/** A key takes a person this long. */
const PACE_MS = [60, 150] as const;

/** With these the page approved three calls once. */
const KNOWN = ['Can one of you have a look', 'In the main branch a change'];
/** Words that begin with letters that do something. */
const OTHERS = [
  'and add a date, not a dash',
  'do a dry run and again',
  'just keep a diary, a draft and a dump',
  'knead a dough a day',
  'go and ask Ada, a good deed',
  'yes, approve and deny are words',
  '1 and 2 and a and d are keys',
  'next a name, then a day and a deadline',
];

/** Small, seeded, and the same on every machine. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return seed / 4_294_967_296;
  };
}

async function type(page: Page, sentence: string, next: () => number): Promise<void> {
  for (const key of [...sentence, 'Enter']) {
    const pace = setTimeout(PACE_MS[0] + next() * (PACE_MS[1] - PACE_MS[0]));
    await page.keyboard.press(key);
    await pace;
  }
}

/** What waits for a person, of all kinds. */
async function waiting(server: TestServer): Promise<string[]> {
  const { interactions } = await server.get<{ interactions: PendingInteraction[] }>('/api/sessions/pending-interactions');
  const { approvals } = await server.get<{ approvals: Approval[] }>('/api/approvals');
  return [...new Set([...interactions, ...approvals].map(({ id }) => id))].toSorted();
}

/** Where what waits can be met, or sentences are written; and every other view. */
type Views = { near: string[]; far: string[] };

/** A call, a command, a question and a tool server wait. */
async function seed(server: TestServer): Promise<Views> {
  const scribe = await server.agent('Scribe');
  const team = await server.team();
  const session = await openSession(server, 'project');
  const asking = await openSession(server, 'asking');
  await send(server, session, 'Write', call('write_file', { path: 'asked.txt', content: 'yes' }));
  await send(server, await openSession(server, 'running'), 'Run', call('run_command', { command: ['touch', 'ran.txt'] }));
  const form = { type: 'object', properties: { sure: { type: 'boolean', title: 'Is it ready?' } } };
  await send(server, asking, 'Ask', `#ask ${JSON.stringify(form)}`);
  await askFor(server, scribe, 'notes', { transport: 'stdio', command: program(server) });
  const { entry } = await scribe.say(team.id, 'The build is green.');
  await scribe.say(team.id, 'All of it.', entry.id);
  await expect.poll(async () => (await waiting(server)).length, { message: 'all four wait' }).toBe(4);
  const [first] = (await server.get<{ interactions: PendingInteraction[] }>('/api/sessions/pending-interactions')).interactions;
  return {
    near: ['/', '/asks', `/asks/${first!.id}`, `/rooms/${team.id}`, `/rooms/${team.id}/t/${entry.id}`, `/sessions/${session.id}`, `/sessions/${asking.id}`],
    far: [
      ...['/sessions', '/rooms', '/threads', '/people', '/search', '/agents', `/agents/${scribe.agent.id}`, `/agents/${scribe.agent.id}/mcp`],
      ...['/files', '/browser', '/connections', '/usage', '/settings', '/settings/appearance', '/nowhere'],
    ],
  };
}

test('sentences typed into any view decide nothing', async ({ server, windows }) => {
  // Pace is the subject: some 50 sentences of 30 keys, by four hands.
  test.setTimeout(180_000);
  console.log(`typing with seed ${SEED}`);
  const next = random(SEED);
  const { near, far } = await seed(server);
  const before = await waiting(server);
  const other = () => OTHERS[Math.floor(next() * OTHERS.length)]!;
  const plans = [
    ...near.map((view) => ({ view, sentences: [...KNOWN, other()] })),
    ...far.map((view, index) => ({ view, sentences: [KNOWN[index % KNOWN.length]!, other()] })),
  ];

  const hand = async (own: number) => {
    const pace = random(SEED + own);
    const page = await windows.open('/');
    for (const { view, sentences } of plans.filter((_, index) => index % HANDS === own)) {
      for (const sentence of sentences) {
        await page.goto(server.url + view);
        await live(page);
        await type(page, sentence, pace);
        expect(await waiting(server), `“${sentence}” at ${view}, seed ${SEED}`).toEqual(before);
      }
    }
  };
  await Promise.all(Array.from({ length: HANDS }, (_, own) => hand(own)));

  expect(existsSync(join(server.folder('project'), 'asked.txt'))).toBe(false);
  expect(existsSync(join(server.folder('running'), 'ran.txt'))).toBe(false);
});

test('a room is clicked and a sentence typed: it stands in the message box', async ({ server, windows }) => {
  await seed(server);
  const before = await waiting(server);
  const page = await windows.open('/');
  await page.getByRole('navigation').first().getByRole('link', { name: 'Rooms' }).click();
  await page.getByRole('main').getByRole('link', { name: /team/i }).first().click();
  await expect(page.getByRole('textbox', { name: /^Write to/ })).toBeFocused();
  await page.keyboard.type(KNOWN[0]!);
  await expect(page.getByRole('textbox', { name: /^Write to/ })).toHaveValue(KNOWN[0]!);
  expect(await waiting(server)).toEqual(before);
});
