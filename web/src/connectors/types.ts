/** Short names for what goes over HTTP about connectors; the shapes come from `openapi.json`. */

import type { components } from '../api/schema';

type Schemas = components['schemas'];

export type ProviderType = Schemas['ProviderType'];
/** What can be made; the scripted one is there from the start. */
export type NewProviderType = Schemas['NewProviderType'];

export type ToolkitAuth = Schemas['ToolkitAuth'];
export type AuthKind = Schemas['ConnectorAuthKind'];
export type Classification = Schemas['OperationClassification'];
export type AccountProbe = Schemas['ToolkitAccount'];

export type Toolkit = Schemas['Toolkit'];
export type PutToolkit = Schemas['PutToolkit'];
export type Overrides = Toolkit['overrides'];
export type Provider = Schemas['ProviderInstance'];

/** A line of the catalog: something that can be connected. */
export type CatalogService = Schemas['CatalogService'];
export type CatalogPage = Schemas['Catalog'];

export type AuthFlow = Schemas['AuthFlow'];
export type AuthFlowState = Schemas['AuthFlowState'];
export type AuthFlowStep = Schemas['AuthFlowStep'];
export type StartConnection = Omit<Schemas['Connect'], 'idempotencyKey'>;

export type Connection = Schemas['ConnectorConnection'];
export type ReadinessState = Schemas['ConnectorReadinessState'];
/** A connection that the agent of a session can reach, and what the session says of it. */
export type SessionConnection = Schemas['SessionConnection'];

/** An operation as it is listed in a review; `id` is what is granted. */
export type OperationRevision = Schemas['OperationRevision'];
export type AgentGrants = Schemas['ConnectorGrant'];
export type Review = Schemas['ConnectorReview'];
export type GrantSelection = { grants: AgentGrants[]; everyAgent: string[] };

export type ExecutionSurface = Schemas['ExecutionSurface'];
export type AttemptStatus = Schemas['ExecutionStatus'];
/** One sending of an execution; without a status it is under way. */
export type ExecutionAttempt = Schemas['ConnectorAttempt'];
