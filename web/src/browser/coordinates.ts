/** Where the page's pixels are on the screen. Pure. */

export type Size = { width: number; height: number };
export type Point = { x: number; y: number };

/** Bounds of the size of an embedded page. Source: contract 7.4. */
const SIDE = { min: 200, max: 4_096 };
const SCALE = { min: 0.5, max: 3 };

/** How large a page is shown in the room there is: whole, in its proportion, and never larger than it is. */
export function fitInto(page: Size, room: Size): Size {
  if (page.width <= 0 || page.height <= 0) return { width: 0, height: 0 };
  const part = Math.min(1, room.width / page.width, room.height / page.height);
  return { width: Math.max(1, Math.floor(page.width * part)), height: Math.max(1, Math.floor(page.height * part)) };
}

/** The point of the page that is shown at a point of the screen; outside of the picture the nearest one at its edge. */
export function pagePoint(page: Size, shown: { left: number; top: number } & Size, at: { clientX: number; clientY: number }): Point {
  const along = (from: number, length: number, to: number, side: number) =>
    length > 0 ? rounded(Math.min(Math.max(((to - from) / length) * side, 0), Math.max(0, side - 1))) : 0;
  return { x: along(shown.left, shown.width, at.clientX, page.width), y: along(shown.top, shown.height, at.clientY, page.height) };
}

/** Hundredths of a pixel are enough. */
const rounded = (px: number): number => Math.round(px * 100) / 100;

/** What the person wants the page's size to be. */
export const FIT_SIZE = 'As it fits';
export const sizes = [
  { name: FIT_SIZE, size: null },
  { name: 'Phone', size: { width: 390, height: 844 } },
  { name: 'Tablet', size: { width: 820, height: 1_180 } },
  { name: 'Desktop', size: { width: 1_280, height: 800 } },
] as const satisfies readonly { name: string; size: Size | null }[];
export type SizeName = (typeof sizes)[number]['name'];

export type Viewport = Size & { scale: number };

/** The viewport for a choice of size in the room there is; null while there is no room, as in a hidden panel. */
export function viewportFor(name: SizeName, room: Size, pixelRatio: number): Viewport | null {
  if (room.width < 1 || room.height < 1) return null;
  const size: Size = sizes.find((one) => one.name === name)?.size ?? room;
  const side = (px: number) => Math.round(Math.min(Math.max(px, SIDE.min), SIDE.max));
  const scale = Math.min(Math.max(Math.round(pixelRatio * 100) / 100, SCALE.min), SCALE.max);
  return { width: side(size.width), height: side(size.height), scale };
}
