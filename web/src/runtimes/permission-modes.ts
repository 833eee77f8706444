/** Permission modes in words. Pure. */

import type { PermissionMode } from '../api/types';

/** Whether a person must say beforehand that the mode may be used. Source: contract 3.6.4. */
export const needsConsent = ({ stop, asks, reach }: Pick<PermissionMode, 'stop' | 'asks' | 'reach'>): boolean =>
  stop === 'autonomy' || (asks === 'never' && reach !== 'read');

/** The mode after this one, around the dial; an unknown one leads to the first. */
export function nextMode(modes: readonly PermissionMode[], id: string): PermissionMode | undefined {
  const at = modes.findIndex((mode) => mode.id === id);
  return modes[(at + 1) % modes.length];
}

const asksWords = { always: 'asks before every act', 'when-risky': 'asks before a risky act', never: 'never asks' } as const;
const reachWords = {
  read: 'reads only',
  edit: 'changes files',
  workspace: 'anything in its folder',
  everything: 'anything this computer lets it',
} as const;

export const modeFacts = ({ asks, reach }: Pick<PermissionMode, 'asks' | 'reach'>): string => `${asksWords[asks]} · ${reachWords[reach]}`;
