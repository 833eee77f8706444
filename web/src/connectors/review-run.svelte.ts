/** One review from its opening to its end: the list, the choice, and what became of it. */

import { ApiError } from '../errors/error';
import { connectorsApi } from './connectors-api';
import { connections } from './connections.svelte';
import { carriedOver, choiceOf, differences, outdatedCount, selectionOf, withSelection, type Choice } from './review-choice';
import type { Review } from './types';

/** What has to be said above the list. */
export type ReviewNotice = { kind: 'changed' | 'expired'; lost: number };

export class ReviewRun {
  review = $state.raw<Review | null>(null);
  choice = $state.raw<Choice>(new Map());
  notice = $state.raw<ReviewNotice | null>(null);
  busy = $state(false);
  error = $state<unknown>(null);
  /** True where its time is over and nothing can be applied any more. */
  over = $state(false);

  readonly #connectionId: string;
  #granted: Choice = new Map();

  changes = $derived(this.review ? differences(this.#granted, this.choice) : 0);
  outdated = $derived(this.review ? outdatedCount(this.review) : 0);

  constructor(connectionId: string) {
    this.#connectionId = connectionId;
  }

  /** Opens one, or opens it anew; what was chosen before is kept where it is still the same. */
  open = async (why: ReviewNotice['kind'] | null = null): Promise<void> => {
    if (this.busy) return;
    this.busy = true;
    this.error = null;
    try {
      await this.#open(why);
    } catch (error) {
      this.error = error;
    } finally {
      this.busy = false;
    }
  };

  give = (who: string, ids: readonly string[], on: boolean): void => {
    this.choice = withSelection(this.choice, who, ids, on);
  };

  expire = (): void => {
    this.over = true;
  };

  /** True when it is applied. Where the list changed meanwhile it is opened anew, and nothing was applied. */
  apply = async (): Promise<boolean> => {
    if (this.busy || !this.review) return false;
    this.busy = true;
    this.error = null;
    try {
      await connectorsApi.reviews.apply(this.review.reviewId, selectionOf(this.choice));
      void connections.load();
      return true;
    } catch (error) {
      await this.#refused(error);
      return false;
    } finally {
      this.busy = false;
    }
  };

  async #open(why: ReviewNotice['kind'] | null): Promise<void> {
    const next = await connectorsApi.reviews.open(this.#connectionId);
    const before = this.review;
    const { choice, lost } = before ? carriedOver(this.choice, next) : { choice: choiceOf(next), lost: 0 };
    this.#granted = choiceOf(next);
    this.review = next;
    this.choice = choice;
    this.over = false;
    this.notice = why ? { kind: why, lost } : null;
  }

  async #refused(error: unknown): Promise<void> {
    const code = error instanceof ApiError ? error.code : '';
    this.error = error;
    if (code !== 'REVIEW_STALE' && code !== 'REVIEW_EXPIRED') return;
    try {
      await this.#open(code === 'REVIEW_STALE' ? 'changed' : 'expired');
      this.error = null;
    } catch (again) {
      this.error = again;
    }
  }
}
