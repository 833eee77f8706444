/** Whether single letters do something; who dictates or types blindly can switch them off (WCAG 2.1.4). */

import { keep, kept } from '../ui/browser-storage';

const KEY = 'guildhall.letters';

class Letters {
  on = $state(kept(KEY) !== 'off');

  set(on: boolean): void {
    this.on = on;
    keep(KEY, on ? '' : 'off');
  }
}

export const letters = new Letters();
