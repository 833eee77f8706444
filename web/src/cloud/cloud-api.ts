/** The calls of the cloud, one function an operation. */

import { bodyOf, http, readSnapshot } from '../api/client';
import type { BillingAnswer, BillingPageKind } from './types';

export const cloudApi = {
  status: () => readSnapshot(http.GET('/api/cloud/status')),
  link: () => readSnapshot(http.GET('/api/cloud/link/status')),
  start: () => bodyOf(http.POST('/api/cloud/link/start')),
  /** Also takes away what a finished try left to read. */
  cancel: () => bodyOf(http.POST('/api/cloud/link/cancel')),
  check: () => bodyOf(http.POST('/api/cloud/link/check')),
  unlink: () => bodyOf(http.POST('/api/cloud/unlink')),
  offers: () => readSnapshot(http.GET('/api/cloud/offers')),
  /** `skuId` of a checkout only. */
  billing: async (page: BillingPageKind, skuId: string | null): Promise<BillingAnswer> =>
    bodyOf(http.POST('/api/cloud/billing/{page}', { params: { path: { page } }, ...(skuId === null ? {} : { body: { skuId } }) })),
};
