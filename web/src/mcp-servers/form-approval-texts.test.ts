import { describe, expect, it } from 'vitest';
import { nextAfter } from './form-approval-texts';

describe('a card at the end of a form', () => {
  it('says nothing while it waits or the deed follows', () => {
    expect([nextAfter('pending'), nextAfter('granted')]).toEqual(['', '']);
  });

  it('says what to do once it is over', () => {
    expect(nextAfter('denied')).toMatch(/Go back and change it/);
    for (const state of ['expired', 'withdrawn'] as const) expect(nextAfter(state)).toMatch(/Go back and ask again/);
    expect(nextAfter('consumed')).toMatch(/was done/);
  });
});
