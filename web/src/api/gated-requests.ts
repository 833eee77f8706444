/**
 * actions that the owner may have to allow first. Whoever has to wait is given a token, which is shown
 * when exactly the same is asked again; it opens nothing else, and dies with this page.
 */

import type { ApprovalRequired } from './types';

type Headers = Record<string, string>;

/** What became of such an action: it was done, or waits for the approval `approvalId`. */
export type GatedResult<Body> = { done: Body; approvalId: null } | { done: null; approvalId: string };

/** Who must be asked for is told so at once; nothing is held open. */
const AT_ONCE = { prefer: 'wait=0' };

export class ApprovalTokens {
  #tokens = new Map<string, string>();

  /** `what` says all that is asked; the same asked again shows the token. */
  async request<Body>(what: unknown[], send: (headers: Headers) => Promise<Body | ApprovalRequired>): Promise<GatedResult<Body>> {
    const key = JSON.stringify(what);
    const token = this.#tokens.get(key);
    this.#tokens.delete(key);
    const answer = await send(token === undefined ? AT_ONCE : { ...AT_ONCE, 'x-service-approval': token });
    if (!isRequired(answer)) return { done: answer, approvalId: null };
    this.#tokens.set(key, answer.approvalToken);
    return { done: null, approvalId: answer.approvalId };
  }
}

const isRequired = (answer: unknown): answer is ApprovalRequired =>
  typeof answer === 'object' && answer !== null && 'approvalToken' in answer && typeof answer.approvalToken === 'string';
