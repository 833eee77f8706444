import { expect, test } from 'vitest';
import { answerText, isOverdue, linkText, needsAttention, outcomeText, billingMessage, linkStatus, tileText } from './texts';

test('every state of the link has its words, and only the owner is told to type', () => {
  const states = ['idle', 'pending', 'linked', 'expired', 'denied', 'unlinked'] as const;
  expect(states.map((state) => linkStatus({ state }).words)).toEqual(['not linked', 'waits for you', 'linked', 'expired', 'denied', 'unlinked']);
  for (const state of states) expect(linkText({ state, pending: null }, true)).not.toBe('');
  const pending = { userCode: 'BCDF-GHJK', verificationUri: '', verificationUriComplete: '', expiresAt: '' };
  expect(linkText({ state: 'pending', pending }, true)).toContain('type this code');
  expect(linkText({ state: 'pending', pending: null }, false)).toBe('The owner is asked to type a code.');
});

test('who is not the owner is told whom a code waits for', () => {
  expect(linkStatus({ state: 'pending' }, false)).toEqual({ status: 'needs you', words: 'waits for the owner' });
  expect(linkStatus({ state: 'linked' }, false)).toEqual(linkStatus({ state: 'linked' }));
});

test('the owner has to see to a code that waits and to a link that was refused or taken away', () => {
  const states = ['idle', 'pending', 'linked', 'expired', 'denied', 'unlinked'] as const;
  expect(states.filter((state) => needsAttention({ state }))).toEqual(['pending', 'denied', 'unlinked']);
});

test('an answer of the service is overdue after the longest time between two and the time since it was read', () => {
  const lastHeartbeatAt = '2026-11-21T12:00:00.000Z';
  const after = (minutes: number, state: 'linked' | 'pending' = 'linked') => isOverdue({ state, lastHeartbeatAt }, Date.parse(lastHeartbeatAt) + minutes * 60_000);
  expect([after(0), after(23), after(24), after(24.1), after(24.1, 'pending')]).toEqual([false, false, false, true, false]);
  expect(isOverdue({ state: 'linked', lastHeartbeatAt: null }, Date.parse(lastHeartbeatAt))).toBe(false);
});

test('when the service last answered is said in words, and never as now', () => {
  const at = (ms: number) => answerText('2026-11-21T12:00:00.000Z', new Date(Date.parse('2026-11-21T12:00:00.000Z') + ms));
  expect([at(-5_000), at(59_999), at(60_000), at(7_200_000)]).toEqual(['less than a minute ago', 'less than a minute ago', '1 min ago', '2 h ago']);
});

test('a tile says of a code only that it waits', () => {
  expect(tileText({ state: 'pending' })).toBe('A code waits to be typed.');
  expect(tileText({ state: 'denied' })).toBe(linkText({ state: 'denied', pending: null }, true));
});

test('a try to link anew that failed leaves the link, and says so', () => {
  for (const outcome of ['denied', 'expired', 'failed'] as const) expect(outcomeText(outcome)).toContain('still stands');
  expect(outcomeText(null)).toBe('');
});

test('an address is shown with its host apart, also where the host tries to look like another', () => {
  expect(billingMessage({ ok: true, url: 'https://pay.example:8443/session/1?a=b#c' })).toEqual({
    kind: 'address',
    href: 'https://pay.example:8443/session/1?a=b#c',
    before: 'https://',
    host: 'pay.example:8443',
    after: '/session/1?a=b#c',
  });
  expect(billingMessage({ ok: true, url: 'https://pаy.example/' })).toMatchObject({ host: expect.stringMatching(/^xn--/) });
  expect(billingMessage({ ok: true, url: 'javascript:alert(1)' })).toMatchObject({ kind: 'no', action: null });
});

test('a problem is shown with its words and code, and a link only where it has an address', () => {
  const problem = { title: 'Not now', detail: 'Pay the last bill first.', code: 'CONFLICT', status: 409 };
  expect(billingMessage({ ok: false, problem })).toEqual({ kind: 'no', title: 'Not now', detail: 'Pay the last bill first.', code: 'CONFLICT', facts: [], action: null });
  expect(billingMessage({ ok: false, problem: { ...problem, actionUrl: 'https://cloud.example/pay', actionLabel: 'Pay it' } })).toMatchObject({
    action: { href: 'https://cloud.example/pay', label: 'Pay it' },
  });
  for (const actionUrl of ['javascript:alert(1)', 'data:text/html,x', 'http://pay.example/', 'https://a:b@pay.example/', `https://pay.example/${'x'.repeat(4_096)}`, 5]) {
    expect(billingMessage({ ok: false, problem: { ...problem, actionUrl } })).toMatchObject({ action: null });
  }
  expect(billingMessage({ ok: false, problem: { ...problem, actionUrl: 'http://127.0.0.1:9/pay' } })).toMatchObject({ action: { href: 'http://127.0.0.1:9/pay' } });
  expect(billingMessage({ ok: false, problem: { detail: 'Only this.' } })).toMatchObject({ title: 'Only this.', detail: '' });
});

test('a problem says which plan it needs and how long to wait, where it says so in figures', () => {
  const factsOf = (more: object) => {
    const shown = billingMessage({ ok: false, problem: { title: 'No', ...more } });
    return shown.kind === 'no' ? shown.facts : null;
  };
  expect(factsOf({ requiredPlanDisplayName: 'Team', retryAfterMs: 30_001 })).toEqual(['It needs the plan Team.', 'Try again in 31 s.']);
  expect(factsOf({ retryAfterMs: 600_000 })).toEqual(['Try again in 10 min.']);
  for (const retryAfterMs of ['soon', 0, -1, null, Number.NaN]) expect(factsOf({ retryAfterMs })).toEqual([]);
});

test('a message of the server stands alone', () => {
  expect(billingMessage({ ok: false, message: 'There is no plan yet.' })).toEqual({ kind: 'no', title: 'There is no plan yet.', detail: '', code: '', facts: [], action: null });
});
