import { expect, test } from 'vitest';
import type { EnclosureChecks } from '../api/types';
import { enclosedText, mechanismsOf, enclosureStatus } from './enclosure';

const whole: EnclosureChecks = { ports: 'ok', files: 'ok', scopes: 'ok', calls: 'ok' };
const without: EnclosureChecks = { ...whole, scopes: 'Agents can end other programs.' };
const off = Object.fromEntries(Object.keys(whole).map((id) => [id, 'agents.enclosure is off.'])) as EnclosureChecks;

test('it is whole only when every mechanism is there, and off only by the setting', () => {
  expect(enclosureStatus(whole, 'auto')).toBe('whole');
  expect(enclosureStatus(without, 'required')).toBe('partial');
  expect(enclosureStatus(off, 'off')).toBe('off');
  // Whether it was the owner's choice is not known without the setting.
  expect(enclosureStatus(off, undefined)).toBe('partial');
});

test('a missing mechanism says the server’s sentence, the others what they keep agents from', () => {
  const rows = mechanismsOf(without, 'partial');
  expect(rows.map(({ id, word }) => [id, word])).toEqual([['ports', 'yes'], ['files', 'yes'], ['scopes', 'no'], ['calls', 'yes']]);
  expect(rows[2]?.text).toBe('Agents can end other programs.');
  expect(rows[0]?.text).toContain('Connecting to this server');
});

test('switched off, the reason is not repeated in every row', () => {
  const rows = mechanismsOf(off, 'off');
  expect(new Set(rows.map(({ word }) => word))).toEqual(new Set(['off']));
  expect(rows.some(({ text }) => text.includes('agents.enclosure'))).toBe(false);
});

test('an agent counts as enclosed only as far as that is true', () => {
  expect(enclosedText(true, 'whole')).toMatch(/^yes/);
  expect(enclosedText(true, 'partial')).toBe('not completely');
  expect(enclosedText(true, null)).toBe('as far as this computer can');
  expect(enclosedText(true, 'off')).toMatch(/^no/);
  expect(enclosedText(false, 'whole')).toBe('no');
});
