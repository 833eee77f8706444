/** What must be allowed before it happens, apart from what sessions ask; and what became of it while this page was open. */

import { SvelteMap } from 'svelte/reactivity';
import type { SnapshotAt } from '../api/client';
import { tools } from '../api/tool-servers';
import type { Approval, ApprovalState, AuthorSummary } from '../api/types';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { isOlder } from './approval';

export type ApprovalView = Approval & {
  /** True when what it shows is not what it showed first. */
  changed: boolean;
};

/** What an event tells of one that is known. */
type Told = Pick<Approval, 'state'> & Partial<Pick<Approval, 'decidedBy' | 'decidedAt' | 'denyReason' | 'consumedAt'>>;

/** Outcomes kept in sight. */
const OUTCOMES_MAX = 30;
const ENDS: Record<string, ApprovalState> = {
  approval_consumed: 'consumed',
  approval_expired: 'expired',
  approval_withdrawn: 'withdrawn',
};

class Approvals {
  loaded = $state(false);
  error = $state<unknown>(null);
  /** The one that came last, to be announced. */
  newest = $state.raw<ApprovalView | null>(null);
  seq = 0;

  #byId = new SvelteMap<string, ApprovalView>();

  /** Oldest first, so that a new one never takes the place of another. */
  pending = $derived([...this.#byId.values()].filter(isPendingApproval).sort(byAge));
  outcomes = $derived(
    [...this.#byId.values()]
      .filter((approval) => !isPendingApproval(approval))
      .sort((a, b) => ((a.decidedAt ?? a.expiresAt) < (b.decidedAt ?? b.expiresAt) ? 1 : -1))
      .slice(0, OUTCOMES_MAX),
  );

  get(id: string): ApprovalView | undefined {
    return this.#byId.get(id);
  }

  load = async (): Promise<void> => {
    try {
      await readAndApply(readAll, (approvals, seq) => this.#take(approvals, seq), this.applyEvent);
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
  };

  /** Reads one again, whatever became of it; one that is none is none. */
  reload = async (id: string): Promise<void> => {
    try {
      const { body } = await tools.approvals.one(id);
      if (isOurs(body)) this.upsert(body);
    } catch {
      this.#byId.delete(id);
    }
  };

  /** Takes one as an answer or an event has it; an answer may come after the event of what followed it. */
  upsert(approval: Approval): ApprovalView {
    const known = this.#byId.get(approval.id);
    if (known && isOlder(approval.state, known.state)) return known;
    const changed = known !== undefined && (known.changed || known.digest !== approval.digest);
    const view = { ...approval, changed };
    this.#byId.set(view.id, view);
    return view;
  }

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.seq) return;
    if (event.type === 'approval_requested') {
      const approval = event.data.approval as Approval;
      const known = this.#byId.has(approval.id);
      const view = this.upsert(approval);
      if (!known && isPendingApproval(view)) this.newest = view;
      return;
    }
    const id = event.data.approvalId as string;
    if (event.type === 'approval_decided') {
      const { state, decidedBy, decidedAt, denyReason } = event.data as {
        state: ApprovalState;
        decidedBy: AuthorSummary;
        decidedAt: string;
        denyReason: string | null;
      };
      this.#tell(id, { state, decidedBy, decidedAt, denyReason });
      return;
    }
    const state = ENDS[event.type];
    if (state) this.#tell(id, { state, ...(state === 'consumed' ? { consumedAt: event.data.at as string } : {}) });
  };

  #tell(id: string, told: Told): void {
    const known = this.#byId.get(id);
    if (known && !isOlder(told.state, known.state)) this.#byId.set(id, { ...known, ...told });
  }

  #take(approvals: Approval[], seq: number): void {
    this.seq = seq;
    const listed = new Set(approvals.map(({ id }) => id));
    for (const [id, approval] of this.#byId) {
      if (isPendingApproval(approval) && !listed.has(id)) void this.reload(id);
    }
    for (const approval of approvals) this.upsert(approval);
  }
}

/** All pages, true at the first one's event. */
async function readAll(): Promise<SnapshotAt<Approval[]>> {
  const found: Approval[] = [];
  let first: number | null = null;
  for (let cursor: string | undefined; ; ) {
    const { body, seq } = await tools.approvals.pending(cursor);
    first ??= seq;
    found.push(...(body.approvals as Approval[]).filter(isOurs));
    if (body.nextCursor === null) return { body: found, seq: first };
    cursor = body.nextCursor;
  }
}

/** What sessions ask is shown and answered as an interaction. */
const isOurs = ({ kind }: Pick<Approval, 'kind'>): boolean => kind !== 'tool_call' && kind !== 'question';
export const isPendingApproval = ({ state }: Pick<Approval, 'state'>): boolean => state === 'pending';
const byAge = (a: Approval, b: Approval): number =>
  a.requestedAt === b.requestedAt ? (a.id < b.id ? -1 : 1) : a.requestedAt < b.requestedAt ? -1 : 1;

export const approvals = new Approvals();
