/** The files beside one composer: each goes up at once and waits there until its text is sent. */

import { api } from '../api/client';
import type { Attachment } from '../api/types';
import { asApiError } from '../errors/error';
import { FILES_MAX, filesLeft, uploadStatus, starting, newUpload, withUpload, type Upload } from './upload-queue';

let nextKey = 1;

export class Uploads {
  readonly roomId: string;
  list = $state.raw<readonly Upload[]>([]);
  /** Why some files were left out, in a sentence. */
  refused = $state('');
  standing = $derived(uploadStatus(this.list));

  #files = new Map<number, { file: File; abort: AbortController }>();

  constructor(roomId: string) {
    this.roomId = roomId;
  }

  add(files: readonly File[]): void {
    const taken = files.slice(0, filesLeft(this.list, files.length));
    this.refused = taken.length < files.length ? `One message carries ${FILES_MAX} files; ${files.length - taken.length} were left out.` : '';
    const added = taken.map((file) => {
      const upload = newUpload(nextKey++, file);
      this.#files.set(upload.key, { file, abort: new AbortController() });
      return upload;
    });
    this.list = [...this.list, ...added];
    this.#go();
  }

  again(key: number): void {
    this.list = withUpload(this.list, key, { state: 'waiting', part: 0, error: null });
    this.#go();
  }

  /** What is on the server already and goes out with no entry is swept there after a day. */
  remove(key: number): void {
    this.list = this.list.filter((upload) => upload.key !== key);
    this.#files.get(key)?.abort.abort();
    this.#files.delete(key);
    this.refused = '';
    this.#go();
  }

  /** Hands over what is ready and starts empty. */
  take(): Attachment[] {
    const ready = this.list.flatMap(({ attachment }) => attachment ?? []);
    this.list = [];
    this.#files.clear();
    this.refused = '';
    return ready;
  }

  #go(): void {
    for (const { key } of starting(this.list)) void this.#send(key);
  }

  async #send(key: number): Promise<void> {
    const held = this.#files.get(key);
    if (!held) return;
    this.list = withUpload(this.list, key, { state: 'sending' });
    const onprogress = (part: number) => (this.list = withUpload(this.list, key, { part }));
    try {
      const { attachments } = await api.attachments.upload(this.roomId, held.file, onprogress, held.abort.signal);
      this.list = withUpload(this.list, key, { state: 'ready', part: 1, attachment: attachments[0] ?? null });
    } catch (error) {
      this.list = withUpload(this.list, key, { state: 'failed', error: asApiError(error) });
    }
    this.#go();
  }
}
