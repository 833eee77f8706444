import { expect, test, vi } from 'vitest';
import type { Approval, ApprovalState } from '../api/types';
import type { HallEvent } from '../events/frames';

vi.stubGlobal('location', { origin: 'http://127.0.0.1:1' });
const { approvals } = await import('./approvals.svelte');

const approval = (id: string, state: ApprovalState): Approval =>
  ({ id, state, digest: 'd', kind: 'capability', requestedAt: '2026-01-01T00:00:00.000Z', expiresAt: '2026-01-01T00:30:00.000Z' }) as Approval;
const event = (seq: number, type: string, data: Record<string, unknown>): HallEvent =>
  ({ seq, scope: 'hall', type, at: '2026-01-01T00:00:01.000Z', actorId: null, data });

test('an answer that comes after the event of what followed it takes nothing back', () => {
  approvals.applyEvent(event(1, 'approval_requested', { approval: approval('w', 'pending') }));
  approvals.applyEvent(event(2, 'approval_decided', { approvalId: 'w', state: 'granted', decidedBy: null, decidedAt: null, denyReason: null }));
  approvals.applyEvent(event(3, 'approval_consumed', { approvalId: 'w', at: '2026-01-01T00:00:02.000Z' }));
  // What the decision itself answered.
  approvals.upsert(approval('w', 'granted'));
  expect(approvals.get('w')).toMatchObject({ state: 'consumed', consumedAt: '2026-01-01T00:00:02.000Z' });
});

test('an event that comes after a newer look takes nothing back', () => {
  approvals.upsert(approval('x', 'consumed'));
  approvals.applyEvent(event(4, 'approval_decided', { approvalId: 'x', state: 'granted', decidedBy: null, decidedAt: null, denyReason: null }));
  expect(approvals.get('x')?.state).toBe('consumed');
});
