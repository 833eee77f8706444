/** The page's keys; single letters are dead in text fields and while a dialog is open. */

import { pendingDecisions } from '../approvals/pending-decisions.svelte';
import { rooms } from '../rooms/rooms.svelte';
import { isTextField } from '../ui/text-fields';
import { layout } from './layout.svelte';
import { letterShortcuts } from './letter-shortcuts.svelte';
import { approvalPath, roomPath } from './route';
import { router } from './router.svelte';

/** After `g` the second letter must come within this time. */
const CHORD_MS = 1_500;

const places: Record<string, string> = {
  h: '/', a: '/asks', r: '/rooms', w: '/sessions', e: '/agents', p: '/people', u: '/usage', s: '/settings', t: '/threads', f: '/search', d: '/files', b: '/browser', c: '/connections',
};

let chordUntil = 0;

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const command = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  if (command ? onCommand(event.key.toLowerCase()) : onLetter(event)) event.preventDefault();
}

function onCommand(key: string): boolean {
  if (key === 'k') {
    layout.palette = !layout.palette;
    return true;
  }
  if (document.querySelector('dialog[open]')) return false;
  if (key === 'b') {
    layout.toggleRail();
    return true;
  }
  if (key === '.' && (router.route.view === 'room' || router.route.view === 'session')) {
    layout.togglePanel(router.route.id);
    return true;
  }
  return false;
}

function onLetter(event: KeyboardEvent): boolean {
  if (!letterShortcuts.on) return false;
  if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target) || document.querySelector('dialog[open]')) {
    return false;
  }
  const now = Date.now();
  const place = now < chordUntil ? places[event.key] : undefined;
  chordUntil = 0;
  if (place !== undefined) {
    router.go(place);
    return true;
  }
  switch (event.key) {
    case 'g':
      chordUntil = now + CHORD_MS;
      return true;
    case '?':
      layout.keys = true;
      return true;
    case 'n': {
      const [interaction, news] = [pendingDecisions.list[0], rooms.news[0]];
      if (interaction) router.go(approvalPath(interaction.id));
      else if (news) router.go(roomPath(news.id));
      return true;
    }
    case 'j':
    case 'k':
      return step(event.key === 'j' ? 1 : -1);
    default:
      return false;
  }
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]';

/**
 * Moves focus through the items of the view: asks, sessions, rooms, entries, people, agents.
 * It chooses no ask: what is typed in good faith may begin with these letters.
 */
function step(by: 1 | -1): boolean {
  const items = [...document.querySelectorAll<HTMLElement>('main [data-item]')];
  if (items.length === 0) return false;
  const active = document.activeElement?.closest('[data-item]');
  const at = active ? items.indexOf(active as HTMLElement) : by === 1 ? -1 : items.length;
  const next = items[Math.min(items.length - 1, Math.max(0, at + by))];
  // A row that is nothing to press itself is gone to by the first thing in it that is.
  const target = next?.matches(FOCUSABLE) ? next : next?.querySelector<HTMLElement>(FOCUSABLE);
  target?.focus();
  next?.scrollIntoView({ block: 'nearest' });
  return true;
}
