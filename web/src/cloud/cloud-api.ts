/** The calls of the cloud, one function an operation. */

import { changed, http, reading } from '../api/client';
import type { BillingAnswer, Page } from './types';

export const calls = {
  status: () => reading(http.GET('/api/cloud/status')),
  link: () => reading(http.GET('/api/cloud/link/status')),
  start: () => changed(http.POST('/api/cloud/link/start')),
  /** Also takes away what a finished try left to read. */
  cancel: () => changed(http.POST('/api/cloud/link/cancel')),
  check: () => changed(http.POST('/api/cloud/link/check')),
  unlink: () => changed(http.POST('/api/cloud/unlink')),
  offers: () => reading(http.GET('/api/cloud/offers')),
  /** `skuId` of a checkout only. */
  billing: async (page: Page, skuId: string | null): Promise<BillingAnswer> =>
    changed(http.POST('/api/cloud/billing/{page}', { params: { path: { page } }, ...(skuId === null ? {} : { body: { skuId } }) })),
};
