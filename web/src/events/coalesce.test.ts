import { expect, test } from 'vitest';
import { coalesced } from './coalesce';

/** A reading whose answers come when the test says so. */
function slowReading() {
  const waiting: { answer: () => void; fail: (error: Error) => void }[] = [];
  const load = coalesced(() => new Promise((answer, fail) => waiting.push({ answer, fail })));
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  return { load, waiting, settled };
}

test('whoever asks while a reading is under way gets it taken once more, and only once', async () => {
  const { load, waiting, settled } = slowReading();
  const [first, second, third] = [load(), load(), load()];
  expect(waiting).toHaveLength(1);
  expect([second, third]).toEqual([first, first]);
  waiting[0]!.answer();
  await first;
  await settled();
  expect(waiting).toHaveLength(2);
  waiting[1]!.answer();
  await settled();
  expect(waiting).toHaveLength(2);
});

test('nobody asked meanwhile, nothing is read again; the next call reads', async () => {
  const { load, waiting, settled } = slowReading();
  const first = load();
  waiting[0]!.answer();
  await first;
  await settled();
  expect(waiting).toHaveLength(1);
  void load();
  expect(waiting).toHaveLength(2);
});

test('who asked hears of the failure, and the reading is taken again all the same', async () => {
  const { load, waiting, settled } = slowReading();
  const first = load();
  void load().catch(() => {});
  waiting[0]!.fail(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await settled();
  expect(waiting).toHaveLength(2);
  waiting[1]!.fail(new Error('still gone'));
  await settled();
  expect(waiting).toHaveLength(2);
});
