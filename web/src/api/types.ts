/** Short names for what goes over HTTP; the shapes come from `openapi.json`. */

import type { Content } from '../canvas/content';
import type { components } from './schema';

type Schemas = components['schemas'];

export type Account = Schemas['Account'];
export type Agent = Schemas['Agent'];
export type AgentToken = Schemas['Token'];
export type ApiKey = Schemas['Key'];
export type Attachment = Schemas['Attachment'];
export type AuthorSummary = Schemas['AuthorSummary'];
/** An author, or its summary as it stands beside a room or a member. */
export type Author = AuthorSummary & Partial<Pick<Schemas['Author'], 'retired'>>;
/** What it shows is an open set to the page: a newer server may know more kinds. */
export type CanvasDocument = Omit<Schemas['CanvasDocument'], 'content'> & { content: Content };
export type EntriesPage = Schemas['Entries'];
export type Entry = Schemas['Entry'];
export type Handles = Schemas['Handles'];
export type Health = Schemas['Health'];
export type Hit = Schemas['Hit'];
export type Invitation = Schemas['Invitation'];
export type MadeKey = Schemas['MadeKey'];
export type Member = Schemas['Member'];
export type MentionSpan = Schemas['MentionSpan'];
export type MintedToken = Schemas['MintedToken'];
export type Reaction = Schemas['Reaction'];
export type ReadCursor = Schemas['ReadCursor'];
export type ResponseMode = Schemas['ResponseMode'];
export type Room = Schemas['Room'];
export type RoomDetail = Schemas['RoomDetail'];
export type Setting = Schemas['Setting'];
export type ThreadSeen = Schemas['ThreadSeen'];
export type Warning = Schemas['ListingWarning'];
export type WhoAmI = Schemas['Whoami'];
