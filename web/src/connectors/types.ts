/** What goes over HTTP about connectors, in short names. */

export type ProviderType = 'openapi' | 'mcp' | 'rehearsal';
/** What can be made; the scripted one is there from the start. */
export type NewProviderType = Exclude<ProviderType, 'rehearsal'>;

export type Oauth2 = {
  kind: 'oauth2';
  flow: 'authorization_code' | 'device_code';
  issuer?: string | null;
  authorizationUrl?: string | null;
  tokenUrl?: string | null;
  deviceUrl?: string | null;
  clientId?: string | null;
  scopes?: string[];
};
export type ApiKeyAuth = { kind: 'api-key'; in: 'header' | 'query'; name: string; prefix?: string };
export type Auth = { kind: 'none' } | ApiKeyAuth | Oauth2;
export type AuthKind = Auth['kind'];

export type Classification = 'read' | 'write' | 'destructive';
export type AccountProbe = { path: string; pointer: string };
export type Overrides = Record<string, { classification?: Classification | null }>;

export type Toolkit = {
  slug: string;
  displayName: string;
  description: string;
  documentUrl: string | null;
  baseUrl: string | null;
  url: string | null;
  auth: Auth;
  account: AccountProbe | null;
  overrides: Overrides;
  version: string;
  operationCount: number;
  /** Operations that cannot be run from here, and the first of them. */
  leftOutCount: number;
  leftOut: { operation: string; reason: string }[];
  hasCredential: boolean;
};

export type PutToolkit = {
  displayName: string;
  description?: string;
  document?: unknown;
  documentUrl?: string;
  baseUrl?: string;
  url?: string;
  auth?: Auth;
  account?: AccountProbe | null;
  overrides?: Overrides;
};

export type Provider = {
  id: string;
  type: ProviderType;
  label: string;
  status: 'available' | 'unavailable';
  statusDetail: string | null;
  generation: number;
  toolkits: Toolkit[];
  createdAt: string;
  updatedAt: string;
};

/** A line of the catalog: something that can be connected. */
export type CatalogService = {
  providerInstanceId: string;
  toolkit: string;
  displayName: string;
  description: string;
  authKind: AuthKind;
  operationCount: number;
  available: boolean;
  reason: string | null;
};
export type CatalogPage = { services: CatalogService[]; nextCursor: string | null; warnings: string[] };

export type FlowState = 'starting' | 'pending' | 'connected' | 'failed' | 'expired' | 'start_unknown';
export type FlowStep = 'none' | 'browser' | 'device' | 'credential';

export type Flow = {
  flowId: string;
  providerInstanceId: string;
  toolkit: string;
  state: FlowState;
  step: FlowStep;
  authorizeUrl: string | null;
  userCode: string | null;
  verificationUri: string | null;
  verificationUriComplete: string | null;
  connectionId: string | null;
  reason: string | null;
  reconnectOf: string | null;
  createdAt: string;
  expiresAt: string;
  completedAt: string | null;
};

export type StartConnection = { providerInstanceId: string; toolkit: string; label?: string };

export type ReadinessState = 'ready' | 'paused' | 'needs_you' | 'unavailable' | 'gone';

export type Connection = {
  id: string;
  providerInstanceId: string;
  toolkit: string;
  label: string;
  accountLabel: string | null;
  lifecycle: 'connected' | 'paused' | 'disconnected';
  accountStatus: 'active' | 'expired' | 'revoked';
  enabled: boolean;
  readiness: { state: ReadinessState; reason: string | null; fix: string | null };
  externalCleanup: 'not_required' | 'pending' | 'complete' | 'failed';
  grantCount: number;
  createdAt: string;
  updatedAt: string;
};

/** An operation as it is listed in a review; `id` is the revision that is granted. */
export type Revision = {
  id: string;
  providerInstanceId: string;
  toolkit: string;
  operationSlug: string;
  title: string;
  description: string;
  toolkitVersion: string;
  schemaHash: string;
  classification: Classification;
  retryPolicy: 'never' | 'provider_idempotency_key';
  inputSchema: unknown;
  discoveredAt: string;
};

export type AgentGrants = { agentId: string; operationRevisionIds: string[] };

export type Review = {
  reviewId: string;
  connection: Connection;
  operations: Revision[];
  agents: { id: string; name: string }[];
  currentGrants: AgentGrants[];
  everyAgent: string[];
  expiresAt: string;
};

export type Selection = { grants: AgentGrants[]; everyAgent: string[] };

export type Surface = 'cli' | 'rest' | 'agent';
export type AttemptStatus = 'success' | 'error' | 'outcome_unknown' | 'cancelled' | 'unsupported';

/** One sending of an execution; without a status it is under way. */
export type Attempt = {
  logicalOperationId: string;
  attempt: number;
  agentId: string;
  connectionId: string;
  operationRevisionId: string;
  surface: Surface;
  classification: Classification;
  status: AttemptStatus | null;
  code: string | null;
  startedAt: string;
  endedAt: string | null;
};
export type AttemptsPage = { attempts: Attempt[]; nextCursor: string | null };
