/** Arming for a card on the page: focus, content and window are watched, the rules are `arming`'s. */

import { armedFrom, isArmed, type Arming } from './arming';

/** Since when the window can be seen; null while it cannot. One watcher for all cards. */
const sight = { since: document.hidden ? null : performance.now(), cards: new Set<() => void>() };
document.addEventListener('visibilitychange', () => {
  sight.since = document.hidden ? null : performance.now();
  for (const tell of sight.cards) tell();
});

export class Armed {
  /** Whether buttons look alive; a press asks `ready`, which knows the very moment. */
  armed = $state(false);
  /** True while the focus is on the card or in it. */
  focused = $state(false);

  #focusedAt: number | null = null;
  #changedAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  ready = (): boolean => isArmed(this.#arming(), performance.now());

  /** What the card shows is another thing now. */
  changed = (): void => {
    this.#changedAt = performance.now();
    this.#wait();
  };

  /** Watches the card's element. */
  watch = (card: HTMLElement): (() => void) => {
    const enter = () => {
      if (this.#focusedAt !== null) return;
      this.#focusedAt = performance.now();
      queueMicrotask(this.#tell);
    };
    const leave = (event: FocusEvent) => {
      if (event.relatedTarget instanceof Node && card.contains(event.relatedTarget)) return;
      this.#focusedAt = null;
      queueMicrotask(this.#tell);
    };
    card.addEventListener('focusin', enter);
    card.addEventListener('focusout', leave);
    sight.cards.add(this.#wait);
    return () => {
      card.removeEventListener('focusin', enter);
      card.removeEventListener('focusout', leave);
      sight.cards.delete(this.#wait);
      clearTimeout(this.#timer);
    };
  };

  #arming(): Arming {
    return { focusedAt: this.#focusedAt, changedAt: this.#changedAt, visibleAt: sight.since };
  }

  /** Later than the event: a button that goes away loses its focus in the middle of drawing. */
  #tell = (): void => {
    this.focused = this.#focusedAt !== null;
    this.#wait();
  };

  #wait = (): void => {
    clearTimeout(this.#timer);
    this.armed = this.ready();
    const from = armedFrom(this.#arming());
    if (!this.armed && from !== null) this.#timer = setTimeout(this.#wait, from - performance.now() + 1);
  };
}
