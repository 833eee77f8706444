/** The canvas of one room or session: its documents kept true by events, and which of them this reader looks at. */

import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { api } from '../api/client';
import type { CanvasDocument } from '../api/types';
import { authors } from '../authors/authors.svelte';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { saves } from '../files/saves.svelte';
import { storeValue, storedValue } from '../ui/browser-storage';
import { toasts } from '../ui/toasts.svelte';
import { pathOf, type Content } from './content';
import { draftsOf, keepDraft, type Draft, type Drafts } from './document-drafts';
import { applyCanvasEvent, sortByTabOrder, neighbourTab } from './apply-events';
import { scopeOf, type CanvasOwner } from './canvas-owner';

/** Since when somebody edits; not `exact` when they already did when this page first saw the document. */
export type EditLock = { by: string; at: string; exact: boolean };

const tabKey = ({ id }: CanvasOwner) => `guildhall.canvas-tab.${id}`;

export class Canvas {
  readonly place: CanvasOwner;
  loaded = $state(false);
  error = $state<unknown>(null);
  /** The reader's own open tab; only the reader moves it, or the closing of its document. */
  openId = $state('');
  /** Documents whose lock this reader waits for. */
  waiting = new SvelteSet<string>();
  /** Documents that others opened or changed and this reader has not looked at since. */
  news = new SvelteSet<string>();
  drafts = $state.raw<Drafts>({});

  #documents = new SvelteMap<string, CanvasDocument>();
  #since = new SvelteMap<string, EditLock>();
  #seq = 0;

  list = $derived(sortByTabOrder([...this.#documents.values()]));
  shown = $derived(this.#documents.get(this.openId));
  /** Unsaved texts whose document was closed meanwhile. */
  orphans = $derived(this.loaded ? Object.entries(this.drafts).filter(([id]) => !this.#documents.has(id)) : []);

  constructor(place: CanvasOwner) {
    this.place = place;
    this.drafts = draftsOf(place.id);
    this.openId = storedValue(tabKey(place));
  }

  get(documentId: string): CanvasDocument | undefined {
    return this.#documents.get(documentId);
  }

  editingSince(documentId: string): EditLock | undefined {
    return this.#since.get(documentId);
  }

  load = async (): Promise<void> => {
    try {
      await readAndApply(
        () => api.canvas.list(this.place),
        ({ documents }, seq) => this.#take(documents, seq),
        this.applyEvent,
      );
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  /** Reads one document again, when a refusal said that it is not what it was. */
  async reread(documentId: string): Promise<CanvasDocument> {
    const { body } = await api.canvas.one(this.place, documentId);
    this.put(body);
    return body;
  }

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.#seq || event.scope !== scopeOf(this.place)) return;
    if (event.type === 'doc_saved') this.#saved(event);
    const update = applyCanvasEvent(event, (id) => this.#documents.get(id)?.rev ?? 0);
    if (update.kind === 'closed') this.#remove(update.documentId, update.reason, event.actorId);
    if (update.kind !== 'put') return;
    const isNews = event.data.change === 'opened' || event.data.change === 'updated';
    if (isNews && event.actorId !== authors.meId && update.document.id !== this.openId) this.news.add(update.document.id);
    this.put(update.document, event.at);
  };

  /** Takes in a document as an answer or event gives it; `at` is when it came to be so, null when nobody knows. */
  put(document: CanvasDocument, at: string | null = null): void {
    const before = this.#documents.get(document.id);
    if (before && before.rev > document.rev) return;
    for (const authorId of [document.authorId, document.lastTouchedBy, document.editingBy]) {
      if (authorId) void authors.ensure(authorId);
    }
    this.#documents.set(document.id, document);
    this.#noteEditor(before, document, at);
  }

  /** Looks at another document; the choice is remembered for this canvas. */
  choose(documentId: string): void {
    this.openId = documentId;
    this.news.delete(documentId);
    storeValue(tabKey(this.place), documentId);
  }

  /** Opens the first tab when the reader has none, so that a later change of order moves nothing under them. */
  settle(): void {
    const first = this.list[0];
    if (first && !this.#documents.has(this.openId)) this.choose(first.id);
  }

  keepDraft(documentId: string, draft: Draft | null): void {
    this.drafts = keepDraft(this.place.id, documentId, draft);
  }

  #take(documents: CanvasDocument[], seq: number): void {
    this.#seq = seq;
    const listed = new Set(documents.map(({ id }) => id));
    for (const id of this.#documents.keys()) if (!listed.has(id)) this.#documents.delete(id);
    for (const document of documents) {
      // A read after a reset is the truth, whatever was known before.
      this.#documents.delete(document.id);
      this.put(document);
    }
    this.loaded = true;
  }

  /** A document's file was saved: everybody who shows that file hears of it. */
  #saved({ data, actorId }: HallEvent): void {
    const content = this.#documents.get(data.documentId as string)?.content as Content | undefined;
    const path = content && pathOf(content);
    if (path) saves.note(path, { hash: data.fileHash as string, by: actorId ?? '' });
  }

  #remove(documentId: string, reason: string, actorId: string | null): void {
    const document = this.#documents.get(documentId);
    if (!document) return;
    if (documentId === this.openId) {
      this.choose(neighbourTab(this.list, documentId));
      if (reason === 'evicted') toasts.say(`“${document.title}” made room for newer documents.`);
      else if (actorId !== authors.meId) toasts.say(`${authors.nameOf(actorId)} closed “${document.title}”.`);
    }
    this.#documents.delete(documentId);
    this.#since.delete(documentId);
    this.news.delete(documentId);
    this.waiting.delete(documentId);
  }

  #noteEditor(before: CanvasDocument | undefined, { id, title, editingBy }: CanvasDocument, at: string | null): void {
    if (!editingBy) {
      this.#since.delete(id);
      if (this.waiting.delete(id)) toasts.say(`“${title}” is free to edit now.`);
    } else if (this.#since.get(id)?.by !== editingBy) {
      const exact = at !== null && before?.editingBy !== editingBy;
      this.#since.set(id, { by: editingBy, at: at ?? new Date().toISOString(), exact });
    }
  }
}
