/** Everyone who can stand behind an entry: people, agents, the house itself. */

import { SvelteMap } from 'svelte/reactivity';
import { api } from '../api/client';
import type { Author, AuthorSummary } from '../api/types';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';

class Authors {
  meId = $state('');
  loaded = $state(false);
  error = $state<unknown>(null);
  seq = 0;

  #byId = new SvelteMap<string, Author>();
  #asked = new Set<string>();

  me = $derived(this.#byId.get(this.meId));
  all = $derived([...this.#byId.values()].sort((a, b) => a.displayName.localeCompare(b.displayName)));

  get(authorId: string | null): Author | undefined {
    return authorId === null ? undefined : this.#byId.get(authorId);
  }

  nameOf(authorId: string | null): string {
    return this.get(authorId)?.displayName ?? 'Someone';
  }

  load = async (): Promise<void> => {
    try {
      const me = await api.authors.me();
      await readAndApply(this.#readAll, (authors, seq) => this.#take(authors, seq), this.applyEvent);
      this.meId = me.body.id;
      this.know([me.body]);
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
      throw error;
    }
  };

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.seq || event.type !== 'author_updated') return;
    this.put(event.data.author as Author);
  };

  put(author: Author): void {
    this.#byId.set(author.id, author);
  }

  /** Takes in authors seen beside something else; what is known already is newer. */
  know(authors: AuthorSummary[]): void {
    for (const author of authors) {
      if (!this.#byId.has(author.id)) this.#byId.set(author.id, author);
    }
  }

  /** Reads an author that an event named and nobody has read yet. */
  async ensure(authorId: string): Promise<void> {
    if (this.#byId.has(authorId) || this.#asked.has(authorId)) return;
    this.#asked.add(authorId);
    try {
      this.know([(await api.authors.one(authorId)).body]);
    } catch {
      // Shown as "Someone" until the next event or reload names them.
      this.#asked.delete(authorId);
    }
  }

  #readAll = async () => {
    const authors: Author[] = [];
    let seq = Number.MAX_SAFE_INTEGER;
    let cursor: string | undefined;
    do {
      const page = await api.authors.page(cursor);
      authors.push(...page.body.authors);
      seq = Math.min(seq, page.seq);
      cursor = page.body.nextCursor ?? undefined;
    } while (cursor);
    return { body: authors, seq };
  };

  #take(authors: Author[], seq: number): void {
    this.seq = seq;
    const listed = new Set(authors.map(({ id }) => id));
    for (const authorId of this.#byId.keys()) if (!listed.has(authorId)) this.#byId.delete(authorId);
    for (const author of authors) this.#byId.set(author.id, author);
  }
}

export const authors = new Authors();
