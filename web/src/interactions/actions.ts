/** Answering an ask. Whatever lets something happen names the digest of what was shown. */

import type { Answers, Resolution } from '../api/types';
import { work } from '../api/agent-work';
import { asApiError, type ApiError } from '../errors/error';
import { asks, type Ask } from './interactions.svelte';

/** What a person says to one ask. */
export type Say =
  | { deed: 'approve'; optionId?: string; always?: boolean }
  | { deed: 'deny'; reason?: string; tellAgent?: boolean }
  | { deed: 'answer'; answers: Answers }
  | { deed: 'decline' };

/** Null when it was taken; else why not, after the list was put right. */
export async function decide(ask: Ask, say: Say): Promise<ApiError | null> {
  try {
    await send(ask, say);
    return null;
  } catch (caught) {
    const refusal = asApiError(caught);
    await mend(ask, refusal);
    return refusal;
  }
}

function send({ sessionId, toolCallId, digest }: Ask, say: Say): Promise<unknown> {
  switch (say.deed) {
    case 'approve':
      return work.interactions.approve(sessionId, {
        toolCallId,
        digest,
        alwaysAllow: say.always ?? false,
        ...(say.optionId === undefined ? {} : { optionId: say.optionId }),
      });
    case 'deny':
      return work.interactions.deny(sessionId, {
        toolCallId,
        ...(say.reason ? { reason: say.reason, tellAgent: say.tellAgent ?? false } : {}),
      });
    case 'answer':
      return work.interactions.answer(sessionId, { toolCallId, digest, answers: say.answers });
    case 'decline':
      return work.interactions.answer(sessionId, { toolCallId, digest, answers: {}, decline: true });
  }
}

/** A refusal that says the card is behind brings it up to date. */
async function mend(ask: Ask, refusal: ApiError): Promise<void> {
  if (refusal.code === 'INTERACTION_ALREADY_RESOLVED') {
    const details = refusal.details as { resolution?: Resolution; resolvedAt?: string } | null;
    if (details?.resolution && asks.get(ask.id)?.state === 'pending') {
      asks.resolved({ id: ask.id, resolution: details.resolution, resolvedBy: null, at: details.resolvedAt ?? '', reply: null });
    }
    return;
  }
  if (['INTERACTION_CHANGED', 'NO_PENDING_APPROVAL', 'NO_PENDING_QUESTION', 'OPTION_NOT_OFFERED'].includes(refusal.code)) {
    await asks.load();
  }
}
