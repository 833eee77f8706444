/** Whose canvas it is. Pure. */

export type CanvasPlace = { kind: 'room' | 'session'; id: string };

/** The scope its events are filed under. */
export const scopeOf = ({ kind, id }: CanvasPlace): string => `${kind}:${id}`;
