/** Arming for a card on the page: focus, place, content and window are watched, the rules are `arming`'s. */

import { isTextField } from '../ui/text-fields';
import { nextArming, initialArming, actionOfKey, isChoosing, isReached, isWriting, keyPressAllowedAt, letterAllowedAt, pressAllowedAt, type ArmingEvent, type KeyPress } from './arming';

/** How often it is looked whether a card stands where it stood. */
const LOOK_MS = 100;

/** What all cards need to know of the window. One watcher for all of them. */
const sight = {
  /** Since when the window can be seen; null while it cannot. */
  since: document.hidden ? null : performance.now(),
  /** The key that was written last, when, and when anything was written before it. */
  written: { key: '', at: -Infinity, before: -Infinity },
  /** True while a press of Tab moves the focus: the browser does that before any other task. */
  tabbing: false,
  /** When Tab was pressed last: what was written before it is behind the person. */
  tabbedAt: -Infinity,
  cards: new Set<{ happens: (happening: ArmingEvent) => void; look: () => void; show: () => void }>(),
  timer: undefined as ReturnType<typeof setInterval> | undefined,
};

function write(key: string): void {
  sight.written = { key, at: performance.now(), before: sight.written.at };
  for (const card of sight.cards) card.show();
}

function onkeydown(event: KeyboardEvent): void {
  const { key, modified } = pressOf(event);
  if (isWriting({ key, modified })) write(key);
  sight.tabbing = key === 'Tab' && !modified;
  if (!sight.tabbing) return;
  sight.tabbedAt = performance.now();
  setTimeout(() => (sight.tabbing = false), 0);
}

document.addEventListener('visibilitychange', () => {
  sight.since = document.hidden ? null : performance.now();
  for (const card of sight.cards) card.happens(document.hidden ? 'hidden' : 'shown');
});
// Before anything else can stop it.
window.addEventListener('keydown', onkeydown, true);
// What a keyboard on the screen, a voice or a paste writes comes without keys.
window.addEventListener('input', (event) => isTextField(event.target) && write(''), true);

function pressOf(event: KeyboardEvent): KeyPress {
  const { target } = event;
  return {
    key: event.key,
    inField: isTextField(target) || (target instanceof Element && target.closest('[role=menu], dialog') !== null),
    repeat: event.repeat,
    modified: event.ctrlKey || event.metaKey || event.altKey,
  };
}

/** Where a button stands on the screen, and in what can be scrolled. */
type Place = { screen: string; content: string };

function placeOf(button: Element): Place {
  const { left, top, width, height } = button.getBoundingClientRect();
  let [x, y] = [left, top];
  for (let around = button.parentElement; around; around = around.parentElement) {
    x += around.scrollLeft;
    y += around.scrollTop;
  }
  const join = (...numbers: number[]) => numbers.map(Math.round).join();
  return { screen: join(left, top, width, height), content: join(x, y, width, height) };
}

/** Whoever scrolls moves a button themselves, and one that stays on the screen while the page scrolls around it stays. */
const isMoved = (before: Place | undefined, { screen, content }: Place): boolean =>
  before === undefined || (before.screen !== screen && before.content !== content);

/** The page itself has scrolled: no card stands where a person saw it. */
export function scrolled(): void {
  for (const card of sight.cards) card.happens('moved');
}

export class ArmingWatcher {
  /** Whether buttons look alive; a press asks `counts`, which knows the very moment. */
  alive = $state(false);
  /** True while the focus is on the card or in it. */
  focused = $state(false);
  /** True while a person has chosen it. */
  chosen = $state(false);
  /** True while letters count. */
  lettered = $state(false);

  #arming = initialArming(performance.now(), sight.since);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #element: HTMLElement | undefined;
  /** Where its buttons stood at the last look. */
  #places = new Map<Element, Place>();
  /** The press of a pointer that is under way: when it began, and whether presses counted then. */
  #press: { at: number; counted: boolean } | null = null;
  #clicks = false;

  /** What the card shows is another thing now. */
  changed = (): void => this.#happens('changed');

  /** A person went back to the card from something in it. */
  choose = (): void => this.#happens('chosen');

  /** Whether the click that is under way may decide. */
  counts = (): boolean => {
    if (!this.#clicks) return false;
    const { changedAt, visibleAt } = this.#arming;
    // A pointer has pressed before it clicks. Enter and Space have not, nor have tools that press for people.
    if (this.#press) return this.#press.counted && visibleAt !== null && changedAt < this.#press.at;
    const { key, at, before } = sight.written;
    const writtenAt = key === 'Enter' || key === ' ' ? before : at;
    return isReached(keyPressAllowedAt(this.#arming, writtenAt < sight.tabbedAt ? -Infinity : writtenAt), performance.now());
  };

  /** What a key asks of the card, if it counts; `waits` where it would count a moment later, or were the card chosen. */
  action = (event: KeyboardEvent): { action: 'approve' | 'deny' | null; waits: boolean } => {
    const press = pressOf(event);
    if (isChoosing(press)) this.choose();
    const action = actionOfKey(press);
    const counts = isReached(letterAllowedAt(this.#arming, sight.written.before), performance.now());
    return { action: counts ? action : null, waits: action !== null && !counts };
  };

  /** Watches the card's element. */
  watch = (element: HTMLElement): (() => void) => {
    const card = { happens: this.#happens, look: this.#look, show: this.#show };
    const listeners = {
      focusin: () => this.#happens(sight.tabbing ? 'chosen' : 'focused'),
      focusout: (event: FocusEvent) => {
        if (!(event.relatedTarget instanceof Node && element.contains(event.relatedTarget))) this.#happens('left');
      },
      pointerdown: () => {
        this.#look();
        const now = performance.now();
        this.#press = { at: now, counted: isReached(pressAllowedAt(this.#arming), now) };
        this.#happens('chosen');
      },
      // A press that began here and a key that follows it are two things.
      keydown: () => (this.#press = null),
      click: () => {
        this.#clicks = true;
        // Whoever hears this click has asked by then.
        setTimeout(() => {
          this.#clicks = false;
          this.#press = null;
        }, 0);
      },
    };
    for (const [name, listener] of Object.entries(listeners)) element.addEventListener(name, listener as EventListener, true);
    this.#element = element;
    this.#happens('changed');
    sight.cards.add(card);
    sight.timer ??= setInterval(() => sight.cards.forEach(({ look }) => look()), LOOK_MS);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener as EventListener, true);
      sight.cards.delete(card);
      clearTimeout(this.#timer);
      if (sight.cards.size > 0) return;
      clearInterval(sight.timer);
      sight.timer = undefined;
    };
  };

  /** A button that the page moved a moment ago, or that was covered, is one that nobody aimed at. */
  #look = (): void => {
    const element = this.#element;
    if (!element) return;
    const covered = [...document.querySelectorAll('dialog:modal')].at(-1)?.contains(element) === false;
    const places = new Map([...element.querySelectorAll('button')].map((button) => [button, placeOf(button)]));
    const moved = [...places].some(([button, place]) => isMoved(this.#places.get(button), place));
    this.#places = places;
    if (moved || covered) this.#happens('moved');
  };

  #happens = (happening: ArmingEvent): void => {
    this.#arming = nextArming(this.#arming, happening, performance.now());
    // Later than the event: a button that goes away loses its focus in the middle of drawing.
    queueMicrotask(this.#show);
  };

  #show = (): void => {
    clearTimeout(this.#timer);
    this.focused = this.#arming.focusedAt !== null;
    this.chosen = this.#arming.chosenAt !== null;
    const now = performance.now();
    const froms = [pressAllowedAt(this.#arming), letterAllowedAt(this.#arming, sight.written.at)] as const;
    [this.alive, this.lettered] = [isReached(froms[0], now), isReached(froms[1], now)];
    const next = Math.min(...froms.flatMap((from) => (from !== null && from > now ? [from] : [])));
    if (next < Infinity) this.#timer = setTimeout(this.#show, next - now + 1);
  };
}
