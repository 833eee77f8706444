/** What an approval says and what became of it. Pure. */

import type { Approval, ApprovalState } from '../api/types';

/** A sentence of ours in two halves; the object between them is the asker's word. */
export type ApprovalSentence = { action: string; object: string };

const actions: Record<string, string> = {
  'mcp.add': 'wants to add the tool server',
  'mcp.update': 'wants to change the tool server',
  'mcp.remove': 'wants to remove the tool server',
  'mcp.import': 'wants to take from its folder the tool server',
  'connectors.access': 'wants to use the service',
  'connectors.execute': 'wants to run the operation',
};

/** What is wanted; an action this page does not know is told in the server's own words. */
export function approvalSentence({ kind, capability, title, card }: Pick<Approval, 'kind' | 'capability' | 'title' | 'card'>): ApprovalSentence {
  const object = text(card.name) || text(card.displayName) || text(card.title);
  if (kind === 'repin') return { action: 'asks again: this tool server is not what was allowed', object };
  return { action: actions[capability] ?? `asks: ${title}`, object };
}

/** Whether it tells what was before what is known: an approval waits, is decided and ends, and never goes back. */
export const isOlder = (told: ApprovalState, known: ApprovalState): boolean => stepOf(told) < stepOf(known);
const stepOf = (state: ApprovalState): number => (state === 'pending' ? 0 : state === 'granted' ? 1 : 2);

/** Whether a yes is given elsewhere: access to a service by granting operations of it. */
export const isGrantedElsewhere = ({ kind }: Pick<Approval, 'kind'>): boolean => kind === 'access';

/** Whether it is about a service outside this computer and not about a tool server. */
export const isOfConnectors = ({ capability }: Pick<Approval, 'capability'>): boolean => capability.startsWith('connectors.');

export type Variable = { name: string; value: string | null; loadsCode: boolean };

/** A tool server as the card shows it. */
export type ServerCard = {
  transport: string;
  command: string[];
  cwd: string;
  resolvedPath: string | null;
  executableSha256: string | null;
  scriptPath: string | null;
  scriptSha256: string | null;
  env: Variable[];
  url: string;
  headerNames: string[];
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []);

/** Null when the card is of something else. */
export function serverCardOf(card: Record<string, unknown>): ServerCard | null {
  if (typeof card.transport !== 'string') return null;
  const env = Array.isArray(card.env) ? (card.env as Partial<Variable>[]) : [];
  return {
    transport: card.transport,
    command: typeof card.command === 'string' ? [card.command, ...texts(card.args)] : [],
    cwd: text(card.cwd),
    resolvedPath: textOrNull(card.resolvedPath),
    executableSha256: textOrNull(card.executableSha256),
    scriptPath: textOrNull(card.scriptPath),
    scriptSha256: textOrNull(card.scriptSha256),
    env: env.map(({ name, value, loadsCode }) => ({ name: text(name), value: textOrNull(value), loadsCode: loadsCode === true })),
    url: text(card.url),
    headerNames: texts(card.headerNames),
  };
}

/** One line of a card of connectors; `id` where a name alone may be that of two. */
export type ServiceFact = { name: string; text: string; id: string };
/** A card of connectors; `args` is undefined where nothing is run. */
export type ServiceCard = { facts: ServiceFact[]; args: unknown; argsCut: boolean };

/** Null when the card is of something else. */
export function serviceCardOf({ capability, card }: Pick<Approval, 'capability' | 'card'>): ServiceCard | null {
  if (!isOfConnectors({ capability })) return null;
  const [label, account] = [text(card.connectionLabel), text(card.accountLabel)];
  const facts: ServiceFact[] = [
    { name: 'Service', text: text(card.displayName) || text(card.toolkit), id: '' },
    { name: 'Account', text: account === '' || account === label ? label : `${label}, ${account}`, id: text(card.connectionId) },
    { name: 'Operation', text: text(card.operation), id: text(card.operationRevisionId) },
    { name: 'Class', text: text(card.classification), id: '' },
    { name: 'Access', text: text(card.access), id: '' },
    { name: 'Purpose', text: text(card.purpose), id: '' },
  ];
  return { facts: facts.filter((fact) => fact.text !== ''), args: card.arguments, argsCut: card.argumentsCut === true };
}

/** One thing that is not as it was; `lines` where it is too much for a line. */
export type Difference = { name: string; before: string | null; after: string | null; lines: boolean };

/** What differs between the two sides of a card that shows both; null when it shows only one. */
export function differencesOf(card: Record<string, unknown>): Difference[] | null {
  const { before, after } = card;
  if (!isObject(before) || !isObject(after)) return null;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [was, is] = [written(before[name]), written(after[name])];
    if (was === is) return [];
    return [{ name, before: was, after: is, lines: [was, is].some((side) => side?.includes('\n') === true) }];
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function written(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

const shownOfServers = [
  'agentId', 'agentName', 'name', 'transport', 'command', 'args', 'cwd', 'resolvedPath', 'executableSha256',
  'scriptPath', 'scriptSha256', 'env', 'url', 'headerNames', 'before', 'after',
];
const shownOfServices = [
  'agentId', 'agentName', 'displayName', 'toolkit', 'connectionLabel', 'accountLabel', 'connectionId', 'operation', 'title',
  'operationRevisionId', 'classification', 'access', 'purpose', 'arguments', 'argumentsCut',
];

/** Members that neither the facts of the card nor its two sides show. */
export function otherCardFields({ capability, card }: Pick<Approval, 'capability' | 'card'>): Record<string, unknown> | null {
  const shown = isOfConnectors({ capability }) ? shownOfServices : shownOfServers;
  const rest = Object.entries(card).filter(([name, value]) => !shown.includes(name) && value !== null);
  return rest.length > 0 ? Object.fromEntries(rest) : null;
}

/** `executableSha256` → `executable sha256`. */
export const fieldLabel = (name: string): string => name.replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);

/** What became of it, and what that means. */
export function approvalOutcome({ kind, state, decidedAt }: Pick<Approval, 'kind' | 'state' | 'decidedAt'>): { word: string; told: string } {
  switch (state) {
    case 'pending':
      return { word: 'Waits', told: '' };
    case 'granted':
      return { word: 'Approved', told: kind === 'access' ? 'It may run what was granted.' : 'Whoever asked may do exactly this, once, and has not done it yet.' };
    case 'consumed':
      if (kind === 'access') return { word: 'Approved', told: 'It may run what was granted.' };
      return { word: 'Approved', told: kind === 'repin' ? 'It goes on as it is now.' : 'It was done, once.' };
    case 'denied':
      return { word: 'Denied', told: kind === 'repin' ? 'The server is switched off.' : 'Whoever asked was told no.' };
    case 'expired':
      return decidedAt === null
        ? { word: 'Refused: nobody answered in time', told: 'Nothing was done.' }
        : { word: 'Approved, but not used in time', told: 'Nothing was done.' };
    case 'withdrawn':
      return { word: 'Withdrawn', told: 'Nothing was done.' };
  }
}
