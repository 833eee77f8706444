/** One person's work on one text file: what was opened, what was written since, and what happens when somebody was quicker. */

import { session } from '../accounts/session.svelte';
import { api } from '../api/client';
import { files } from '../api/files';
import type { CanvasDocument, DocumentSave, FileContent } from '../api/types';
import { merge } from '../canvas/text-diff';
import type { CanvasOwner } from '../canvas/canvas-owner';
import { linesOf, withCheckbox } from '../canvas/task-checkboxes';
import { asApiError, type ApiError } from '../errors/error';
import { draftOf, dropDraft, keepDraft, type DraftBase } from './file-drafts';
import { joinPath } from './paths';
import { newUuid } from './uuid';

/** After a failed network a save is tried again this often. */
const RETRY_MS = 3_000;
/** The text is taken out of the editor when a person pauses this long. */
const PAUSE_MS = 300;

/** What a refused save says the file holds now; null content when it is no text any more, or too large. */
export type ConflictingFile = { content: string | null; hash: string; identity: string };

/** A file that stands on a canvas is saved as that document, so that its readers hear of it. */
export type CanvasBinding = { place: CanvasOwner; document: () => CanvasDocument; put: (document: CanvasDocument) => void };

/** Answers that say: this is not the file you opened. */
const REPLACED = ['FILE_IDENTITY_CHANGED', 'DOCUMENT_FILE_MISMATCH', 'DOCUMENT_INCARNATION_CHANGED'];

export class FileEditing {
  readonly cwd: string;
  readonly path: string;
  /** The whole path as it was asked for: what drafts are kept under. */
  readonly whole: string;
  /** The same without links, as the server names it once it was read. */
  real = $state('');

  /** Null until it was read. */
  base = $state.raw<DraftBase | null>(null);
  size = $state(0);
  mtime = $state('');
  writable = $state(false);
  /** Why it cannot be read. */
  error = $state.raw<ApiError | null>(null);

  /** An unsaved text of a file that cannot be read any more. */
  orphan = $state.raw<string | null>(null);

  text = $state.raw('');
  /** Counts the times `text` was put in from outside, so that the editor takes it. */
  taken = $state(0);
  dirty = $state(false);
  /** False when the text was too large to be kept in this browser. */
  kept = $state(true);

  saving = $state(false);
  savedAt = $state('');
  /** The server was out of reach: the save is tried again by itself, against the same baseline. */
  queued = $state(false);
  /** Why it was not saved, where no card says so. */
  refusal = $state.raw<ApiError | null>(null);
  /** The file as it is now, when somebody wrote it after it was opened. */
  theirs = $state.raw<ConflictingFile | null>(null);
  /** Another file took its place. */
  replaced = $state(false);
  /** The file changed while nothing was being saved. */
  news = $state.raw<FileContent | null>(null);
  /** The text that gave way to another: it can be brought back. */
  setAside = $state.raw<string | null>(null);
  /** Places a merge could not decide. */
  undecided = $state(0);

  #canvas: CanvasBinding | null;
  #read: (() => string) | null = null;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #event = { content: '', hash: '', id: '' };
  /** The draft this window wrote or took up: that of another window is not its to drop. */
  #draft = '';
  #ended = false;

  constructor(cwd: string, path: string, canvas: CanvasBinding | null = null) {
    this.cwd = cwd;
    this.path = path;
    this.whole = this.real = joinPath(cwd, path);
    this.#canvas = canvas;
  }

  /** Reads the file, and goes on from the draft if there is one. */
  load = async (): Promise<void> => {
    try {
      const { body } = await files.content(this.cwd, this.path);
      if (this.#ended) return;
      this.error = null;
      const draft = draftOf(this.whole);
      this.setAside = draftOf(this.#asideKey)?.text ?? null;
      this.#facts(body);
      if (!draft || draft.text === body.content) {
        dropDraft(this.whole);
        this.#rest(baseOf(body), body.content);
        return;
      }
      if (draft.base.hash === body.hash) {
        this.#rest(baseOf(body), draft.text);
      } else {
        this.#rest(draft.base, draft.text);
        this.theirs = theirsOf(body);
      }
    } catch (caught) {
      if (this.#ended) return;
      this.error = asApiError(caught);
      this.orphan = draftOf(this.whole)?.text ?? null;
    }
  };

  /** Nothing more is saved or tried; the draft stays. */
  stop(): void {
    this.flush();
    this.#ended = true;
    clearTimeout(this.#retry);
  }

  /** The editor's text changed; `read` gives it, and is asked when the person pauses. */
  touch(read: () => string): void {
    this.#read = read;
    this.dirty = true;
    this.refusal = null;
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.flush(), PAUSE_MS);
  }

  /** Takes the text out of the editor and keeps it as a draft. */
  flush(): void {
    clearTimeout(this.#pause);
    const read = this.#read;
    this.#read = null;
    if (!read || this.#ended) return;
    this.text = read();
    this.#settle();
  }

  discard(): void {
    const { base } = this;
    if (!base) return;
    this.#read = null;
    clearTimeout(this.#pause);
    this.#rest(base, base.content);
  }

  save = async (): Promise<void> => {
    this.flush();
    const { base, text } = this;
    if (!base || this.saving || this.theirs || this.replaced || this.#ended) return;
    clearTimeout(this.#retry);
    this.saving = true;
    this.queued = false;
    this.refusal = null;
    try {
      const saved = await files.save({
        cwd: this.cwd,
        path: this.path,
        content: text,
        expectedHash: base.hash,
        expectedIdentity: base.identity,
        ...this.#asDocument(text, base.hash),
      });
      this.base = { content: text, hash: saved.hash, identity: saved.identity };
      // It is done: the same text over the same state is another save from here on.
      this.#event = { content: '', hash: '', id: '' };
      this.size = new TextEncoder().encode(text).length;
      this.savedAt = this.mtime = new Date().toISOString();
      this.undecided = 0;
      this.news = null;
      // What was written while the save was on its way is not saved yet.
      this.flush();
      this.#settle();
    } catch (caught) {
      this.#refused(asApiError(caught));
    }
    this.saving = false;
  };

  /** Sets the box of one line: in the file itself, or in the text one writes while that is not saved. */
  tick = async (line: number, checked: boolean): Promise<void> => {
    this.flush();
    const { base, text } = this;
    if (!base || this.saving || this.theirs || this.replaced || this.#ended) return;
    const wasDirty = this.dirty;
    if (wasDirty || this.#asBound()) {
      this.#rest(base, withCheckbox(text, line, checked));
      // As its document, so that its readers hear of it.
      if (!wasDirty) await this.save();
      return;
    }
    let stale = false;
    this.saving = true;
    this.refusal = null;
    try {
      await files.check({ cwd: this.cwd, path: this.path, line, expectedLine: linesOf(text)[line - 1] ?? '', checked });
      const { body } = await files.content(this.cwd, this.path);
      this.#facts(body);
      // Other lines may be another's by now, and something may be written here since.
      if (this.dirty) this.news = body;
      else this.#rest(baseOf(body), body.content);
    } catch (caught) {
      const error = asApiError(caught);
      if (REPLACED.includes(error.code)) this.replaced = true;
      else if (error.code !== 'CONFLICT') this.refusal = error;
      stale = error.code === 'CONFLICT';
    }
    this.saving = false;
    // Somebody changed that line: it is said, and shown when one asks for it.
    if (stale) await this.look();
  };

  takeTheirs(): void {
    this.flush();
    const { theirs } = this;
    if (!theirs || theirs.content === null) return;
    this.#putAside();
    this.#rest({ ...theirs, content: theirs.content }, theirs.content);
  }

  /** Both changes in one text, to be looked at before it is saved. */
  merge(): void {
    this.flush();
    const { theirs, base } = this;
    if (!theirs || theirs.content === null || !base) return;
    const both = merge(base.content, this.text, theirs.content);
    this.#putAside();
    this.#rest({ ...theirs, content: theirs.content }, both.text);
    this.undecided = both.conflicts;
  }

  /** Saves my text over the one shown; a change after that one is caught again. */
  saveMine = async (): Promise<void> => {
    this.flush();
    const { theirs, base } = this;
    if (!theirs || !base) return;
    this.base = { ...theirs, content: theirs.content ?? base.content };
    this.theirs = null;
    await this.save();
  };

  /** Opens what stands there now; my text is kept beside it. */
  reload = async (): Promise<void> => {
    this.flush();
    try {
      const now = await this.#reread();
      if (this.dirty) this.#putAside();
      this.#rest(now, now.content);
      this.refusal = null;
    } catch (caught) {
      this.refusal = asApiError(caught);
    }
  };

  bringBack(): void {
    const text = this.setAside;
    if (text === null || !this.base) return;
    this.forgetAside();
    this.#rest(this.base, text);
  }

  forgetOrphan(): void {
    this.orphan = null;
    dropDraft(this.whole);
  }

  forgetAside(): void {
    this.setAside = null;
    this.undecided = 0;
    dropDraft(this.#asideKey);
  }

  /** Looks whether the file is still what was opened. */
  look = async (): Promise<void> => {
    const { base } = this;
    if (!base || this.saving || this.theirs || this.replaced || this.#ended) return;
    try {
      const { body } = await files.content(this.cwd, this.path);
      if (this.base !== base || this.#ended) return;
      this.news = body.hash === base.hash ? null : body;
      if (body.hash === base.hash) this.#facts(body);
    } catch {
      // A file that is gone is said when it is saved or opened anew.
    }
  };

  /** Shows the file as it is now; only where nothing was written. */
  takeNews(): void {
    const { news } = this;
    if (!news || this.dirty) return;
    this.#facts(news);
    this.#rest(baseOf(news), news.content);
  }

  #asDocument(content: string, hash: string): { documentSave?: DocumentSave } {
    const document = this.#asBound();
    if (!document?.incarnation) return {};
    // A save that is tried again is the same one, so it happens once.
    if (this.#event.content !== content || this.#event.hash !== hash || this.#event.id === '') this.#event = { content, hash, id: newUuid() };
    return { documentSave: { documentId: document.id, eventId: this.#event.id, expectedFileHash: hash, incarnation: document.incarnation as DocumentSave['incarnation'] } };
  }

  /** The document it is saved as: the owner alone may, others save the file by its path. */
  #asBound(): CanvasDocument | null {
    const document = session.isOwner ? this.#canvas?.document() : null;
    return document?.incarnation ? document : null;
  }

  async #reread(): Promise<DraftBase> {
    const document = this.#asBound();
    if (this.#canvas && document) {
      const { document: now, content, hash, identity } = await api.canvas.reload(this.#canvas.place, document.id);
      this.#canvas.put(now as CanvasDocument);
      return { content, hash, identity };
    }
    const { body } = await files.content(this.cwd, this.path);
    this.#facts(body);
    return baseOf(body);
  }

  #refused(error: ApiError): void {
    if (error.code === 'CONFLICT' && typeof error.members.currentHash === 'string') {
      const { currentContent, currentHash } = error.members;
      const identity = (error.details as { currentIdentity?: string } | null)?.currentIdentity ?? '';
      this.theirs = { content: typeof currentContent === 'string' ? currentContent : null, hash: currentHash, identity };
      this.news = null;
    } else if (REPLACED.includes(error.code)) {
      this.replaced = true;
      this.news = null;
    } else if (error.status === 0) {
      this.queued = true;
      this.#retry = setTimeout(() => void this.save(), RETRY_MS);
    } else {
      this.refusal = error;
    }
  }

  #facts({ path, size, mtime, writable }: FileContent): void {
    this.real = path;
    this.size = size;
    this.mtime = mtime;
    this.writable = writable;
  }

  #rest(base: DraftBase, text: string): void {
    this.#read = null;
    clearTimeout(this.#pause);
    this.base = base;
    this.theirs = null;
    this.replaced = false;
    this.news = null;
    this.text = text;
    this.taken += 1;
    this.#settle();
  }

  #settle(): void {
    const { base } = this;
    if (!base) return;
    this.dirty = this.text !== base.content;
    if (this.dirty) {
      this.#draft = this.text;
      this.kept = keepDraft(this.whole, { base, text: this.text, at: new Date().toISOString() });
    } else {
      if (draftOf(this.whole)?.text === this.#draft) dropDraft(this.whole);
      this.kept = true;
    }
  }

  get #asideKey(): string {
    return `${this.whole} (set aside)`;
  }

  #putAside(): void {
    if (!this.base) return;
    this.setAside = this.text;
    keepDraft(this.#asideKey, { base: this.base, text: this.text, at: new Date().toISOString() });
  }
}

const baseOf = ({ content, hash, identity }: FileContent): DraftBase => ({ content, hash, identity });
const theirsOf = ({ content, hash, identity }: FileContent): ConflictingFile => ({ content, hash, identity });
