import { expect, test } from 'vitest';
import { tableOf } from './csv';

test('quotes keep separators, newlines and doubled quotes', () => {
  expect(tableOf('a,b\r\n"1,5","say ""hi""\nthere"\r\n', 10)).toEqual({ header: ['a', 'b'], rows: [['1,5', 'say "hi"\nthere']], count: 1 });
});

test('the separator is found out', () => {
  expect(tableOf('a;b\n1,5;2', 10).rows).toEqual([['1,5', '2']]);
  expect(tableOf('a\tb\n1\t2', 10).rows).toEqual([['1', '2']]);
  expect(tableOf('"a;b;c",d\n1,2', 10)).toEqual({ header: ['a;b;c', 'd'], rows: [['1', '2']], count: 1 });
});

test('short and long rows are filled up, empty lines do not count', () => {
  expect(tableOf('\uFEFFa,b\n\n1\n1,2,3\n\n', 10)).toEqual({
    header: ['a', 'b', ''],
    rows: [['1', '', ''], ['1', '2', '3']],
    count: 2,
  });
  expect(tableOf('a,b\n,', 10).rows).toEqual([['', '']]);
});

test('rows beyond those kept are counted', () => {
  const table = tableOf(`n\n${Array.from({ length: 1500 }, (_, n) => n).join('\n')}`, 1000);
  expect([table.rows.length, table.count, table.rows.at(-1)]).toEqual([1000, 1500, ['999']]);
});

test('an empty text and an open quote break nothing', () => {
  expect(tableOf('', 10)).toEqual({ header: [], rows: [], count: 0 });
  expect(tableOf('a\n"open, and on\n', 10).rows).toEqual([['open, and on\n']]);
});
