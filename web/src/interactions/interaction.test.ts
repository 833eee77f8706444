import { expect, test } from 'vitest';
import type { Interaction, ToolKind } from '../api/types';
import { interactionBatches, commandOf, detachedText, headlineOf, outcomeText, otherInputFields, durationText, alwaysOptions, agentOutcomeText } from './interaction';

const asked = (more: Partial<Interaction> = {}): Interaction => ({
  id: 'i1',
  sessionId: 's1',
  toolCallId: 'c1',
  kind: 'tool_call',
  state: 'pending',
  title: 'Edit notes',
  toolName: 'edit_file',
  toolKind: 'edit',
  input: {},
  inputTruncated: false,
  content: [],
  locations: [],
  cwd: '/w',
  mode: 'default',
  options: [
    { optionId: 'y', name: 'Allow', kind: 'allow_once' },
    { optionId: 'yy', name: 'Always allow edits', kind: 'allow_always' },
    { optionId: 'n', name: 'Reject', kind: 'reject_once' },
  ],
  questions: [],
  digest: 'd1',
  opaque: false,
  openedAt: '2026-11-21T12:00:00Z',
  parksAt: '2026-11-21T12:10:00Z',
  expiresAt: '2026-11-21T16:00:00Z',
  remainingMs: 14_400_000,
  parked: false,
  detached: false,
  resolution: null,
  resolvedBy: null,
  resolvedAt: null,
  reply: null,
  ...more,
});

test('the headline is ours and names each file once', () => {
  const diff = (path: string, oldText: string | null = 'a') => ({ type: 'diff' as const, path, oldText, newText: 'b' });
  expect(headlineOf(asked({ content: [diff('a.md'), diff('a.md')] }))).toEqual({ action: 'wants to change', objects: ['a.md'] });
  expect(headlineOf(asked({ content: [diff('a.md', null)] }))).toEqual({ action: 'wants to make', objects: ['a.md'] });
  expect(headlineOf(asked({ toolKind: 'delete', locations: [{ path: 'x', line: null }] })).objects).toEqual(['x']);
  expect(headlineOf(asked({ toolKind: 'execute', locations: [{ path: 'x', line: null }] })).objects).toEqual([]);
  expect(headlineOf(asked({ kind: 'question' })).action).toBe('asks you');
});

test('a command shows one argument a line, and a line for a shell stays whole', () => {
  const run = (input: unknown) => commandOf(asked({ toolKind: 'execute', input }));
  expect(run({ command: ['rm', '-rf', 'a b'] })).toEqual({ args: ['rm', '-rf', 'a b'], line: false });
  expect(run({ command: 'git', args: ['push', '--force'] })).toEqual({ args: ['git', 'push', '--force'], line: false });
  expect(run({ command: 'echo a && rm b' })).toEqual({ args: ['echo a && rm b'], line: true });
  expect(run({ nothing: 1 })).toBeNull();
  expect(commandOf(asked({ input: { command: 'x' } }))).toBeNull();
  expect(otherInputFields(asked({ input: { command: 'x', timeout: 5 } }))).toEqual({ timeout: 5 });
});

test('nothing that cannot be taken back gets a standing permission', () => {
  expect(alwaysOptions(asked()).map(({ optionId }) => optionId)).toEqual(['yy']);
  expect(alwaysOptions(asked({ toolKind: 'delete' }))).toEqual([]);
});

test('only the same tool with the same reach in one session is answered at once', () => {
  const edits = [asked({ id: '1' }), asked({ id: '2' })];
  const others = [
    asked({ id: '3', sessionId: 's2' }),
    asked({ id: '4', toolName: 'write_file' }),
    asked({ id: '5', toolKind: 'read' }),
    asked({ id: '6', opaque: true }),
    asked({ id: '7', inputTruncated: true }),
    asked({ id: '8', state: 'denied' }),
    asked({ id: '9', options: [] }),
  ];
  expect(interactionBatches([...edits, ...others]).map(({ interactions }) => interactions.map(({ id }) => id))).toEqual([['1', '2']]);
  for (const toolKind of ['delete', 'move', 'execute', 'switch_mode', 'other'] as ToolKind[]) {
    expect(interactionBatches([asked({ id: '1', toolKind }), asked({ id: '2', toolKind })])).toEqual([]);
  }
});

test('a span is said shortly', () => {
  expect([-1, 59_999, 60_000, 3_599_000, 3_600_000, 3_900_000].map(durationText)).toEqual(['0 s', '59 s', '1 min', '59 min', '1 h', '1 h 5 min']);
});

test('what the agent hears is said as it is, also where it is gone', () => {
  const here = asked();
  const gone = asked({ detached: true });
  expect(agentOutcomeText('denied', here)).toBe('The agent was told no.');
  expect(agentOutcomeText('denied', gone)).toBe('The agent that asked was gone; nothing was done.');
  expect(agentOutcomeText('answered', gone)).toContain('started again');
  expect(agentOutcomeText('approved', { ...gone, opaque: true })).toContain('ask once more');
  expect(agentOutcomeText('cancelled', gone)).toBe('Nothing was done.');
  expect(detachedText(asked({ kind: 'question' }))).toContain('Answers start it again');
});

test('a standing permission and a question that was left are told as what they are', () => {
  const option = { optionId: 'yy', name: 'Always allow edits', kind: 'allow_always' as const };
  const always = asked({ reply: { option, denyReason: null, answers: null } });
  expect(outcomeText('approved', asked())).toBe('Approved');
  expect(outcomeText('approved', always)).toBe('Always allowed');
  expect(agentOutcomeText('approved', always)).not.toContain('once');
  expect(outcomeText('denied', asked({ kind: 'question' }))).toBe('Not answered');
});
