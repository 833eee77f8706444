/** Whose canvas it is. Pure. */

export type CanvasOwner = { kind: 'room' | 'session'; id: string };

/** The scope its events are filed under. */
export const scopeOf = ({ kind, id }: CanvasOwner): string => `${kind}:${id}`;
