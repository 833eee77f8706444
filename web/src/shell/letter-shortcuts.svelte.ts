/** Whether single letters do something; who dictates or types blindly can switch them off (WCAG 2.1.4). */

import { storeValue, storedValue } from '../ui/browser-storage';

const KEY = 'guildhall.letters';

class Letters {
  on = $state(storedValue(KEY) !== 'off');

  set(on: boolean): void {
    this.on = on;
    storeValue(KEY, on ? '' : 'off');
  }
}

export const letterShortcuts = new Letters();
