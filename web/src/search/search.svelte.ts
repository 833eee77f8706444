/** One search: its words, what was found so far, and how it goes on. */

import { api } from '../api/client';
import type { Hit } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { isSearchable } from './match-spans';

/** A person pauses this long before what they typed is searched for. */
export const PAUSE_MS = 200;

export class Search {
  /** What the results below belong to. */
  query = $state('');
  results = $state.raw<Hit[]>([]);
  next = $state<string | null>(null);
  busy = $state(false);
  error = $state<unknown>(null);

  #limit: number;
  #asked = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Looks for `query` anew; an answer that comes after a later question is dropped. */
  async find(query: string): Promise<void> {
    const asked = ++this.#asked;
    if (!isSearchable(query)) {
      this.#take(query, [], null);
      this.busy = false;
      return;
    }
    this.busy = true;
    try {
      const { body } = await api.search({ q: query, limit: this.#limit });
      if (asked === this.#asked) this.#take(query, body.results, body.nextCursor);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#take(query, [], null);
      this.error = error;
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  }

  more = async (): Promise<void> => {
    if (!this.next || this.busy) return;
    const asked = this.#asked;
    this.busy = true;
    try {
      const { body } = await api.search({ q: this.query, limit: this.#limit, cursor: this.next });
      if (asked === this.#asked) this.#take(this.query, [...this.results, ...body.results], body.nextCursor);
    } catch (error) {
      if (asked === this.#asked) this.error = error;
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  };

  #take(query: string, results: Hit[], next: string | null): void {
    this.query = query;
    this.results = results;
    this.next = next;
    this.error = null;
    for (const { authorId } of results) void authors.ensure(authorId);
  }
}
