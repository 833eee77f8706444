/** One person's editing of one document: the lock while it lasts, the draft, and what happens when somebody was quicker. */

import { api } from '../api/client';
import type { CanvasDocument } from '../api/types';
import { asApiError, type ApiError } from '../errors/error';
import type { Canvas } from './canvas.svelte';
import { textOf, withText, type Content } from './content';
import { merge } from './text-diff';

/** The lock lasts 45 s; a page that lives tells so this often. Source: contract 2.5. */
const RENEW_MS = 15_000;
/** After a failed network a save is tried again this often. */
const RETRY_MS = 3_000;
/** A save that met no change of the text, only of a pin or a place, is sent again so often. */
const SAVE_TRIES = 3;

export class DocumentEditing {
  readonly id: string;
  text = $state('');
  /** What the text was made from; a save holds only while the document still is at this revision. */
  base = $state.raw<{ content: Content; rev: number }>({ content: { type: '' }, rev: 0 });
  /** Who holds the lock instead of us; `""` when we do, or nobody answered yet. */
  holder = $state('');
  /** The document as it is now, when it changed after it was opened. */
  theirs = $state.raw<CanvasDocument | null>(null);
  /** The text that gave way to theirs: it can be brought back. */
  setAside = $state<string | null>(null);
  /** Places a merge could not decide. */
  undecided = $state(0);
  saving = $state(false);
  /** The server was out of reach: the save is tried again by itself, against the same revision. */
  queued = $state(false);
  saved = $state(false);
  error = $state.raw<ApiError | null>(null);
  /** Why the text is no JSON, in the browser's words; `""` when it is. */
  problem = $state('');

  dirty = $derived(this.text !== textOf(this.base.content));

  #canvas: Canvas;
  #title: string;
  #renewal: ReturnType<typeof setInterval> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  /** Goes on from the draft, if there is one. */
  constructor(canvas: Canvas, document: CanvasDocument) {
    this.#canvas = canvas;
    this.id = document.id;
    this.#title = document.title;
    const draft = canvas.drafts[document.id];
    this.base = draft ? { content: draft.base, rev: draft.rev } : { content: document.content, rev: document.rev };
    this.text = draft?.text ?? textOf(document.content);
    if (draft && textOf(document.content) !== textOf(draft.base)) this.theirs = document;
    else this.base = { content: document.content, rev: document.rev };
  }

  /** Asks for the lock and keeps it. */
  async start(): Promise<void> {
    clearInterval(this.#renewal);
    this.#renewal = setInterval(() => void this.#lock(), RENEW_MS);
    await this.#lock();
  }

  /** Gives the lock back; the draft stays. `leaving` when the page goes away with it. */
  stop(leaving = false): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#renewal);
    clearTimeout(this.#retry);
    // A lock that is not given back runs out by itself.
    if (this.holder === '') api.canvas.edit(this.#canvas.place, this.id, false, leaving).catch(() => {});
  }

  write(text: string): void {
    this.text = text;
    this.error = null;
    this.problem = '';
    this.#keep();
  }

  /** Drops what was written. */
  discard(): void {
    this.#canvas.keepDraft(this.id, null);
    this.stop();
  }

  /** Saves against the revision the text was made from; `saved` tells when it worked, now or at a later try. */
  async save(): Promise<void> {
    if (this.saving || this.#ended) return;
    let content: Content;
    try {
      content = withText(this.base.content, this.text);
    } catch (error) {
      this.problem = (error as Error).message;
      return;
    }
    this.saving = true;
    this.queued = false;
    this.error = null;
    for (let tries = 1; ; tries++) {
      try {
        this.#canvas.put(await api.canvas.change(this.#canvas.place, this.id, { content }, this.base.rev));
        this.#canvas.keepDraft(this.id, null);
        this.saved = true;
        this.stop();
        break;
      } catch (caught) {
        const error = asApiError(caught);
        if (error.code === 'PRECONDITION_FAILED' && tries < SAVE_TRIES && (await this.#onlyMoved())) continue;
        this.#refused(error);
        break;
      }
    }
    this.saving = false;
  }

  /** Their text replaces mine, which is set aside. */
  takeTheirs(): void {
    const theirs = this.theirs;
    if (!theirs) return;
    this.setAside = this.text;
    this.#rest(theirs, textOf(theirs.content));
  }

  bringBack(): void {
    if (this.setAside === null) return;
    this.write(this.setAside);
    this.setAside = null;
  }

  /** Both changes in one text, to be looked at before it is saved. */
  merge(): void {
    const theirs = this.theirs;
    if (!theirs) return;
    const both = merge(textOf(this.base.content), this.text, textOf(theirs.content));
    this.setAside = this.text;
    this.undecided = both.conflicts;
    this.#rest(theirs, both.text);
  }

  /** Saves my text over the one shown; a change after that one is caught again. */
  async saveMine(): Promise<void> {
    if (!this.theirs) return;
    this.#rest(this.theirs, this.text);
    await this.save();
  }

  #rest(theirs: CanvasDocument, text: string): void {
    this.base = { content: theirs.content, rev: theirs.rev };
    this.theirs = null;
    this.write(text);
  }

  #refused(error: ApiError): void {
    if (error.code === 'CANVAS_BEING_EDITED') {
      this.holder = holderOf(error);
    } else if (error.status === 0) {
      this.queued = true;
      this.#retry = setTimeout(() => void this.save(), RETRY_MS);
    } else if (this.theirs === null) {
      this.error = error;
    }
  }

  /** Reads what the document is now: true when its text is what it was, so that only a pin or a place moved. */
  async #onlyMoved(): Promise<boolean> {
    try {
      const now = await this.#canvas.reread(this.id);
      if (textOf(now.content) !== textOf(this.base.content)) {
        this.theirs = now;
        return false;
      }
      this.base = { content: now.content, rev: now.rev };
      return true;
    } catch {
      // The refusal itself is shown.
      return false;
    }
  }

  #keep(): void {
    const { content: base, rev } = this.base;
    const draft = { base, rev, title: this.#title, text: this.text, at: new Date().toISOString() };
    this.#canvas.keepDraft(this.id, this.dirty || this.theirs ? draft : null);
  }

  async #lock(): Promise<void> {
    try {
      await api.canvas.edit(this.#canvas.place, this.id, true);
      this.holder = '';
      // The answer may come after one has left: then the lock is not wanted any more.
      if (this.#ended) await api.canvas.edit(this.#canvas.place, this.id, false);
    } catch (caught) {
      const error = asApiError(caught);
      if (error.code === 'CANVAS_BEING_EDITED') this.holder = holderOf(error);
      // Out of reach: the draft is kept and the next renewal asks again.
      else if (error.status !== 0) this.error = error;
    }
  }
}

function holderOf(error: ApiError): string {
  return (error.details as { editingBy?: string } | null)?.editingBy ?? '';
}
