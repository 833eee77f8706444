/** actions on an agent's tool servers that show their card as the last step of a form. */

import { SvelteSet } from 'svelte/reactivity';
import type { GatedResult } from '../api/gated-requests';
import { tools } from '../api/tool-servers';
import type { McpServer } from '../api/types';
import { approvals, isPendingApproval } from '../approvals/approvals.svelte';
import { asApiError, type ApiError } from '../errors/error';
import { session } from '../accounts/session.svelte';
import { applyResult } from './actions';

type GatedAction = () => Promise<GatedResult<McpServer[]>>;

/** Cards that stand in a form and nowhere else on its view. */
export const approvalsInForms = new SvelteSet<string>();

export class FormApproval {
  busy = $state(false);
  error = $state.raw<ApiError | null>(null);
  /** True where what was approved is not what would be done any more, so that it is asked anew. */
  moved = $state(false);

  #id = $state('');
  #shown = '';
  #action: GatedAction | null = null;
  #agentId: string;
  #ondone: () => void;

  /** The card; undefined while nothing is asked. */
  card = $derived(this.#id === '' ? undefined : approvals.get(this.#id));

  constructor(agentId: string, ondone: () => void) {
    this.#agentId = agentId;
    this.#ondone = ondone;
  }

  /** Does it, or shows the card without which it is not done. */
  request = (action: GatedAction): Promise<void> => {
    this.#action = action;
    this.moved = false;
    return this.go();
  };

  /** Does what was asked for: its card is approved, here or elsewhere. */
  go = async (): Promise<void> => {
    if (this.busy || !this.#action) return;
    this.busy = true;
    this.error = null;
    try {
      let answer = await this.#action();
      if (answer.approvalId !== null && session.isOwner) {
        this.moved = this.#id !== '' && this.#id !== answer.approvalId;
        await this.#show(answer.approvalId);
        // It was approved before, and not used: the answer brought what it is repeated with.
        if (this.card?.state === 'granted') answer = await this.#action();
      }
      if (answer.approvalId !== null && session.isOwner) return;
      applyResult(this.#agentId, answer);
      this.#hide();
      this.#ondone();
    } catch (caught) {
      this.error = asApiError(caught);
    } finally {
      this.busy = false;
    }
  };

  /** Takes the question back: it is no refusal, so that it may be asked again at once. */
  back = (): void => {
    // Not the state itself: where a view ends, that reads as it was before.
    const shown = approvals.get(this.#shown);
    this.#hide();
    this.error = null;
    if (shown && isPendingApproval(shown)) void withdraw(shown.id);
  };

  async #show(id: string): Promise<void> {
    await approvals.reload(id);
    this.#hide();
    approvalsInForms.add(id);
    this.#id = this.#shown = id;
  }

  #hide(): void {
    approvalsInForms.delete(this.#shown);
    this.#id = this.#shown = '';
  }
}

/** One that somebody decided meanwhile stays decided; one that could not be taken back is shown among the others. */
async function withdraw(id: string): Promise<void> {
  await tools.approvals.withdraw(id).catch(() => {});
  await approvals.reload(id);
}
