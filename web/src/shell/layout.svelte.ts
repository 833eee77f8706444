/** What of the shell is open: the rail, the right panel (remembered per room and session), palette and key sheet. */

import { storeValue, storedValue } from '../ui/browser-storage';

const RAIL = 'guildhall.rail';
/** What the right panel can show of a room or a session; each has a width of its own, in pixels. */
export const panels = {
  members: { key: 'guildhall.panel-width', min: 240, usual: 300, max: 560 },
  canvas: { key: 'guildhall.canvas-width', min: 320, usual: 480, max: 1100 },
  turns: { key: 'guildhall.turns-width', min: 280, usual: 360, max: 640 },
  plan: { key: 'guildhall.plan-width', min: 240, usual: 320, max: 640 },
  browser: { key: 'guildhall.browser-width', min: 320, usual: 560, max: 1100 },
} as const;
export type Panel = keyof typeof panels;
/** Those that do not stand there by themselves. */
const remembered: Panel[] = ['canvas', 'turns', 'browser'];

const panelKey = (roomId: string) => `guildhall.panel.${roomId}`;
const shownKey = (roomId: string) => `guildhall.panel-shows.${roomId}`;

class Layout {
  rail = $state(storedValue(RAIL) !== 'closed');
  palette = $state(false);
  keys = $state(false);
  /** At phone width the panel is a full-screen sheet and starts closed. */
  narrow = $state(false);
  widths = $state<Record<Panel, number>>({
    members: panels.members.usual,
    canvas: panels.canvas.usual,
    turns: panels.turns.usual,
    plan: panels.plan.usual,
    browser: panels.browser.usual,
  });

  #wide = $state<Record<string, boolean>>({});
  #shows = $state<Record<string, Panel>>({});
  #sheet = $state(false);

  constructor() {
    for (const panel of Object.keys(panels) as Panel[]) this.setPanelWidth(panel, Number(storedValue(panels[panel].key)) || panels[panel].usual);
    const narrow = matchMedia('(max-width: 900px)');
    this.narrow = narrow.matches;
    narrow.addEventListener('change', () => {
      this.narrow = narrow.matches;
      this.#sheet = false;
    });
  }

  toggleRail = (): void => {
    this.rail = !this.rail;
    storeValue(RAIL, this.rail ? '' : 'closed');
  };

  panelOpen(roomId: string): boolean {
    return this.narrow ? this.#sheet : (this.#wide[roomId] ?? storedValue(panelKey(roomId)) !== 'closed');
  }

  /** Which panel the room shows when it shows one. */
  panelOf(roomId: string): Panel {
    return this.#chosen(roomId) ?? 'members';
  }

  /** Which panel the session shows when it shows one. */
  panelOfSession(sessionId: string): Panel {
    const chosen = this.#chosen(sessionId);
    return chosen === 'canvas' || chosen === 'browser' ? chosen : 'plan';
  }

  shows(roomId: string, panel: Panel): boolean {
    return this.panelOpen(roomId) && this.panelOf(roomId) === panel;
  }

  /** What was chosen beside the panel that stands there first. */
  #chosen(id: string): Panel | undefined {
    const stored = storedValue(shownKey(id));
    return this.#shows[id] ?? remembered.find((panel) => panel === stored);
  }

  togglePanel = (roomId: string): void => this.#setOpen(roomId, !this.panelOpen(roomId));

  /** Opens the panel on `panel`. */
  showPanel(roomId: string, panel: Panel): void {
    this.#shows[roomId] = panel;
    storeValue(shownKey(roomId), remembered.find((one) => one === panel) ?? '');
    this.#setOpen(roomId, true);
  }

  #setOpen(roomId: string, open: boolean): void {
    if (this.narrow) {
      this.#sheet = open;
      return;
    }
    this.#wide[roomId] = open;
    storeValue(panelKey(roomId), open ? '' : 'closed');
  }

  /** In pixels, kept within its bounds and remembered for all rooms. */
  setPanelWidth(panel: Panel, width: number): void {
    const { key, min, usual, max } = panels[panel];
    this.widths[panel] = Math.round(Math.min(max, Math.max(min, width)));
    storeValue(key, this.widths[panel] === usual ? '' : String(this.widths[panel]));
    document.documentElement.style.setProperty(`--panel-${panel}`, `${this.widths[panel]}px`);
  }

  closeSheet(): void {
    this.#sheet = false;
  }
}

export const layout = new Layout();
