/** One change of one's own password, from the fields to the answer. */

import { asApiError, type ApiError } from '../errors/error';
import { passwordError } from './sign-in-requirements';
import { session } from './session.svelte';

export class PasswordChange {
  current = $state('');
  next = $state('');
  again = $state('');
  busy = $state(false);
  error = $state.raw<ApiError | null>(null);
  #tried = $state(false);

  #trouble = $derived(passwordError(this.next, this.again));

  errors = $derived.by(() => {
    const fields = this.error?.fieldSentences ?? {};
    const wrong = this.error?.code === 'INVALID_CREDENTIALS' ? 'That is not your present password.' : '';
    return { current: fields.current ?? wrong, next: fields.next ?? '', again: this.#tried ? this.#trouble : '' };
  });
  /** What no field says. */
  whole = $derived(this.error && !this.errors.current && !this.errors.next ? this.error : null);

  /** True when the password is the new one now. */
  async submit(): Promise<boolean> {
    this.#tried = true;
    if (this.busy || this.#trouble !== '' || this.current === '') return false;
    this.busy = true;
    this.error = null;
    try {
      await session.changePassword(this.current, this.next);
      this.current = this.next = this.again = '';
      this.#tried = false;
      return true;
    } catch (caught) {
      this.error = asApiError(caught);
      return false;
    } finally {
      this.busy = false;
    }
  }
}
