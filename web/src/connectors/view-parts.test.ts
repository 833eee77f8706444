import { expect, test } from 'vitest';
import { partPath, viewParts, viewPartOf, reviewPath } from './view-parts';

const at = (path: string) => viewPartOf(new URL(path, 'http://x').searchParams);

test('every part and every review has its own address', () => {
  for (const { id } of viewParts) expect(at(partPath(id))).toEqual({ part: id });
  expect(at(reviewPath('a b&c'))).toEqual({ review: 'a b&c' });
});

test('what is not known shows the accounts', () => {
  for (const path of ['/connections', '/connections?show=else', '/connections?review=']) expect(at(path)).toEqual({ part: 'accounts' });
});
