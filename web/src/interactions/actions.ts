/** Answering an ask. Whatever lets something happen names the digest of what was shown. */

import type { FormAnswers, Resolution } from '../api/types';
import { work } from '../api/agent-work';
import { asApiError, type ApiError } from '../errors/error';
import { interactions, type InteractionView } from './interactions.svelte';

/** What a person says to one ask. */
export type InteractionDecision =
  | { action: 'approve'; optionId?: string; always?: boolean }
  | { action: 'deny'; reason?: string; tellAgent?: boolean }
  | { action: 'answer'; answers: FormAnswers }
  | { action: 'decline' };

/** Null when it was taken; else why not, after the list was put right. */
export async function decide(interaction: InteractionView, say: InteractionDecision): Promise<ApiError | null> {
  try {
    await send(interaction, say);
    return null;
  } catch (caught) {
    const refusal = asApiError(caught);
    await refresh(interaction, refusal);
    return refusal;
  }
}

function send({ sessionId, toolCallId, digest }: InteractionView, say: InteractionDecision): Promise<unknown> {
  switch (say.action) {
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
async function refresh(interaction: InteractionView, refusal: ApiError): Promise<void> {
  if (refusal.code === 'INTERACTION_ALREADY_RESOLVED') {
    const details = refusal.details as { resolution?: Resolution; resolvedAt?: string } | null;
    if (details?.resolution && interactions.get(interaction.id)?.state === 'pending') {
      interactions.resolved({ id: interaction.id, resolution: details.resolution, resolvedBy: null, at: details.resolvedAt ?? '', reply: null });
    }
    return;
  }
  if (['INTERACTION_CHANGED', 'NO_PENDING_APPROVAL', 'NO_PENDING_QUESTION', 'OPTION_NOT_OFFERED'].includes(refusal.code)) {
    await interactions.load();
  }
}
