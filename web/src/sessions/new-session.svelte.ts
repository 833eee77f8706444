/** The dialog that opens a session, and what it begins with. */

import type { Session } from '../api/types';

export type Wish = {
  /** The agent chosen already; `""` for none. */
  agentId: string;
  runtime: string;
  cwd: string;
  /** The terminal session that goes on here; null for a new one. */
  resume: Session | null;
};

class NewSession {
  wish = $state.raw<Wish | null>(null);

  open(wish: Partial<Wish> = {}): void {
    this.wish = { agentId: '', runtime: '', cwd: '', resume: null, ...wish };
  }

  close = (): void => {
    this.wish = null;
  };
}

export const newSession = new NewSession();
