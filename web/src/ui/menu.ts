import type { IconName } from './icons';

/** One line of a menu: an action, or a link to something that is downloaded. `hint` stands at its end, in a softer colour. */
export type MenuItem = { label: string; icon?: IconName; danger?: boolean; hint?: string } & (
  | { onselect: () => void; href?: undefined }
  | { href: string; onselect?: undefined }
);
