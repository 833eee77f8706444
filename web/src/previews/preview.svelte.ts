/** One preview that is looked at: its address, minted anew with each load, and why there is none. */

import { files } from '../api/files';
import type { Sign } from '../api/types';
import { asApiError, type ApiError } from '../errors/error';
import { withStartPath, frameUrl } from './preview';

/** While nothing listens, the port is asked this often. */
const PROBE_MS = 2_500;

export class Preview {
  readonly request: Sign;
  url = $state('');
  /** Counts the loads: a frame is made anew with each. */
  load = $state(0);
  /** Why the server gave no address; `""` when it did. */
  unavailable = $state('');
  /** True while nobody listens on the dev port. */
  silent = $state(false);
  expired = $state(false);
  busy = $state(false);
  error = $state.raw<ApiError | null>(null);

  #expiry: ReturnType<typeof setTimeout> | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  #start: string;

  /** `start` is where in a dev server one begins, from its `/` on. */
  constructor(request: Sign, start = '') {
    this.request = request;
    this.#start = start;
  }

  /** Mints an address and shows it. */
  open = async (): Promise<void> => {
    if (this.busy || this.#ended) return;
    clearTimeout(this.#probe);
    this.busy = true;
    try {
      if (this.request.kind === 'proxy' && !(await files.probe(this.request.port)).listening) {
        this.#wait();
        return;
      }
      this.silent = false;
      this.#take(await files.sign(this.request));
    } catch (caught) {
      this.error = asApiError(caught);
    } finally {
      this.busy = false;
    }
  };

  close(): void {
    this.#ended = true;
    clearTimeout(this.#expiry);
    clearTimeout(this.#probe);
  }

  #take(signed: { url?: string | null; unavailable?: string; expiresAt?: string | null }): void {
    if (this.#ended) return;
    this.error = null;
    this.expired = false;
    this.unavailable = signed.unavailable ?? '';
    const address = signed.url ? frameUrl(withStartPath(signed.url, this.#start), this.request, location.origin) : null;
    this.url = address?.href ?? '';
    if (!address && !this.unavailable) this.unavailable = 'an address that cannot be shown here';
    this.load += 1;
    clearTimeout(this.#expiry);
    const left = signed.expiresAt ? Date.parse(signed.expiresAt) - Date.now() : 0;
    if (left > 0) this.#expiry = setTimeout(() => (this.expired = true), left);
  }

  #wait(): void {
    if (this.#ended) return;
    this.silent = true;
    this.url = '';
    this.error = null;
    this.#probe = setTimeout(() => void this.open(), PROBE_MS);
  }
}

/** Lets the browser save any file of a folder, of whatever kind. */
export async function download(cwd: string, path: string): Promise<void> {
  const { url } = await files.sign({ kind: 'serve', cwd, path });
  if (!url) return;
  const link = document.createElement('a');
  link.href = url;
  link.download = path.split('/').at(-1) ?? '';
  link.click();
}
