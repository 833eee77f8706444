import type { IconName } from './icons';

/** One line of a menu; `hint` stands at its end, in a softer colour. */
export type MenuItem = { label: string; icon?: IconName; danger?: boolean; hint?: string; deed: () => void };
