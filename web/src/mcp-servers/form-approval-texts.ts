/** What a card at the end of a form says once it can be answered there no more. Pure. */

import type { ApprovalState } from '../api/types';

/** `""` while it waits, and where the action follows by itself. */
export function closedText(state: ApprovalState): string {
  switch (state) {
    case 'pending':
    case 'granted':
      return '';
    case 'consumed':
      return 'This was done from another window.';
    case 'denied':
      return 'This was denied from another window. Go back and change it; the very same is not asked again for ten minutes.';
    case 'expired':
      return 'The time for an answer is over, and nothing was done. Go back and ask again.';
    case 'withdrawn':
      return 'This was taken back from another window, and nothing was done. Go back and ask again.';
  }
}
