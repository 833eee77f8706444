/** Settings as fields: groups, inputs by kind of value, and the lines of a configuration file. Pure. */

import type { Setting } from '../api/types';

export type SettingGroup = { prefix: string; name: string; settings: Setting[] };

export type FieldKind = 'boolean' | 'number' | 'text' | 'list' | 'other';

const NAMES: Record<string, string> = {
  agents: 'Agents',
  auth: 'Signing in',
  budgets: 'Budgets',
  cloud: 'Cloud',
  files: 'Files',
  limits: 'Limits of the server',
  metrics: 'Measurements',
  notifications: 'Notifications',
  rooms: 'Rooms and turns',
  runtimes: 'Agent runtimes',
  server: 'Network',
  storage: 'Data on disk',
};

const prefixOf = (key: string): string => key.slice(0, Math.max(0, key.indexOf('.')));

/** Settings that begin with the same word stand together, in the server's order. */
export function groupSettings(settings: readonly Setting[]): SettingGroup[] {
  const groups = new Map<string, Setting[]>();
  for (const setting of settings) groups.set(prefixOf(setting.key), [...(groups.get(prefixOf(setting.key)) ?? []), setting]);
  return [...groups].map(([prefix, some]) => ({ prefix, name: NAMES[prefix] ?? (prefix || 'Others'), settings: some }));
}

/** The settings whose key or description holds every word of `query`. */
export function settingsMatching(settings: readonly Setting[], query: string): Setting[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter(({ key, description }) => {
    const text = `${key} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** What kind of input a setting gets: by its value, or by its default where it has no value. */
export function kindOf({ value, default: usual }: Setting): FieldKind {
  const known = value ?? usual;
  if (typeof known === 'boolean') return 'boolean';
  if (typeof known === 'number') return 'number';
  if (typeof known === 'string' || known === null || known === undefined) return 'text';
  return Array.isArray(known) && known.every((item) => typeof item === 'string') ? 'list' : 'other';
}

/** The text a field starts with. */
export function toFieldText(kind: FieldKind, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (kind === 'list') return (value as string[]).join('\n');
  return kind === 'other' ? JSON.stringify(value, null, 2) : String(value);
}

export type ParsedField = { ok: true; value: unknown } | { ok: false; why: string };

/** The value a typed text stands for; a list has one item a line. */
export function parseField(kind: FieldKind, text: string): ParsedField {
  switch (kind) {
    case 'boolean':
      return { ok: true, value: text === 'true' };
    case 'number': {
      const value = Number(text.trim().replace(/(?<=\d)[ _,](?=\d{3}\b)/g, ''));
      return text.trim() === '' || !Number.isFinite(value) ? { ok: false, why: 'Write a number.' } : { ok: true, value };
    }
    case 'list':
      return { ok: true, value: text.split('\n').map((line) => line.trim()).filter(Boolean) };
    case 'text':
      return { ok: true, value: text.trim() };
    case 'other':
      try {
        return { ok: true, value: JSON.parse(text) };
      } catch {
        return { ok: false, why: 'This is not JSON.' };
      }
  }
}

/** A value as people read it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return value.toLocaleString('en-GB', { maximumFractionDigits: 20 });
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Who decided, in words. */
export const sources: Record<Setting['source'], { word: string; why: string }> = {
  default: { word: 'default', why: 'Nobody changed it.' },
  file: { word: 'file', why: 'Set in the file guildhall.toml of the data folder. What is changed here counts instead.' },
  env: { word: 'environment', why: 'Set by the environment the server was started in; it can only be changed there.' },
  flag: { word: 'flag', why: 'Set by a flag the server was started with; it can only be changed there.' },
  stored: { word: 'changed here', why: 'Changed on this page or by the command line.' },
};

/** True when only a restart with other words changes it. Source: contract 1.12b. */
export const isFixed = ({ source }: Setting): boolean => source === 'env' || source === 'flag';

/** Secrets are never readable. */
export const isSecret = ({ value }: Setting): boolean => value === '***';

/** Lines for `guildhall.toml`; without what has no value and without secrets. */
export function configLines(settings: readonly Setting[]): string {
  const lines = groupSettings(settings.filter((setting) => setting.value !== null && !isSecret(setting))).map(({ prefix, settings: some }) => {
    const body = some.map(({ key, value }) => `${tomlKey(prefix === '' ? key : key.slice(prefix.length + 1))} = ${toml(value)}`);
    return [...(prefix === '' ? [] : [`[${prefix}]`]), ...body].join('\n');
  });
  return `${lines.join('\n\n')}\n`;
}

const tomlKey = (key: string): string => (/^[A-Za-z0-9_.-]+$/.test(key) ? key : toml(key));

/** A JSON text is a TOML one too, but for the control character U+007F. */
function toml(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\u007F', '\\u007F');
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value).map(([key, inner]) => `${tomlKey(key)} = ${toml(inner)}`).join(', ')} }`;
  }
  return String(value);
}
