/** What an ask says and which answers it takes. Pure. */

import type { AskOption, Interaction, PermissionMode, ToolKind } from '../api/types';

/** What the agent wants to do, as a verb and its objects; the objects are the agent's words. */
export type Headline = { action: string; objects: string[] };

const actions: Record<ToolKind, { one: string; bare: string }> = {
  read: { one: 'read', bare: 'read something' },
  edit: { one: 'change', bare: 'change a file' },
  delete: { one: 'delete', bare: 'delete something' },
  move: { one: 'move', bare: 'move something' },
  search: { one: 'search in', bare: 'search' },
  execute: { one: 'run a command', bare: 'run a command' },
  think: { one: 'go on thinking', bare: 'go on thinking' },
  fetch: { one: 'fetch from the network', bare: 'fetch from the network' },
  switch_mode: { one: 'switch its permission mode', bare: 'switch its permission mode' },
  other: { one: 'use a tool', bare: 'use a tool' },
};
const NAMES_PATHS: ToolKind[] = ['read', 'edit', 'delete', 'move', 'search'];

/** A sentence of ours; the agent's own title stands beside it in quotation marks. */
export function headlineOf(interaction: Pick<Interaction, 'kind' | 'toolKind' | 'toolName' | 'content' | 'locations'>): Headline {
  if (interaction.kind === 'question') return { action: 'asks you', objects: [] };
  const { one, bare } = actions[interaction.toolKind];
  if (interaction.toolKind === 'other' && interaction.toolName !== '') return { action: 'wants to use the tool', objects: [interaction.toolName] };
  if (!NAMES_PATHS.includes(interaction.toolKind)) return { action: `wants to ${bare}`, objects: [] };
  const paths = interaction.content.flatMap((content) => (content.type === 'diff' ? [content.path] : []));
  const objects = [...new Set(paths.length > 0 ? paths : interaction.locations.map(({ path }) => path))];
  const makes = interaction.toolKind === 'edit' && isNew(interaction) ? 'make' : one;
  return objects.length > 0 ? { action: `wants to ${makes}`, objects } : { action: `wants to ${bare}`, objects: [] };
}

function isNew({ content }: Pick<Interaction, 'content'>): boolean {
  const diffs = content.filter((part) => part.type === 'diff');
  return diffs.length > 0 && diffs.every((diff) => diff.oldText === null);
}

/** What a call can do to the world, one word each, with its sign. Source: experience, section 4. */
export type EffectLabel = { sign: string; word: string; grave: boolean };
const reaches: Record<ToolKind, EffectLabel> = {
  read: { sign: '◇', word: 'reads', grave: false },
  search: { sign: '◇', word: 'reads', grave: false },
  think: { sign: '◇', word: 'reads', grave: false },
  edit: { sign: '◆', word: 'writes', grave: false },
  move: { sign: '◆', word: 'irreversible', grave: true },
  delete: { sign: '◆', word: 'irreversible', grave: true },
  fetch: { sign: '↗', word: 'network', grave: false },
  execute: { sign: '◆', word: 'runs a program', grave: true },
  switch_mode: { sign: '◆', word: 'changes what it may do', grave: true },
  other: { sign: '?', word: 'unknown effect', grave: true },
};
export const effectLabel = ({ toolKind }: Pick<Interaction, 'toolKind'>): EffectLabel => reaches[toolKind];

/** actions that cannot be taken back: no standing permission is offered for them. */
const IRREVERSIBLE: ToolKind[] = ['delete', 'move', 'switch_mode'];

/** The options that allow more than this once; none for what cannot be taken back. */
export function alwaysOptions({ toolKind, options }: Pick<Interaction, 'toolKind' | 'options'>): AskOption[] {
  return IRREVERSIBLE.includes(toolKind) ? [] : options.filter(({ kind }) => kind === 'allow_always');
}

export const allowsOnce = ({ options }: Pick<Interaction, 'options'>): boolean => options.some(({ kind }) => kind === 'allow_once');

/** One argument a line; null when the input is not a command. A line for a shell stays one line: nobody can split it rightly. */
export type DisplayedCommand = { args: string[]; line: boolean };
export function commandOf({ toolKind, input }: Pick<Interaction, 'toolKind' | 'input'>): DisplayedCommand | null {
  if (toolKind !== 'execute' || typeof input !== 'object' || input === null) return null;
  const { command, cmd, args } = input as { command?: unknown; cmd?: unknown; args?: unknown };
  const said = command ?? cmd;
  const texts = (value: unknown): value is string[] => Array.isArray(value) && value.every((item) => typeof item === 'string');
  if (texts(said)) return { args: [...said], line: false };
  if (typeof said !== 'string') return null;
  return texts(args) && args.length > 0 ? { args: [said, ...args], line: false } : { args: [said], line: true };
}

/** Members of the input that the command does not show already. */
export function otherInputFields({ input }: Pick<Interaction, 'input'>): Record<string, unknown> | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null;
  const { command: _command, cmd: _cmd, args: _args, ...rest } = input as Record<string, unknown>;
  return Object.keys(rest).length === 0 ? null : rest;
}

/** Why the agent has to ask, in words. */
export function promptReason({ mode }: Pick<Interaction, 'mode'>, known: PermissionMode | undefined): string {
  const name = known?.label || mode;
  if (!known) return `It asks because of its permission mode, ${name}.`;
  const when = { always: 'before every act', 'when-risky': 'before a risky act', never: 'although it should not need to' }[known.asks];
  return `In the mode “${name}” it asks ${when}.`;
}

export type InteractionBatch<Ask> = { key: string; interactions: Ask[] };
const ONE_BY_ONE: ToolKind[] = ['delete', 'move', 'execute', 'switch_mode', 'other'];

/** Asks that may be answered at once: the same tool with the same reach in one session, two or more, nothing grave. */
export function interactionBatches<Ask extends Interaction>(interactions: readonly Ask[]): InteractionBatch<Ask>[] {
  const groups = new Map<string, Ask[]>();
  for (const interaction of interactions) {
    if (interaction.state !== 'pending' || interaction.kind !== 'tool_call' || interaction.opaque || interaction.inputTruncated) continue;
    if (ONE_BY_ONE.includes(interaction.toolKind) || !allowsOnce(interaction)) continue;
    const key = [interaction.sessionId, interaction.toolName, interaction.toolKind].join(' ');
    groups.set(key, [...(groups.get(key) ?? []), interaction]);
  }
  return [...groups].filter(([, some]) => some.length > 1).map(([key, some]) => ({ key, interactions: some }));
}

const MINUTE_MS = 60_000;

/** `45 s`, `3 min`, `1 h 5 min`; nothing below nought. */
export function durationText(ms: number): string {
  const left = Math.max(0, ms);
  if (left < MINUTE_MS) return `${Math.floor(left / 1000)} s`;
  const minutes = Math.floor(left / MINUTE_MS);
  if (minutes < 60) return `${minutes} min`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const outcomes = {
  approved: 'Approved',
  denied: 'Denied',
  answered: 'Answered',
  expired: 'Refused: nobody answered in time',
  cancelled: 'Withdrawn: the turn ended first',
} as const;
const told = {
  approved: 'The agent was allowed exactly this, once.',
  denied: 'The agent was told no.',
  answered: 'The agent got the answers.',
  expired: 'The agent was told no.',
  cancelled: 'Nothing was done.',
} as const;

export const isAlways = ({ reply }: Pick<Interaction, 'reply'>): boolean => reply?.option?.kind === 'allow_always';

/** What was decided. */
export function outcomeText(resolution: keyof typeof outcomes, interaction: Pick<Interaction, 'kind' | 'reply'>): string {
  if (resolution === 'approved' && isAlways(interaction)) return 'Always allowed';
  if (resolution === 'denied' && interaction.kind === 'question') return 'Not answered';
  return outcomes[resolution];
}

/** What the agent hears of a decision. One that is gone is started again for a yes and for answers; a no is only kept. */
export function agentOutcomeText(resolution: keyof typeof told, interaction: Pick<Interaction, 'kind' | 'detached' | 'opaque' | 'reply'>): string {
  const { kind, detached, opaque } = interaction;
  if (resolution === 'approved' && isAlways(interaction)) return 'The agent need not ask again for what it counts as alike.';
  if (resolution === 'denied' && kind === 'question' && !detached) return 'The agent was told that it gets no answer.';
  if (!detached || resolution === 'cancelled') return told[resolution];
  if (resolution === 'approved') return opaque ? 'The agent is started again and has to ask once more.' : 'The agent is started again and may do exactly this, once.';
  if (resolution === 'answered') return 'The agent is started again and gets the answers.';
  return 'The agent that asked was gone; nothing was done.';
}

/** What an answer does where the agent that asked is gone. */
export function detachedText({ kind, opaque }: Pick<Interaction, 'kind' | 'opaque'>): string {
  if (kind === 'question') return 'Answers start it again and are given to it; not answering is only written down.';
  if (opaque) return 'Approving starts it again, and it has to ask once more; denying is only written down.';
  return 'Approving starts it again and lets it do exactly this, once; denying is only written down.';
}
