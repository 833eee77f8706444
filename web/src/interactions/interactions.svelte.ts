/**
 * Everything that waits for a person, in every session, and what became of it while this page was open;
 * of sessions one looks into also what was decided before.
 */

import { SvelteMap } from 'svelte/reactivity';
import type { Interaction, PendingInteraction, Reply, Resolution } from '../api/types';
import { work } from '../api/agent-work';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';

export type InteractionView = Interaction & {
  /** When this page heard of it, by `performance.now()`: the server's remaining time counts from there. */
  heardAt: number;
  /** True when what it shows is not what it showed first. */
  changed: boolean;
  /** True when it was over before this page heard of it. */
  past: boolean;
};

type Resolved = { id: string; resolution: Resolution; resolvedBy: string | null; at: string; reply: Reply | null };

/** Outcomes kept in sight. */
const OUTCOMES_MAX = 30;

class Interactions {
  loaded = $state(false);
  error = $state<unknown>(null);
  /** The one that came last, to be announced. */
  newest = $state.raw<InteractionView | null>(null);
  seq = 0;

  #byId = new SvelteMap<string, InteractionView>();

  /** Oldest first, so that a new one never takes the place of another. */
  pending = $derived([...this.#byId.values()].filter(isPending).sort(byAge));
  outcomes = $derived(
    [...this.#byId.values()]
      .filter((interaction) => !isPending(interaction) && !interaction.past)
      .sort((a, b) => ((a.resolvedAt ?? '') < (b.resolvedAt ?? '') ? 1 : -1))
      .slice(0, OUTCOMES_MAX),
  );
  #bySession = $derived.by(() => {
    const some = new Map<string, InteractionView[]>();
    for (const view of this.pending) some.set(view.sessionId, [...(some.get(view.sessionId) ?? []), view]);
    return some;
  });

  get(id: string): InteractionView | undefined {
    return this.#byId.get(id);
  }

  ofSession(sessionId: string): InteractionView[] {
    return this.#bySession.get(sessionId) ?? [];
  }

  /** With the outcomes, as they stand in the session. */
  allOfSession(sessionId: string): InteractionView[] {
    return [...this.#byId.values()].filter((interaction) => interaction.sessionId === sessionId).sort(byAge);
  }

  /** Reads what was decided in a session; what waits there is known already. */
  loadDecided = async (sessionId: string): Promise<void> => {
    for (let cursor: string | undefined; ; ) {
      const { body } = await work.interactions.page(sessionId, cursor);
      for (const interaction of body.interactions) {
        const known = this.#byId.get(interaction.id);
        if (!isPending(interaction) && (!known || isPending(known))) this.#put(interaction);
      }
      if (body.nextCursor === null) return;
      cursor = body.nextCursor;
    }
  };

  load = async (): Promise<void> => {
    try {
      await readAndApply(
        work.interactions.pending,
        ({ interactions }, seq) => this.#take(interactions, seq),
        this.applyEvent,
      );
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
  };

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.seq) return;
    switch (event.type) {
      case 'interaction_opened':
      case 'interaction_parked':
      case 'interaction_detached': {
        const known = this.#byId.has((event.data.interaction as Interaction).id);
        const view = this.#put(event.data.interaction as Interaction);
        if (!known && isPending(view)) this.newest = view;
        break;
      }
      case 'interaction_resolved': {
        const { id, resolution, resolvedBy, at, reply } = event.data as Resolved;
        this.resolved({ id, resolution, resolvedBy, at, reply });
        break;
      }
    }
  };

  /** Turns an ask into its outcome, as an event or a refusal tells it. */
  resolved({ id, resolution, resolvedBy, at, reply }: Resolved): void {
    const known = this.#byId.get(id);
    if (!known) return;
    const states = { approved: 'consumed', answered: 'consumed', denied: 'denied', expired: 'expired', cancelled: 'withdrawn' } as const;
    this.#byId.set(id, { ...known, state: states[resolution], resolution, resolvedBy, resolvedAt: at, reply });
  }

  #take(interactions: PendingInteraction[], seq: number): void {
    this.seq = seq;
    const listed = new Set(interactions.map(({ id }) => id));
    for (const [id, interaction] of this.#byId) if (isPending(interaction) && !listed.has(id)) this.#byId.delete(id);
    for (const interaction of interactions) this.#put(interaction);
  }

  #put(interaction: Interaction): InteractionView {
    const known = this.#byId.get(interaction.id);
    const changed = known !== undefined && (known.changed || known.digest !== interaction.digest);
    const past = known ? known.past : !isPending(interaction);
    const view = { ...interaction, heardAt: performance.now(), changed, past };
    this.#byId.set(view.id, view);
    return view;
  }
}

export const isPending = ({ state }: Pick<Interaction, 'state'>): boolean => state === 'pending';
const byAge = (a: Interaction, b: Interaction): number =>
  a.openedAt === b.openedAt ? (a.id < b.id ? -1 : 1) : a.openedAt < b.openedAt ? -1 : 1;

export const interactions = new Interactions();
