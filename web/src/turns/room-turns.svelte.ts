/** The turn ledger of one room, newest first. */

import { SvelteMap } from 'svelte/reactivity';
import type { Turn, TurnBudget } from '../api/types';
import { work } from '../api/agent-work';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { isOpen } from './texts';

export class RoomTurns {
  readonly roomId: string;
  loaded = $state(false);
  error = $state<unknown>(null);
  budget = $state.raw<TurnBudget | null>(null);
  older = $state.raw<string | null>(null);
  /** Not stored: who was not meant, as the server worked it out when asked. */
  #unaddressed = $state.raw<Turn[]>([]);
  #byId = new SvelteMap<string, Turn>();
  #seq = 0;

  all = $derived([...this.#byId.values(), ...this.#unaddressed].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)));
  open = $derived([...this.#byId.values()].filter(isOpen).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)));

  constructor(roomId: string) {
    this.roomId = roomId;
  }

  load = async (): Promise<void> => {
    try {
      await readAndApply(
        () => work.turns.page(this.roomId),
        ({ turns, nextCursor, budget }, seq) => {
          this.#seq = seq;
          this.budget = budget;
          this.#byId.clear();
          this.older = nextCursor;
          this.#unaddressed = turns.filter(({ id }) => id === '');
          for (const turn of turns) if (turn.id !== '') this.#byId.set(turn.id, turn);
        },
        this.applyEvent,
      );
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
  };

  async loadOlder(): Promise<void> {
    if (this.older === null) return;
    const { body } = await work.turns.page(this.roomId, this.older);
    this.older = body.nextCursor;
    this.#unaddressed = [...this.#unaddressed, ...body.turns.filter(({ id }) => id === '')];
    for (const turn of body.turns) if (turn.id !== '' && !this.#byId.has(turn.id)) this.#byId.set(turn.id, turn);
  }

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.#seq || event.type !== 'turn_updated') return;
    const turn = event.data.turn as Turn;
    if (turn.roomId === this.roomId) this.put(turn);
  };

  put(turn: Turn): void {
    if (turn.id !== '') this.#byId.set(turn.id, turn);
  }
}
