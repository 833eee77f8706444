/** Short names for what goes over HTTP; the shapes come from `openapi.json`. */

import type { Content } from '../canvas/content';
import type { components } from './schema';

type Schemas = components['schemas'];

export type Account = Schemas['Account'];
export type Agent = Schemas['Agent'];
export type AgentToken = Schemas['Token'];
/** By question: a text, or several where several may be chosen. */
export type Answers = Record<string, string | string[]>;
export type ApiKey = Schemas['Key'];
export type Approval = Omit<Schemas['Approval'], 'card'> & { card: Record<string, unknown> };
export type ApprovalState = Schemas['ApprovalState'];
export type AskOption = Schemas['AskOption'];
export type Attachment = Schemas['Attachment'];
/** An author, or its summary as it stands beside a room or a member. */
export type Author = AuthorSummary & Partial<Pick<Schemas['Author'], 'retired'>>;
export type AuthorSummary = Schemas['AuthorSummary'];
export type Cancelled = Schemas['CancelledTurn'];
/** What it shows is an open set to the page: a newer server may know more kinds. */
export type CanvasDocument = Omit<Schemas['CanvasDocument'], 'content'> & { content: Content };
export type Capabilities = Schemas['AllCapabilities'];
export type Capability = Schemas['RuntimeCapabilities'];
export type ChangeSession = Schemas['ChangeSession'];
export type Command = Schemas['SlashCommand'];
export type Commands = Schemas['Commands'];
export type Cost = Schemas['Cost'];
export type DiscoveredServers = Schemas['DiscoveredMcpServers'];
export type EntriesPage = Schemas['Entries'];
export type Entry = Schemas['Entry'];
export type Handles = Schemas['Handles'];
export type Health = Schemas['Health'];
export type Hit = Schemas['Hit'];
export type Interaction = Schemas['Interaction'];
export type Invitation = Schemas['Invitation'];
export type MadeKey = Schemas['MadeKey'];
export type McpConnection = Schemas['McpConnection'];
export type McpServer = Schemas['McpServer'];
export type Member = Schemas['Member'];
export type MentionSpan = Schemas['MentionSpan'];
export type Message = Schemas['Message'];
export type MintedToken = Schemas['MintedToken'];
export type OpenSession = Schemas['OpenSession'];
export type Part = Schemas['Part'];
export type PendingInteraction = Schemas['PendingInteraction'];
export type PermissionMode = Schemas['PermissionMode'];
export type PlanEntry = Schemas['PlanEntry'];
export type Question = Schemas['Question'];
export type Queued = Schemas['QueuedMessage'];
export type Reaction = Schemas['Reaction'];
export type ReadCursor = Schemas['ReadCursor'];
export type Resolution = Schemas['Resolution'];
export type ResponseMode = Schemas['ResponseMode'];
export type Room = Schemas['Room'];
export type RoomDetail = Schemas['RoomDetail'];
export type Runtime = Schemas['Runtime'];
export type Session = Schemas['Session'];
export type SessionState = Schemas['SessionState'];
export type TestedServer = Schemas['TestedMcpServer'];
export type Setting = Schemas['Setting'];
export type Task = Schemas['Task'];
export type TaskStatus = Schemas['TaskStatus'];
export type ThreadSeen = Schemas['ThreadSeen'];
export type ToolCall = Schemas['ToolCall'];
export type ToolContent = Schemas['ToolContent'];
export type ToolKind = Schemas['ToolKind'];
export type ToolStatus = Schemas['ToolStatus'];
export type Turn = Schemas['Turn'];
export type TurnBudget = Schemas['Budget'];
export type TurnState = Schemas['TurnState'];
export type Usage = Schemas['Usage'];
export type UsageGroup = 'day' | 'session' | 'agent' | 'runtime' | 'model' | 'room';
export type UsageReport = Schemas['UsageReport'];
export type Warning = Schemas['ListingWarning'];
export type WhoAmI = Schemas['Whoami'];
