/** The services that can be connected, as they are searched for. */

import type { HallEvent } from '../events/frames';
import { connectorsApi } from './connectors-api';
import type { CatalogPage, CatalogService } from './types';

class Catalog {
  /** What the list below belongs to. */
  query = $state('');
  /** Null until it was read. */
  list = $state.raw<CatalogService[] | null>(null);
  warnings = $state.raw<string[]>([]);
  next = $state<string | null>(null);
  busy = $state(false);
  error = $state<unknown>(null);

  #asked = 0;

  /** Looks anew; an answer that comes after a later question is dropped. */
  find = (query: string): Promise<void> => this.#read(query, null);

  more = async (): Promise<void> => {
    if (this.next && !this.busy) await this.#read(this.query, this.next);
  };

  again = (): Promise<void> => this.find(this.query);

  applyEvent = ({ type }: HallEvent): void => {
    if (this.list && type === 'connector_provider_changed') void this.again();
  };

  reload = (): void => {
    if (this.list) void this.again();
  };

  async #read(query: string, cursor: string | null): Promise<void> {
    const asked = ++this.#asked;
    this.busy = true;
    try {
      const { body } = await connectorsApi.catalog(query, cursor);
      if (asked === this.#asked) this.#take(query, body, cursor !== null);
    } catch (error) {
      if (asked === this.#asked) this.error = error;
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  }

  #take(query: string, page: CatalogPage, further: boolean): void {
    this.query = query;
    this.list = further ? [...(this.list ?? []), ...page.services] : page.services;
    this.warnings = page.warnings;
    this.next = page.nextCursor;
    this.error = null;
  }
}

export const catalog = new Catalog();
