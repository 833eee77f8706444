import { describe, expect, it } from 'vitest';
import { closedText } from './form-approval-texts';

describe('a card at the end of a form', () => {
  it('says nothing while it waits or the action follows', () => {
    expect([closedText('pending'), closedText('granted')]).toEqual(['', '']);
  });

  it('says what to do once it is over', () => {
    expect(closedText('denied')).toMatch(/Go back and change it/);
    for (const state of ['expired', 'withdrawn'] as const) expect(closedText(state)).toMatch(/Go back and ask again/);
    expect(closedText('consumed')).toMatch(/was done/);
  });
});
