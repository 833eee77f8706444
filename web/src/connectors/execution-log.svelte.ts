/** What was run with the connections, newest first, page by page. */

import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { connectorsApi } from './connectors-api';
import { executionsOf, mergeAttempts } from './executions';
import type { ExecutionAttempt } from './types';

export type UsageFilter = { agentId: string; connectionId: string };

class Usage {
  /** `""` for all. */
  filter = $state<UsageFilter>({ agentId: '', connectionId: '' });
  /** Null until they were read. */
  attempts = $state.raw<ExecutionAttempt[] | null>(null);
  next = $state<string | null>(null);
  busy = $state(false);
  error = $state<unknown>(null);

  executions = $derived(executionsOf(this.attempts ?? []));

  #asked = 0;

  /** The newest page; an answer that comes after a later question is dropped. */
  load = coalesced(() => this.#read(null));

  more = async (): Promise<void> => {
    if (this.next && !this.busy) await this.#read(this.next);
  };

  choose = (filter: UsageFilter): void => {
    this.filter = filter;
    this.attempts = null;
    void this.load();
  };

  applyEvent = ({ type }: HallEvent): void => {
    if (this.attempts && (type === 'connector_execution_started' || type === 'connector_execution_finished')) void this.load();
  };

  reload = (): void => {
    if (this.attempts) void this.load();
  };

  async #read(cursor: string | null): Promise<void> {
    const asked = ++this.#asked;
    const { agentId, connectionId } = this.filter;
    this.busy = true;
    try {
      const query = { ...(agentId && { agentId }), ...(connectionId && { connectionId }), ...(cursor && { cursor }) };
      const { body } = await connectorsApi.usage(query);
      if (asked !== this.#asked) return;
      const known = this.attempts ?? [];
      const whole = cursor ? [...known, ...body.attempts] : mergeAttempts(body.attempts, known);
      // What further pages brought stays, and so does where they ended.
      if (cursor || !whole || known.length === 0) this.next = body.nextCursor;
      this.attempts = whole ?? body.attempts;
      this.error = null;
    } catch (error) {
      if (asked === this.#asked) this.error = error;
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  }
}

export const usage = new Usage();
