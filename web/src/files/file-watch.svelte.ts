/** A file that is looked at and not written: what it held first, and what it holds now. */

import { files } from '../api/files';
import { asApiError, type ApiError } from '../errors/error';
import { folderOf, fileNameOf } from './paths';

/** What was first seen of a file in this window, by path: a view that is made anew goes on from there. */
const seen = new Map<string, string>();

export class FileWatch {
  readonly path: string;
  first = $state.raw<string | null>(null);
  now = $state.raw<string | null>(null);
  error = $state.raw<ApiError | null>(null);

  #closed = false;

  constructor(path: string) {
    this.path = path;
  }

  look = async (): Promise<void> => {
    try {
      const { body } = await files.content(folderOf(this.path), fileNameOf(this.path));
      if (this.#closed) return;
      if (!seen.has(this.path)) seen.set(this.path, body.content);
      this.first = seen.get(this.path) ?? body.content;
      this.now = body.content;
      this.error = null;
    } catch (caught) {
      if (!this.#closed) this.error = asApiError(caught);
    }
  };

  close(): void {
    this.#closed = true;
  }
}
