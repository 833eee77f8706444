/** Short messages at the edge of the page: what was done, or what could not be. */

export type Toast = { id: number; text: string; error: unknown };

const TOAST_MS = 6_000;

class Toasts {
  list = $state<Toast[]>([]);
  #next = 1;

  say(text: string): void {
    this.#add(text, null);
  }

  /** An error stays until it is closed: nothing that went wrong vanishes by itself. */
  fail(error: unknown): void {
    this.#add('', error);
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }

  #add(text: string, error: unknown): void {
    const id = this.#next++;
    this.list = [...this.list.slice(-3), { id, text, error }];
    if (!error) setTimeout(() => this.close(id), TOAST_MS);
  }
}

export const toasts = new Toasts();
