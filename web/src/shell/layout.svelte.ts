/** What of the shell is open: the rail, the right panel (remembered per room), palette and key sheet. */

import { keep, kept } from '../ui/storage';

const RAIL = 'guildhall.rail';
const WIDTH = 'guildhall.panel-width';
export const PANEL_MIN_PX = 240;
export const PANEL_MAX_PX = 560;
const PANEL_PX = 300;
const panelKey = (roomId: string) => `guildhall.panel.${roomId}`;

class Layout {
  rail = $state(kept(RAIL) !== 'closed');
  palette = $state(false);
  keys = $state(false);
  /** At phone width the panel is a full-screen sheet and starts closed. */
  narrow = $state(false);
  panelWidth = $state(PANEL_PX);

  #wide = $state<Record<string, boolean>>({});
  #sheet = $state(false);

  constructor() {
    this.setPanelWidth(Number(kept(WIDTH)) || PANEL_PX);
    const narrow = matchMedia('(max-width: 900px)');
    this.narrow = narrow.matches;
    narrow.addEventListener('change', () => {
      this.narrow = narrow.matches;
      this.#sheet = false;
    });
  }

  toggleRail = (): void => {
    this.rail = !this.rail;
    keep(RAIL, this.rail ? '' : 'closed');
  };

  panelOpen(roomId: string): boolean {
    return this.narrow ? this.#sheet : (this.#wide[roomId] ?? kept(panelKey(roomId)) !== 'closed');
  }

  togglePanel = (roomId: string): void => {
    const open = !this.panelOpen(roomId);
    if (this.narrow) {
      this.#sheet = open;
      return;
    }
    this.#wide[roomId] = open;
    keep(panelKey(roomId), open ? '' : 'closed');
  };

  /** In pixels, kept within its bounds and remembered for all rooms. */
  setPanelWidth(width: number): void {
    this.panelWidth = Math.round(Math.min(PANEL_MAX_PX, Math.max(PANEL_MIN_PX, width)));
    keep(WIDTH, this.panelWidth === PANEL_PX ? '' : String(this.panelWidth));
    document.documentElement.style.setProperty('--panel', `${this.panelWidth}px`);
  }

  closeSheet(): void {
    this.#sheet = false;
  }
}

export const layout = new Layout();
