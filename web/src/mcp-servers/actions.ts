/** What became of an action on an agent's tool servers. */

import type { GatedResult } from '../api/gated-requests';
import type { McpServer } from '../api/types';
import { toasts } from '../ui/toasts.svelte';
import { servers } from './servers.svelte';

/** Takes in the list that an action answered, or says that the owner has to allow it first. */
export function applyResult(agentId: string, { done }: GatedResult<McpServer[]>): void {
  if (done) servers.put(agentId, done);
  else toasts.say('The owner is asked first. It is done when they allow it and you do it again.');
}
