/** Light, dark, or as the system wishes; the choice is remembered in this browser. */

import { storeValue, storedValue } from '../ui/browser-storage';

export type ThemeChoice = 'auto' | 'light' | 'dark';

const KEY = 'guildhall.theme';
const CHOICES: ThemeChoice[] = ['auto', 'light', 'dark'];

class Theme {
  choice = $state<ThemeChoice>('auto');
  #system = matchMedia('(prefers-color-scheme: dark)');

  constructor() {
    const stored = storedValue(KEY);
    this.choice = CHOICES.find((choice) => choice === stored) ?? 'auto';
    this.#system.addEventListener('change', () => this.#apply());
    addEventListener('storage', (event) => {
      if (event.key === KEY) this.choice = CHOICES.find((choice) => choice === event.newValue) ?? 'auto';
      this.#apply();
    });
    this.#apply();
  }

  set(choice: ThemeChoice): void {
    this.choice = choice;
    storeValue(KEY, choice === 'auto' ? '' : choice);
    this.#apply();
  }

  next(): void {
    this.set(CHOICES[(CHOICES.indexOf(this.choice) + 1) % CHOICES.length] ?? 'auto');
  }

  #apply(): void {
    const dark = this.choice === 'dark' || (this.choice === 'auto' && this.#system.matches);
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  }
}

export const theme = new Theme();
