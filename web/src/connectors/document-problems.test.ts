import { expect, test } from 'vitest';
import { problemsOf } from './document-problems';

const refused = (details: unknown, code = 'TOOLKIT_DOCUMENT_INVALID') => problemsOf({ code, details });

test('every place that is named becomes a line', () => {
  const place = { pointer: '/paths/~1a/get', message: 'no such reference' };
  expect(refused([place, { pointer: '', message: 'no paths' }, 'plain'])).toEqual(['/paths/~1a/get: no such reference', 'no paths', 'plain']);
  expect(refused({ problems: [place] })).toEqual(['/paths/~1a/get: no such reference']);
});

test('anything else has no lines', () => {
  expect(problemsOf(null)).toEqual([]);
  for (const details of [null, 'text', {}, [7, null, {}]]) expect(refused(details)).toEqual([]);
  expect(refused(['x'], 'VALIDATION_FAILED')).toEqual([]);
});
