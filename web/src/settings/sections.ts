/** The parts of the settings view, in their order. */

export type SettingsSection = {
  id: string;
  name: string;
  /** What only an account (mode `login`), or only the owner, can do anything with. */
  needs: 'nothing' | 'account' | 'owner';
};

export const sections: SettingsSection[] = [
  { id: 'appearance', name: 'Appearance', needs: 'nothing' },
  { id: 'account', name: 'Your account', needs: 'account' },
  { id: 'devices', name: 'Devices and keys', needs: 'nothing' },
  { id: 'people', name: 'People', needs: 'owner' },
  { id: 'enclosure', name: 'Enclosure', needs: 'owner' },
  { id: 'backups', name: 'Backups', needs: 'owner' },
  { id: 'storage', name: 'Storage', needs: 'owner' },
  { id: 'server', name: 'This server', needs: 'owner' },
];

/** The parts a caller is offered. */
export function sectionsFor(mode: string, isOwner: boolean): SettingsSection[] {
  return sections.filter(({ needs }) => needs === 'nothing' || (needs === 'account' ? mode === 'login' : isOwner));
}
