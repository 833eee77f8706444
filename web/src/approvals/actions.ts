/** Deciding. A yes names the digest of what was shown. */

import { tools } from '../api/tool-servers';
import type { Approval } from '../api/types';
import { asApiError, type ApiError } from '../errors/error';
import { approvals, type ApprovalView } from './approvals.svelte';

export type ApprovalDecision = { action: 'approve' } | { action: 'deny'; reason?: string };

/** Refusals that say the card is behind. */
const BEHIND = ['APPROVAL_NOT_PENDING', 'APPROVAL_EXPIRED', 'APPROVAL_CHANGED', 'APPROVAL_NOT_FOUND'];

/** Null when it was taken; else why not, after the card was put right. */
export async function decide({ id, digest }: ApprovalView, verdict: ApprovalDecision): Promise<ApiError | null> {
  try {
    const { approval } = await (verdict.action === 'approve'
      ? tools.approvals.grant(id, digest)
      : tools.approvals.deny(id, verdict.reason));
    approvals.upsert(approval as Approval);
    return null;
  } catch (caught) {
    const refusal = asApiError(caught);
    if (BEHIND.includes(refusal.code)) await approvals.reload(id);
    return refusal;
  }
}
