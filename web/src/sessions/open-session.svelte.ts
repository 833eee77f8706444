/** A session one looks into: its messages, its queue, what one is sending, kept true by events. */

import type { Message, QueuedMessage, ToolCall } from '../api/types';
import { work } from '../api/agent-work';
import { Canvas } from '../canvas/canvas.svelte';
import { newIdempotencyKey } from '../entries/outbox';
import { asApiError } from '../errors/error';
import { coalesced } from '../events/coalesce';
import { interactions } from '../interactions/interactions.svelte';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import type { SessionTasks } from '../session-tasks/session-tasks.svelte';
import { taskLists } from '../session-tasks/task-lists.svelte';
import { sessions } from './sessions.svelte';
import { terminalSessions } from './terminal-sessions.svelte';
import { startedMessage, mergeMessages, withText, withToolCall, type AppendedText, type TranscriptNote } from './transcript';
import { outcomeText } from './texts';

/** A text on its way, shown before the server answered. */
export type UnsentMessage = { key: string; text: string; at: string; error: unknown };

const ASIDES_MAX = 20;

export class OpenSession {
  readonly id: string;
  readonly tasks: SessionTasks;
  readonly canvas: Canvas;
  messages = $state.raw<Message[]>([]);
  queue = $state.raw<QueuedMessage[]>([]);
  sending = $state.raw<UnsentMessage[]>([]);
  asides = $state.raw<TranscriptNote[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);

  session = $derived.by(() => sessions.get(this.id) ?? terminalSessions.get(this.id));
  newest = $derived(this.messages.at(-1));

  #seq = 0;
  #turnId: string | null = null;

  constructor(id: string) {
    this.id = id;
    this.tasks = taskLists.get(id);
    this.canvas = new Canvas({ kind: 'session', id });
  }

  async open(): Promise<void> {
    try {
      await this.#find();
    } catch (error) {
      this.error = error;
      return;
    }
    // Of what was said in a terminal only the plan is read; it has no canvas here.
    if (this.session?.origin === 'terminal') return void (await this.tasks.load());
    await Promise.all([this.refresh(), this.loadQueue(), this.#loadDecided(), this.tasks.load(), this.canvas.load()]);
  }

  async #find(): Promise<void> {
    if (this.session) return;
    try {
      const { body } = await work.sessions.one(this.id);
      // The list of one's own sessions does not hold those of a terminal, and forgets what it does not hold.
      (body.origin === 'terminal' ? terminalSessions : sessions).put(body);
    } catch (error) {
      if (asApiError(error).code !== 'SESSION_NOT_FOUND' || !(await terminalSessions.find(this.id))) throw error;
    }
  }

  /** Reads the newest messages. */
  refresh = coalesced(() => this.#read());

  loadQueue = async (): Promise<void> => {
    try {
      this.queue = (await work.messages.queue(this.id)).body.queue;
    } catch {
      // Read again with the next change of it; the count stands in the session.
    }
  };

  async #loadDecided(): Promise<void> {
    try {
      await interactions.loadDecided(this.id);
    } catch {
      // The calls say themselves what became of them; who decided is read with the next look.
    }
  }

  /** Sends a text, or sends one again that was not taken. */
  async send(text: string, again?: string): Promise<void> {
    const key = again ?? newIdempotencyKey();
    const waits: UnsentMessage = { key, text, at: new Date().toISOString(), error: null };
    this.sending = [...this.sending.filter((item) => item.key !== key), waits];
    try {
      const { outcome } = await work.messages.send(this.id, text, key);
      await (outcome === 'queued' ? this.loadQueue() : this.refresh());
      this.unsend(key);
    } catch (error) {
      this.sending = this.sending.map((item) => (item.key === key ? { ...item, error } : item));
    }
  }

  /** Forgets a text that was not taken. */
  unsend = (key: string): void => {
    this.sending = this.sending.filter((item) => item.key !== key);
  };

  async editQueued(messageId: string, content: string): Promise<void> {
    this.queue = (await work.messages.edit(this.id, messageId, content)).queue;
  }

  async removeQueued(messageId: string): Promise<void> {
    this.queue = (await work.messages.unqueue(this.id, messageId)).queue;
  }

  /** After a reset: everything again. */
  reload(): void {
    void this.open();
  }

  applyEvent(event: HallEvent): void {
    if (event.scope !== `session:${this.id}`) return;
    this.canvas.applyEvent(event);
    switch (event.type) {
      case 'message_queued':
      case 'message_removed':
        void this.loadQueue();
        break;
      case 'session_mode_changed':
        if (event.data.by !== 'person') this.#aside(event, `The ${event.data.by} changed the permission mode from “${event.data.from}” to “${event.data.to}”.`);
        break;
      case 'session_mode_refused':
        this.#aside(event, `The agent tried the mode “${event.data.attempted}”, which nobody allowed. It stays in “${event.data.kept}”.`);
        break;
      case 'session_notice':
        // This one stands in the transcript.
        if (event.data.code === 'privileges_unavailable') void this.refresh();
        else this.#aside(event, event.data.text as string);
        break;
      case 'turn_ended':
        this.#aside(event, [outcomeText(event.data.outcome as string), event.data.error as string | null].filter(Boolean).join(' '));
        break;
    }
    this.#foldMessages(event);
  }

  #foldMessages(event: HallEvent): void {
    if (event.seq <= this.#seq || !this.loaded) return;
    switch (event.type) {
      case 'turn_started':
        this.#turnId = event.data.turnId as string;
        // The person's message has no event of its own, and leaves the queue with its turn.
        void this.refresh();
        void this.loadQueue();
        break;
      case 'text_appended':
        this.#append(event, event.data as AppendedText);
        break;
      case 'tool_call_updated':
        this.#put(withToolCall(this.#messageOf(event), event.data.toolCall as ToolCall));
        break;
      case 'turn_ended':
      case 'tasks_changed':
        void this.refresh();
        break;
    }
  }

  #append(event: HallEvent, appended: AppendedText): void {
    const next = withText(this.#messageOf(event), appended);
    if (next) this.#put(next);
    else void this.refresh();
  }

  #messageOf(event: HallEvent): Message {
    const messageId = event.data.messageId as string;
    const seq = (this.messages.at(-1)?.seq ?? 0) + 1;
    return this.messages.find(({ id }) => id === messageId) ?? startedMessage(this.id, messageId, this.#turnId, seq, event.at);
  }

  #put(message: Message): void {
    const at = this.messages.findLastIndex(({ id }) => id === message.id);
    this.messages = at === -1 ? [...this.messages, message] : this.messages.with(at, message);
  }

  #aside({ seq, at }: HallEvent, text: string): void {
    if (text !== '') this.asides = [...this.asides.slice(1 - ASIDES_MAX), { key: String(seq), at, text }];
  }

  async #read(): Promise<void> {
    try {
      await readAndApply(
        this.#readOn,
        (messages, seq) => {
          this.#seq = seq;
          // Pages before the one that was read again stay; what only events told is replaced by what was stored.
          const from = messages[0]?.seq ?? 0;
          this.messages = mergeMessages(this.messages.filter((message) => message.seq < from), messages);
          this.loaded = true;
        },
        (event) => event.scope === `session:${this.id}` && this.#foldMessages(event),
      );
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  /** From the newest messages back to those that are known already. */
  #readOn = async () => {
    const known = this.loaded ? (this.messages.at(-1)?.seq ?? 0) : 0;
    let messages: Message[] = [];
    let seq = Number.MAX_SAFE_INTEGER;
    for (let cursor: string | undefined; ; ) {
      const read = await work.messages.page(this.id, cursor);
      messages = [...read.body.messages, ...messages];
      seq = Math.min(seq, read.seq);
      // A turn writes to its own messages alone, which are the newest.
      const reachesKnown = (messages[0]?.seq ?? 0) < known;
      if (read.body.nextCursor === null || reachesKnown) return { body: messages, seq };
      cursor = read.body.nextCursor;
    }
  };
}

const KEPT_MAX = 6;

/** The sessions last looked into, kept true so that coming back costs nothing. */
class OpenSessions {
  #kept = new Map<string, OpenSession>();

  get(id: string): OpenSession {
    const session = this.#kept.get(id) ?? new OpenSession(id);
    this.#kept.delete(id);
    this.#kept.set(id, session);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT_MAX && oldest) this.#kept.delete(oldest);
    return session;
  }

  applyEvent = (event: HallEvent): void => {
    for (const session of this.#kept.values()) session.applyEvent(event);
  };

  reload = (): void => {
    for (const session of this.#kept.values()) session.reload();
  };
}

export const openSessions = new OpenSessions();
