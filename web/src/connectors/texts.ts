/** What is said of connectors, in the page's vocabulary and in plain words. Pure. */

import type { Status } from '../attention/status';
import { escapeHidden } from '../text/entry-pieces';
import type { AttemptStatus, ToolkitAuth, AuthKind, Classification, Connection, AuthFlow, AuthFlowState, Provider, ProviderType, ReadinessState, ExecutionSurface } from './types';

export type StatusLabel = { status: Status; words: string };

const readinesses: Record<ReadinessState, StatusLabel> = {
  ready: { status: 'done', words: 'ready' },
  paused: { status: 'held', words: 'paused' },
  needs_you: { status: 'needs you', words: 'needs you' },
  unavailable: { status: 'failed', words: 'unavailable' },
  gone: { status: 'idle', words: 'disconnected' },
};

export const connectionStatus = ({ readiness }: Pick<Connection, 'readiness'>): StatusLabel =>
  readinesses[readiness.state] ?? { status: 'unknown', words: readiness.state };

/** True where something of it is broken or needs a person. */
export function isBroken(connection: Pick<Connection, 'readiness'>): boolean {
  const { status } = connectionStatus(connection);
  return status === 'needs you' || status === 'failed';
}

/** The one thing that mends a connection; null where nothing does, or nothing has to. */
export type ConnectionFix = 'reconnect' | 'resume' | 'switch on' | 'providers';

export function fixOf({ readiness, lifecycle }: Pick<Connection, 'readiness' | 'lifecycle'>): ConnectionFix | null {
  switch (readiness.state) {
    case 'needs_you':
      return 'reconnect';
    case 'paused':
      return lifecycle === 'paused' ? 'resume' : 'switch on';
    case 'unavailable':
      return 'providers';
    default:
      return null;
  }
}

/** What became of its credentials at the service; `""` where there is nothing to say. */
export function cleanupText({ lifecycle, externalCleanup }: Pick<Connection, 'lifecycle' | 'externalCleanup'>): string {
  if (lifecycle !== 'disconnected') return '';
  switch (externalCleanup) {
    case 'pending':
      return 'The service is being told to take its credentials back.';
    case 'complete':
      return 'The service took its credentials back.';
    case 'failed':
      return 'The service could not be told. Take the access back there yourself.';
    default:
      return 'There is nothing to take back at the service.';
  }
}

export const grantText = ({ grantCount }: Pick<Connection, 'grantCount'>): string =>
  grantCount === 0 ? 'no agent may use it' : grantCount === 1 ? '1 grant' : `${grantCount} grants`;

const flows: Record<AuthFlowState, StatusLabel> = {
  starting: { status: 'working', words: 'starting' },
  pending: { status: 'needs you', words: 'waits for you' },
  connected: { status: 'done', words: 'connected' },
  failed: { status: 'failed', words: 'failed' },
  expired: { status: 'expired', words: 'expired' },
  start_unknown: { status: 'failed', words: 'start unknown' },
};

export const flowStatus = ({ state, step }: Pick<AuthFlow, 'state' | 'step'>): StatusLabel =>
  state === 'pending' && step === 'none' ? { status: 'working', words: 'connecting' } : (flows[state] ?? { status: 'unknown', words: state });

export const isFinal = ({ state }: Pick<AuthFlow, 'state'>): boolean => state !== 'starting' && state !== 'pending';

/** What a flow asks for now, or what came of it. */
export function flowText({ state, step, reason }: Pick<AuthFlow, 'state' | 'step' | 'reason'>): string {
  switch (state) {
    case 'starting':
      return 'The service is being asked how you sign in.';
    case 'pending':
      if (step === 'browser') return 'Open the sign-in and give access there. It then comes back here by itself.';
      if (step === 'device') return 'Open the address and type the code there.';
      if (step === 'credential') return 'Enter the key that the service gave you.';
      return 'Almost done.';
    case 'connected':
      return 'Connected. Say now what agents may do with it.';
    case 'expired':
      return 'Nobody finished it in time. Nothing was connected.';
    case 'start_unknown':
      return reason ? escapeHidden(reason) : 'guildhall was stopped while it asked the service. Start it again.';
    default:
      return reason ? escapeHidden(reason) : 'It did not lead to a connection.';
  }
}

export const providerStatus = ({ status, statusDetail }: Pick<Provider, 'status' | 'statusDetail'>): StatusLabel =>
  status === 'available' ? { status: 'done', words: 'available' } : { status: 'failed', words: statusDetail ? escapeHidden(statusDetail) : 'unavailable' };

export const typeText: Record<ProviderType, string> = { openapi: 'OpenAPI', mcp: 'MCP', rehearsal: 'scripted' };

const auths: Record<AuthKind, string> = { none: 'no sign-in', 'api-key': 'with a key', oauth2: 'with a sign-in' };
export const authText = (kind: AuthKind): string => auths[kind] ?? kind;

/** How a toolkit's requests say who asks, with what is not secret of it. */
export function authFacts(auth: ToolkitAuth): string {
  if (auth.kind === 'api-key') return `key in ${auth.in === 'header' ? 'header' : 'query parameter'} ${auth.name}`;
  if (auth.kind === 'oauth2') return auth.flow === 'device_code' ? 'sign-in by a code' : 'sign-in on its page';
  return 'no sign-in';
}

/** What comes after "Connect". */
export function nextStepText(kind: AuthKind): string {
  if (kind === 'api-key') return 'You are asked for its key next.';
  if (kind === 'oauth2') return 'You are led to its sign-in next, or given a code to type there.';
  return 'It needs no sign-in, so it is connected at once.';
}

export const SECRET_STORAGE_TEXT = 'Keys and tokens are sealed on this computer, never shown again, and never given to an agent.';

export const operationText = (count: number): string => (count === 1 ? '1 operation' : `${count} operations`);

/** Mildest first, as a person reads them. */
export const classifications: { id: Classification; name: string; means: string }[] = [
  { id: 'read', name: 'Reads', means: 'Looks only.' },
  { id: 'write', name: 'Writes', means: 'Changes something that can be changed back.' },
  { id: 'destructive', name: 'Destroys', means: 'Takes away, or nobody says what it does. You are asked each time a program wants it.' },
];

const outcomes: Record<AttemptStatus, StatusLabel> = {
  success: { status: 'done', words: 'success' },
  error: { status: 'failed', words: 'error' },
  outcome_unknown: { status: 'unknown', words: 'outcome unknown' },
  cancelled: { status: 'idle', words: 'cancelled' },
  unsupported: { status: 'failed', words: 'unsupported' },
};

export const attemptStatus = (status: AttemptStatus | null): StatusLabel =>
  status === null ? { status: 'working', words: 'under way' } : (outcomes[status] ?? { status: 'unknown', words: status });

const surfaces: Record<ExecutionSurface, string> = { cli: 'command line', rest: 'HTTP', agent: 'the agent itself' };
export const surfaceText = (surface: ExecutionSurface): string => surfaces[surface] ?? surface;
