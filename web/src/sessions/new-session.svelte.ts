/** The dialog that opens a session, and what it begins with. */

import type { Session } from '../api/types';

export type NewSessionRequest = {
  /** The agent chosen already; `""` for none. */
  agentId: string;
  runtime: string;
  cwd: string;
  /** The terminal session that goes on here; null for a new one. */
  resume: Session | null;
};

class NewSession {
  request = $state.raw<NewSessionRequest | null>(null);

  open(request: Partial<NewSessionRequest> = {}): void {
    this.request = { agentId: '', runtime: '', cwd: '', resume: null, ...request };
  }

  close = (): void => {
    this.request = null;
  };
}

export const newSession = new NewSession();
