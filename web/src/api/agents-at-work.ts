/**
 * The shapes of agents at work: sessions, transcripts, asks, tasks, commands, turns, runtimes, usage.
 * Written by hand after contract 2.7 and 3.2 to 3.10, under the names the document gives them.
 */

export type SessionState = 'idle' | 'starting' | 'running' | 'waiting' | 'cancelling' | 'failed' | 'closed';

export type Cost = { amount: number; currency: string };

export type Usage = {
  turns: number;
  inputTokens: number;
  outputTokens: number;
  cachedReadTokens: number;
  cachedWriteTokens: number;
  thoughtTokens: number;
  totalTokens: number;
  /** The last values, never summed; 0 when nothing was told. */
  contextUsed: number;
  contextSize: number;
  cost: Cost | null;
  /** False when at least one turn reported nothing. */
  complete: boolean;
};

export type Session = {
  id: string;
  agentId: string;
  runtime: string;
  runtimeSessionId: string;
  /** `""` until the first message. */
  title: string;
  cwd: string;
  permissionMode: string;
  /** `""` is the runtime's own. */
  model: string;
  effort: string;
  state: SessionState;
  stateReason: string;
  origin: 'person' | 'room' | 'terminal';
  roomId: string | null;
  readOnly: boolean;
  queuedCount: number;
  pendingCount: number;
  lastMessagePreview: string;
  createdAt: string;
  updatedAt: string;
  usage: Usage;
};

export type Sessions = { sessions: Session[]; nextCursor: string | null; warnings: Warning[] };
/** One thing that could not be read; the rest of the list stands. */
export type Warning = string | { message: string; filePath?: string };

export type OpenSession = {
  id?: string;
  agentId?: string;
  cwd?: string;
  runtime?: string;
  title?: string;
  permissionMode?: string;
  model?: string;
  effort?: string;
  acknowledgedAutonomy?: boolean;
  resumeId?: string;
};

export type ChangeSession = {
  title?: string;
  permissionMode?: string;
  acknowledgedAutonomy?: boolean;
  model?: string;
  effort?: string;
};

export type PlanEntry = { content: string; status: string; priority: string };
export type ToolKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other';
export type ToolStatus = 'pending' | 'waiting' | 'in_progress' | 'completed' | 'failed' | 'denied' | 'cancelled';

export type ToolContent =
  | { type: 'text'; text: string }
  /** A change of one file, whole on both sides; `oldText` is null for a new one. */
  | { type: 'diff'; path: string; oldText: string | null; newText: string }
  | { type: 'unshown'; kind: string };

export type Location = { path: string; line: number | null };

export type ToolCall = {
  toolCallId: string;
  title: string;
  toolName: string;
  kind: ToolKind;
  status: ToolStatus;
  input: unknown;
  output: unknown;
  content: ToolContent[];
  locations: Location[];
};

export type Part =
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  | ({ type: 'tool_call' } & ToolCall)
  | { type: 'plan'; entries: PlanEntry[] }
  | { type: 'attachment'; name: string; mediaType: string; size: number };

export type Message = {
  id: string;
  /** From 1; 0 while it is queued. */
  seq: number;
  sessionId: string;
  turnId: string | null;
  role: 'user' | 'assistant' | 'notice';
  authorId: string;
  state: 'queued' | 'delivered' | 'streaming' | 'complete' | 'interrupted';
  createdAt: string;
  parts: Part[];
};

export type Messages = { messages: Message[]; nextCursor: string | null };
export type Accepted = { sessionId: string; messageId: string; outcome: 'started' | 'queued'; queuePosition: number };
export type Queued = { id: string; content: string; enqueuedAt: string; enqueuedBy: string };
export type Queue = { queue: Queued[] };
export type Cancelled = { ok: boolean; cancelledQueued: number };

export type TurnOutcome = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled' | 'interrupted' | 'failed';

export type AskOption = { optionId: string; name: string; kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' };

export type QuestionType = 'text' | 'number' | 'boolean' | 'choice' | 'multi' | 'link';
export type Question = {
  id: string;
  title: string;
  /** The address, for a link. */
  description: string;
  type: QuestionType;
  options: { value: string; label: string }[];
  required: boolean;
  default: unknown;
};

export type Resolution = 'approved' | 'denied' | 'answered' | 'expired' | 'cancelled';

export type Interaction = {
  id: string;
  sessionId: string;
  toolCallId: string;
  kind: 'tool_call' | 'question';
  state: 'pending' | 'granted' | 'denied' | 'expired' | 'withdrawn' | 'consumed';
  title: string;
  toolName: string;
  toolKind: ToolKind;
  input: unknown;
  inputTruncated: boolean;
  content: ToolContent[];
  locations: Location[];
  cwd: string;
  /** The permission mode in force. */
  mode: string;
  options: AskOption[];
  questions: Question[];
  /** Over what is asked; another input has another. */
  digest: string;
  opaque: boolean;
  openedAt: string;
  parksAt: string;
  expiresAt: string;
  remainingMs: number;
  parked: boolean;
  detached: boolean;
  resolution: Resolution | null;
  resolvedBy: string | null;
  resolvedAt: string | null;
};

/** As the list of all sessions answers it. */
export type PendingInteraction = Interaction & { agentId: string; roomId: string | null };
export type PendingInteractions = { interactions: PendingInteraction[] };

export type Decided = { ok: boolean };
export type Answers = Record<string, string | string[]>;

export type TaskStatus = 'pending' | 'in_progress' | 'completed';
export type Task = {
  id: string;
  subject: string;
  description: string;
  activeForm: string;
  status: TaskStatus;
  blockedBy: string[];
  blocks: string[];
  owner: string;
};
export type Tasks = { tasks: Task[] };

export type Command = {
  namespace: string;
  command: string;
  fullCommand: string;
  description: string;
  argumentHint: string;
  allowedTools: string[];
  /** Relative to the folder, `~/…` for a user's own, `""` when an agent reports it. */
  filePath: string;
};
export type Commands = { commands: Command[]; lastScanned: string; warnings: { filePath: string; message: string }[] };

export type PermissionMode = {
  id: string;
  label: string;
  description: string;
  /** What can happen without a question, in one plain sentence. */
  promise: string;
  native: string;
  stop: 'ask' | 'act' | 'autonomy';
  asks: 'always' | 'when-risky' | 'never';
  reach: 'read' | 'edit' | 'workspace' | 'everything';
  axis: 'trust' | 'working';
};

export type Capability = {
  type: string;
  supportsToolApproval: boolean;
  supportsCostTracking: boolean;
  supportsResume: boolean;
  supportsMcp: boolean;
  supportsManagedMcpServers: boolean;
  supportsQuestionPrompt: boolean;
  supportsPlugins: boolean;
  permissionModes: { supported: boolean; default: string; values: PermissionMode[] };
  settings: { configSection: string; supportsEffort: boolean; sections: { kind: string }[] };
  features: Record<string, unknown>;
};
export type Capabilities = { capabilities: Record<string, Capability>; defaultRuntime: string };

export type Runtime = {
  type: string;
  label: string;
  registered: boolean;
  installed: boolean;
  command: string;
  version: string;
  problem: string;
  installHint: string;
  checkedAt: string | null;
};
export type Runtimes = { runtimes: Runtime[] };

export type TurnState =
  | 'not_addressed' | 'refused' | 'collecting' | 'held' | 'running' | 'waiting' | 'answered' | 'silent' | 'failed' | 'stopped';

export type Turn = {
  /** `""` for one that is not stored. */
  id: string;
  roomId: string;
  agentAuthorId: string;
  triggerEntryIds: string[];
  cascadeRootId: string;
  depth: number;
  state: TurnState;
  rule: string;
  limit: { name: string; value: number; used: number; source: 'room' | 'install' } | null;
  sessionId: string | null;
  replyEntryId: string | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
};

export type TurnBudget = { roomUsed: number; roomMax: number; globalUsed: number; globalMax: number; resetsAt: string };
export type Turns = { turns: Turn[]; nextCursor: string | null; budget: TurnBudget };
export type Stopped = { stopped: number | string[] };

export type UsageGroup = 'day' | 'session' | 'agent' | 'runtime' | 'model' | 'room';
export type UsageRow = Usage & { key: string; costs: Cost[] };
export type UsageReport = { from: string; to: string; rows: UsageRow[] };
