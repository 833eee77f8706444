/** What agents are kept from, in words. Pure. */

import type { EnclosureChecks } from '../api/types';

/** `partial`: something of it is missing on this computer. `off`: the owner switched it off for all agents. */
export type EnclosureStatus = 'whole' | 'partial' | 'off';

export type Mechanism = { id: string; name: string; word: 'yes' | 'no' | 'off'; text: string };

const MECHANISMS: { id: keyof EnclosureChecks; name: string; keptFrom: string }[] = [
  { id: 'ports', name: 'The server’s ports', keptFrom: 'Connecting to this server as you do, or listening in its place.' },
  { id: 'files', name: 'The server’s files', keptFrom: 'Reading or changing its data folder: database, keys and configuration.' },
  { id: 'scopes', name: 'Other processes', keptFrom: 'Ending, debugging or looking into programs that the agent did not start.' },
  { id: 'calls', name: 'Ways around that', keptFrom: 'System calls that get around the rest.' },
];

/** `word` is the setting `agents.enclosure`. */
export function enclosureStatus(checks: EnclosureChecks, word: unknown): EnclosureStatus {
  if (word === 'off') return 'off';
  return MECHANISMS.every(({ id }) => checks[id] === 'ok') ? 'whole' : 'partial';
}

/** Each mechanism by itself; the sentence of one that is missing says what follows. */
export function mechanismsOf(checks: EnclosureChecks, standing: EnclosureStatus): Mechanism[] {
  return MECHANISMS.map(({ id, name, keptFrom }): Mechanism => {
    if (standing === 'off') return { id, name, word: 'off', text: keptFrom };
    return checks[id] === 'ok' ? { id, name, word: 'yes', text: keptFrom } : { id, name, word: 'no', text: checks[id] };
  });
}

/** Whether an agent is enclosed; the standing is null where it is not known. */
export function enclosedText(enclosed: boolean, standing: EnclosureStatus | null): string {
  if (!enclosed) return 'no';
  switch (standing) {
    case 'whole':
      return 'yes, kept from this server’s ports and files';
    case 'partial':
      return 'not completely';
    case 'off':
      return 'no, agents.enclosure is off';
    case null:
      return 'as far as this computer can';
  }
}
