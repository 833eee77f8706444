/** Short names for what goes over HTTP about the cloud; the shapes come from `openapi.json`. */

import type { components } from '../api/schema';

type Schemas = components['schemas'];

export type CloudLink = Schemas['CloudLink'];
export type LinkState = CloudLink['state'];
export type CloudStatus = Schemas['CloudStatus'];
/** What a person types, and where. */
export type LinkCode = Schemas['CloudCode'];

export type Offers = Schemas['CloudOffers'];
export type Offer = Schemas['Offer'];
export type Denomination = Schemas['Denomination'];

export type BillingPageKind = 'portal' | 'checkout' | 'topup';
/** An address, or why there is none: one of the three. */
export type BillingAnswer = { ok: boolean; url?: string; message?: string; problem?: unknown };
