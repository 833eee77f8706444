import { expect, test } from 'vitest';
import type { PermissionMode } from '../api/types';
import { needsConsent, nextMode } from './permission-modes';

const mode = (id: string, stop: PermissionMode['stop'], asks: PermissionMode['asks'], reach: PermissionMode['reach']): PermissionMode => ({
  id, label: id, description: '', promise: '', native: id, stop, asks, reach, axis: 'trust',
});

test('a mode that acts unattended, or never asks and does more than read, needs a word beforehand', () => {
  expect(needsConsent(mode('m', 'autonomy', 'never', 'everything'))).toBe(true);
  expect(needsConsent(mode('m', 'ask', 'never', 'edit'))).toBe(true);
  expect(needsConsent(mode('m', 'ask', 'never', 'read'))).toBe(false);
  expect(needsConsent(mode('m', 'act', 'when-risky', 'workspace'))).toBe(false);
});

test('the dial goes round', () => {
  const modes = [mode('a', 'ask', 'always', 'edit'), mode('b', 'act', 'when-risky', 'edit')];
  expect(nextMode(modes, 'a')?.id).toBe('b');
  expect(nextMode(modes, 'b')?.id).toBe('a');
  expect(nextMode(modes, 'gone')?.id).toBe('a');
  expect(nextMode([], 'a')).toBeUndefined();
});
