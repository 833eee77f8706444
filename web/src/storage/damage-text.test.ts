import { expect, test } from 'vitest';
import { damageText } from './damage-text';

const enclosure = { ports: 'ok', files: 'ok', scopes: 'ok', calls: 'ok' };
const ready = (status: 'ready' | 'draining' | 'degraded', store: string, disk = 'ok') => ({
  status,
  checks: { store, disk, tasks: 'ok', enclosure },
});

test('damaged data is told of, to the owner with what was found and what to do', () => {
  const found = 'the data is damaged (Tree 3 page 7: btreeInitPage() returns error code 11): reading goes on where it can';
  expect(damageText(ready('degraded', found), true)).toMatch(/restore a backup\. Found: Tree 3 page 7: btreeInitPage\(\) returns error code 11\.$/);
  expect(damageText(ready('degraded', 'not ok'), false)).toMatch(/nothing can be changed\. Tell the owner/);
});

test('whole data, a full disk and a server that stops have no banner', () => {
  expect(damageText(ready('ready', 'ok'), true)).toBeNull();
  expect(damageText(ready('degraded', 'ok', 'not ok'), true)).toBeNull();
  expect(damageText(ready('draining', 'the store does not answer'), true)).toBeNull();
});

test('a disk that was full has a banner for the owner, who can free it', () => {
  const full = 'looking at the disk: the disk was full; 5 bytes are left with the reserve';
  expect(damageText(ready('degraded', 'ok', full), true)).toMatch(/Nothing is added until there is room; remove/);
  expect(damageText(ready('degraded', 'ok', 'not ok'), false)).toBeNull();
});
