import { expect, test } from 'vitest';
import { ApprovalTokens } from './gated-requests';
import type { ApprovalRequired } from './types';

const wanted = (approvalToken: string) => ({ status: 'approval_required', approvalToken, approvalId: `of ${approvalToken}` }) as ApprovalRequired;

test('what the owner allowed is done when the same is asked again, and nothing else is', async () => {
  const gate = new ApprovalTokens();
  const shown: (string | undefined)[] = [];
  const ask = (what: unknown[], answer: string[] | ApprovalRequired) =>
    gate.ask(what, (headers) => {
      expect(headers.prefer).toBe('wait=0');
      shown.push(headers['x-service-approval']);
      return Promise.resolve(answer);
    });
  expect(await ask(['add', { name: 'a' }], wanted('gap_1'))).toEqual({ done: null, asked: 'of gap_1' });
  expect(await ask(['add', { name: 'b' }], wanted('gap_2'))).toEqual({ done: null, asked: 'of gap_2' });
  expect(await ask(['add', { name: 'a' }], ['a'])).toEqual({ done: ['a'], asked: null });
  // It was used up.
  expect(await ask(['add', { name: 'a' }], ['a'])).toEqual({ done: ['a'], asked: null });
  expect(await ask(['add', { name: 'b' }], wanted('gap_2'))).toEqual({ done: null, asked: 'of gap_2' });
  expect(await ask(['add', { name: 'b' }], ['b'])).toEqual({ done: ['b'], asked: null });
  expect(shown).toEqual([undefined, undefined, 'gap_1', undefined, 'gap_2', 'gap_2']);
});
