import { expect, test } from 'vitest';
import { Gate } from './gated';
import type { ApprovalRequired } from './types';

const wanted = (approvalToken: string) => ({ status: 'approval_required', approvalToken }) as ApprovalRequired;

test('what the owner allowed is done when the same is asked again, and nothing else is', async () => {
  const gate = new Gate();
  const shown: (string | undefined)[] = [];
  const ask = (what: unknown[], answer: string[] | ApprovalRequired) =>
    gate.ask(what, (headers) => {
      expect(headers.prefer).toBe('wait=0');
      shown.push(headers['x-service-approval']);
      return Promise.resolve(answer);
    });
  expect(await ask(['add', { name: 'a' }], wanted('gap_1'))).toBeNull();
  expect(await ask(['add', { name: 'b' }], wanted('gap_2'))).toBeNull();
  expect(await ask(['add', { name: 'a' }], ['a'])).toEqual(['a']);
  // It was used up.
  expect(await ask(['add', { name: 'a' }], ['a'])).toEqual(['a']);
  expect(await ask(['add', { name: 'b' }], wanted('gap_2'))).toBeNull();
  expect(await ask(['add', { name: 'b' }], ['b'])).toEqual(['b']);
  expect(shown).toEqual([undefined, undefined, 'gap_1', undefined, 'gap_2', 'gap_2']);
});
