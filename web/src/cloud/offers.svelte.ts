/** What the cloud service sells; read anew whenever the view is opened or the link changes. */

import { coalesced } from '../events/coalesce';
import { cloudApi } from './cloud-api';
import type { Offers } from './types';

class CloudOffers {
  /** Null until they were read. */
  seen = $state.raw<Offers | null>(null);
  error = $state<unknown>(null);

  load = coalesced(async () => {
    try {
      this.seen = (await cloudApi.offers()).body;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });
}

export const offers = new CloudOffers();
