import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isKnown, sentenceFor } from './error-catalogue';

type Document = { paths: Record<string, Record<string, { responses?: Record<string, { description: string }> }>> };

/** Every code the document names for an operation. */
function codesOf({ paths }: Document): string[] {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const refusals = operations
    .flatMap((operation) => Object.entries(operation.responses ?? {}))
    .filter(([status]) => /^[45]\d\d$/.test(status));
  return [...new Set(refusals.flatMap(([, { description }]) => description.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? []))];
}

test('every refusal that the document names has a text of the page', () => {
  const codes = codesOf(JSON.parse(readFileSync('../openapi.json', 'utf8')) as Document);
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter((code) => !isKnown(code))).toEqual([]);
});

test('a code from a newer server shows the sentence that came with it', () => {
  expect(sentenceFor('BRAND_NEW', 'It rained.')).toBe('It rained.');
});
