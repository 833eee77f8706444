import { expect, test } from 'vitest';
import { differencesOf, isGrantedElsewhere, approvalOutcome, otherCardFields, serverCardOf, serviceCardOf, approvalSentence } from './approval';

test('an approval is told in our words with the requester’s name of it; an unknown action in the server’s', () => {
  const card = { name: 'files' };
  expect(approvalSentence({ kind: 'capability', capability: 'mcp.add', title: 'Add', card })).toEqual({ action: 'wants to add the tool server', object: 'files' });
  expect(approvalSentence({ kind: 'access', capability: 'moon.fly', title: 'Fly to the moon', card: {} })).toEqual({ action: 'asks: Fly to the moon', object: '' });
});

test('an approval for a service names it, and is answered by granting operations', () => {
  const approval = { kind: 'access' as const, capability: 'connectors.access', title: 'Use a service', card: { toolkit: 'mail', displayName: 'Mail' } };
  expect(approvalSentence(approval)).toEqual({ action: 'wants to use the service', object: 'Mail' });
  expect([isGrantedElsewhere(approval), isGrantedElsewhere({ kind: 'capability' })]).toEqual([true, false]);
  expect(approvalOutcome({ kind: 'access', state: 'granted', decidedAt: null }).told).toContain('granted');
  const run = { kind: 'capability' as const, capability: 'connectors.execute', title: 'Run', card: { title: 'Delete a note' } };
  expect(approvalSentence(run)).toEqual({ action: 'wants to run the operation', object: 'Delete a note' });
});

test('a card of a service shows each fact once, with the ids that tell two of a name apart, and exactly what is run', () => {
  const card = {
    agentId: 'a', agentName: 'Ada', connectionId: 'c1', connectionLabel: 'Mine', accountLabel: 'ada@mail', toolkit: 'mail',
    operationRevisionId: 'r1', operation: 'clear', title: 'Clear', classification: 'destructive', arguments: { all: true }, argumentsCut: false, more: 1,
  };
  const approval = { capability: 'connectors.execute', card };
  expect(serviceCardOf(approval)).toEqual({
    facts: [
      { name: 'Service', text: 'mail', id: '' },
      { name: 'Account', text: 'Mine, ada@mail', id: 'c1' },
      { name: 'Operation', text: 'clear', id: 'r1' },
      { name: 'Class', text: 'destructive', id: '' },
    ],
    args: { all: true },
    argsCut: false,
  });
  expect(otherCardFields(approval)).toEqual({ more: 1 });
  expect(serviceCardOf({ capability: 'mcp.add', card })).toBe(null);
});

test('a card of a tool server is read whole, and one of something else is none', () => {
  const card = { transport: 'stdio', command: 'npx', args: ['-y', 'x'], cwd: '/p', env: [{ name: 'PATH', value: '/bin', loadsCode: true }], url: null };
  expect(serverCardOf(card)).toEqual({
    transport: 'stdio',
    command: ['npx', '-y', 'x'],
    cwd: '/p',
    resolvedPath: null,
    executableSha256: null,
    scriptPath: null,
    scriptSha256: null,
    env: [{ name: 'PATH', value: '/bin', loadsCode: true }],
    url: '',
    headerNames: [],
  });
  expect(serverCardOf({ operation: 'send' })).toBe(null);
});

test('two sides show what differs only, and what is long in lines', () => {
  const before = { path: '/a', sha: '1', tools: [{ name: 'x' }], gone: 'g' };
  const after = { path: '/a', sha: '2', tools: [{ name: 'y' }] };
  expect(differencesOf({ before, after })).toEqual([
    { name: 'sha', before: '1', after: '2', lines: false },
    { name: 'tools', before: JSON.stringify(before.tools, null, 2), after: JSON.stringify(after.tools, null, 2), lines: true },
    { name: 'gone', before: 'g', after: null, lines: false },
  ]);
  expect(differencesOf({ after })).toBe(null);
});

test('nothing of a card stays unseen', () => {
  expect(otherCardFields({ capability: 'mcp.add', card: { name: 'a', url: null, amount: 5, none: null } })).toEqual({ amount: 5 });
  expect(otherCardFields({ capability: 'mcp.add', card: { name: 'a', command: 'b' } })).toBe(null);
});

test('an outcome tells a yes that was not used from silence', () => {
  expect(approvalOutcome({ kind: 'capability', state: 'expired', decidedAt: null }).word).toBe('Refused: nobody answered in time');
  expect(approvalOutcome({ kind: 'capability', state: 'expired', decidedAt: 'x' }).word).toBe('Approved, but not used in time');
});
