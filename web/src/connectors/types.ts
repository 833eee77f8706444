/** Short names for what goes over HTTP about connectors; the shapes come from `openapi.json`. */

import type { components } from '../api/schema';

type Schemas = components['schemas'];

export type ProviderType = 'openapi' | 'mcp' | 'rehearsal';
/** What can be made; the scripted one is there from the start. */
export type NewProviderType = Exclude<ProviderType, 'rehearsal'>;

/** How a person signs in; the words of `openapi.json` that are texts only are those of the contract. */
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
export type Auth = { kind: 'none' } | (Omit<Extract<Schemas['ToolkitAuth'], { kind: 'api-key' }>, 'in'> & { in: 'header' | 'query' }) | Oauth2;
export type AuthKind = Auth['kind'];

export type Classification = Schemas['OperationClassification'];
export type AccountProbe = Schemas['ToolkitAccount'];
export type Overrides = Record<string, { classification?: Classification | null }>;

export type Toolkit = Omit<Schemas['Toolkit'], 'auth' | 'overrides'> & { auth: Auth; overrides: Overrides };
export type PutToolkit = Omit<Schemas['PutToolkit'], 'auth' | 'overrides' | 'document'> & { auth?: Auth; overrides?: Overrides; document?: unknown };
export type Provider = Omit<Schemas['ProviderInstance'], 'type' | 'toolkits'> & { type: ProviderType; toolkits: Toolkit[] };

/** A line of the catalog: something that can be connected. */
export type CatalogService = Omit<Schemas['CatalogService'], 'authKind'> & { authKind: AuthKind };
export type CatalogPage = Omit<Schemas['Catalog'], 'services'> & { services: CatalogService[] };

export type FlowState = 'starting' | 'pending' | 'connected' | 'failed' | 'expired' | 'start_unknown';
export type FlowStep = 'none' | 'browser' | 'device' | 'credential';
export type Flow = Omit<Schemas['AuthFlow'], 'state' | 'step'> & { state: FlowState; step: FlowStep };
export type StartConnection = Omit<Schemas['Connect'], 'idempotencyKey'>;

export type ReadinessState = 'ready' | 'paused' | 'needs_you' | 'unavailable' | 'gone';
export type Connection = Omit<Schemas['ConnectorConnection'], 'lifecycle' | 'accountStatus' | 'externalCleanup' | 'readiness'> & {
  lifecycle: 'connected' | 'paused' | 'disconnected';
  accountStatus: 'active' | 'expired' | 'revoked';
  externalCleanup: 'not_required' | 'pending' | 'complete' | 'failed';
  readiness: Omit<Schemas['ConnectorReadiness'], 'state'> & { state: ReadinessState };
};

/** An operation as it is listed in a review; `id` is what is granted. */
export type Revision = Schemas['OperationRevision'];
export type AgentGrants = Schemas['ConnectorGrant'];
export type Review = Omit<Schemas['ConnectorReview'], 'connection'> & { connection: Connection };
export type Selection = { grants: AgentGrants[]; everyAgent: string[] };

export type Surface = Schemas['ExecutionSurface'];
export type AttemptStatus = Schemas['ExecutionStatus'];
/** One sending of an execution; without a status it is under way. */
export type Attempt = Schemas['ConnectorAttempt'];
