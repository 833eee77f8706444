import { expect, test } from 'vitest';
import { ApprovalTokens } from './gated-requests';
import type { ApprovalRequired } from './types';

const wanted = (approvalToken: string) => ({ status: 'approval_required', approvalToken, approvalId: `of ${approvalToken}` }) as ApprovalRequired;

test('what the owner allowed is done when the same is asked again, and nothing else is', async () => {
  const gate = new ApprovalTokens();
  const shown: (string | undefined)[] = [];
  const request = (what: unknown[], answer: string[] | ApprovalRequired) =>
    gate.request(what, (headers) => {
      expect(headers.prefer).toBe('wait=0');
      shown.push(headers['x-service-approval']);
      return Promise.resolve(answer);
    });
  expect(await request(['add', { name: 'a' }], wanted('gap_1'))).toEqual({ done: null, approvalId: 'of gap_1' });
  expect(await request(['add', { name: 'b' }], wanted('gap_2'))).toEqual({ done: null, approvalId: 'of gap_2' });
  expect(await request(['add', { name: 'a' }], ['a'])).toEqual({ done: ['a'], approvalId: null });
  // It was used up.
  expect(await request(['add', { name: 'a' }], ['a'])).toEqual({ done: ['a'], approvalId: null });
  expect(await request(['add', { name: 'b' }], wanted('gap_2'))).toEqual({ done: null, approvalId: 'of gap_2' });
  expect(await request(['add', { name: 'b' }], ['b'])).toEqual({ done: ['b'], approvalId: null });
  expect(shown).toEqual([undefined, undefined, 'gap_1', undefined, 'gap_2', 'gap_2']);
});
