import { expect, test } from 'vitest';
import { StartKeys } from './start-keys';

const LOST = new Error('lost');
const REFUSED = new Error('refused');
const answered = (error: unknown) => error !== LOST;

function keys() {
  let made = 0;
  return new StartKeys(() => `key ${++made}`);
}

test('a request keeps its key until it was answered', async () => {
  const all = keys();
  const used: string[] = [];
  const lose = (key: string): Promise<string> => (used.push(key), Promise.reject(LOST));
  const take = (key: string): Promise<string> => (used.push(key), Promise.resolve(key));
  await expect(all.with({ toolkit: 'mail' }, lose, answered)).rejects.toBe(LOST);
  await all.with({ toolkit: 'mail' }, take, answered);
  await all.with({ toolkit: 'mail' }, take, answered);
  expect(used).toEqual(['key 1', 'key 1', 'key 2']);
});

test('another request has another key, and a refusal ends one', async () => {
  const all = keys();
  const used: string[] = [];
  const lose = (key: string): Promise<string> => (used.push(key), Promise.reject(LOST));
  const refuse = (key: string): Promise<string> => (used.push(key), Promise.reject(REFUSED));
  await expect(all.with({ toolkit: 'mail', label: 'a' }, lose, answered)).rejects.toBe(LOST);
  await expect(all.with({ toolkit: 'mail', label: 'b' }, refuse, answered)).rejects.toBe(REFUSED);
  await expect(all.with({ toolkit: 'mail', label: 'b' }, refuse, answered)).rejects.toBe(REFUSED);
  await expect(all.with({ toolkit: 'mail', label: 'a' }, lose, answered)).rejects.toBe(LOST);
  expect(used).toEqual(['key 1', 'key 2', 'key 3', 'key 1']);
});
