import { expect, test } from 'vitest';
import type { Setting } from '../api/types';
import { configLines, toFieldText, parseField, groupSettings, valueText, isFixed, kindOf, settingsMatching } from './setting-fields';
import { sectionsFor } from './sections';

const setting = (key: string, value: unknown, more: Partial<Setting> = {}): Setting => ({
  key,
  value,
  default: value,
  source: 'default',
  restartNeeded: false,
  description: `About ${key}`,
  ...more,
});
const all = [
  setting('files.roots', ['/home/ada', '/tmp']),
  setting('rooms.maxAgentDepth', 30),
  setting('rooms.turnLimitsEnabled', true),
  setting('server.allowedHosts', []),
];

test('settings stand together by their first word, in the server’s order', () => {
  expect(groupSettings(all).map(({ name, settings }) => [name, settings.length])).toEqual([
    ['Files', 1],
    ['Rooms and turns', 2],
    ['Network', 1],
  ]);
  expect(groupSettings([setting('odd', 1)])[0]).toMatchObject({ prefix: '', name: 'Others' });
  expect(groupSettings([setting('new.thing', 1)])[0]).toMatchObject({ name: 'new' });
});

test('a filter looks at keys and descriptions', () => {
  expect(settingsMatching(all, 'rooms depth').map(({ key }) => key)).toEqual(['rooms.maxAgentDepth']);
  expect(settingsMatching(all, '')).toHaveLength(4);
});

test('the input follows the type of the value, or of the default', () => {
  expect(all.map(kindOf)).toEqual(['list', 'number', 'boolean', 'list']);
  expect(kindOf(setting('cloud.url', null, { default: '' }))).toBe('text');
  expect(kindOf(setting('budgets.x', null, { default: 5 }))).toBe('number');
  expect(kindOf(setting('odd', { a: 1 }))).toBe('other');
});

test('a value survives the way into its field and back', () => {
  for (const one of [...all, setting('odd', { a: [1, 'x'] }), setting('cloud.url', 'https://a.example')]) {
    const kind = kindOf(one);
    expect(parseField(kind, toFieldText(kind, one.value))).toEqual({ ok: true, value: one.value });
  }
});

test('numbers may be written with separators, and what is none is refused', () => {
  expect(parseField('number', ' 10,000 ')).toEqual({ ok: true, value: 10_000 });
  expect(parseField('number', '')).toMatchObject({ ok: false });
  expect(parseField('number', 'ten')).toMatchObject({ ok: false });
  expect(parseField('other', '{')).toMatchObject({ ok: false });
});

test('values are said in words', () => {
  expect([true, 10_000, [], ['a', 'b'], '', null].map(valueText)).toEqual(['on', '10,000', 'none', 'a, b', 'not set', 'not set']);
});

test('only what a start decided is fixed', () => {
  expect((['default', 'file', 'env', 'flag', 'stored'] as const).map((source) => isFixed(setting('a.b', 1, { source })))).toEqual([
    false, false, true, true, false,
  ]);
});

test('a configuration file holds values as TOML, and no secrets', () => {
  const text = configLines([...all, setting('metrics.token', '***'), setting('cloud.url', 'https://a.example/"x"'), setting('cloud.none', null)]);
  expect(text).toBe(
    [
      '[files]',
      'roots = ["/home/ada", "/tmp"]',
      '',
      '[rooms]',
      'maxAgentDepth = 30',
      'turnLimitsEnabled = true',
      '',
      '[server]',
      'allowedHosts = []',
      '',
      '[cloud]',
      'url = "https://a.example/\\"x\\""',
      '',
    ].join('\n'),
  );
});

test('who is not the owner is offered neither people nor the server', () => {
  expect(sectionsFor('login', false).map(({ id }) => id)).toEqual(['appearance', 'account', 'devices']);
  expect(sectionsFor('login', true).map(({ id }) => id)).toEqual(['appearance', 'account', 'devices', 'people', 'enclosure', 'backups', 'storage', 'server']);
  expect(sectionsFor('local', true).map(({ id }) => id)).toEqual(['appearance', 'devices', 'people', 'enclosure', 'backups', 'storage', 'server']);
});
