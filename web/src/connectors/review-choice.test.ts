import { expect, test } from 'vitest';
import { carriedOver, choiceOf, differences, EVERYONE, groupsOf, isSelected, outdatedCount, selectionState, selectionOf, withSelection } from './review-choice';
import type { Classification, Review, OperationRevision } from './types';

const operation = (id: string, classification: Classification = 'read'): OperationRevision => ({
  id,
  providerInstanceId: 'p',
  toolkit: 't',
  operationSlug: `slug-${id}`,
  title: `Title ${id}`,
  description: '',
  toolkitVersion: '1',
  schemaHash: '',
  classification,
  retryPolicy: 'never',
  inputSchema: {},
  discoveredAt: '',
});

const review = (some: Partial<Review> = {}): Review => ({
  reviewId: 'r',
  connection: {} as Review['connection'],
  operations: [operation('o1'), operation('o2', 'write'), operation('o3', 'destructive')],
  agents: [
    { id: 'ada', name: 'Ada' },
    { id: 'bo', name: 'Bo' },
  ],
  currentGrants: [{ agentId: 'ada', operationRevisionIds: ['o1', 'gone'] }],
  everyAgent: ['o2', 'old'],
  expiresAt: '',
  ...some,
});

test('what is granted stands in the boxes, and what changed since is counted', () => {
  const choice = choiceOf(review());
  expect(isSelected(choice, 'ada', 'o1')).toBe(true);
  expect(isSelected(choice, 'bo', 'o1')).toBe(false);
  expect(isSelected(choice, EVERYONE, 'o2')).toBe(true);
  expect(selectionOf(choice)).toEqual({ grants: [{ agentId: 'ada', operationRevisionIds: ['o1'] }], everyAgent: ['o2'] });
  expect(outdatedCount(review())).toBe(2);
});

test('boxes are set and cleared one by one and by groups, and the first choice is not touched', () => {
  const first = choiceOf(review());
  const more = withSelection(first, 'bo', ['o1', 'o2'], true);
  expect([selectionState(more, 'bo', ['o1', 'o2']), selectionState(more, 'bo', ['o1', 'o3']), selectionState(more, 'bo', ['o3'])]).toEqual(['all', 'some', 'none']);
  expect(differences(first, more)).toBe(2);
  expect(differences(first, withSelection(more, 'bo', ['o1', 'o2'], false))).toBe(0);
  expect(isSelected(first, 'bo', 'o1')).toBe(false);
});

test('a new list keeps what is exactly the same and says how much is not', () => {
  const chosen = withSelection(withSelection(choiceOf(review()), 'bo', ['o1', 'o3'], true), EVERYONE, ['o3'], true);
  const next = review({ operations: [operation('o1'), operation('o9', 'destructive')], agents: [{ id: 'bo', name: 'Bo' }] });
  const { choice, lost } = carriedOver(chosen, next);
  expect(selectionOf(choice)).toEqual({ grants: [{ agentId: 'bo', operationRevisionIds: ['o1'] }], everyAgent: [] });
  // Ada with o1; Bo with o3; everyone with o2 and o3.
  expect(lost).toBe(4);
  expect(differences(choice, carriedOver(choice, next).choice)).toBe(0);
});

test('a choice that cleared a box is not overruled by what was granted', () => {
  const cleared = withSelection(choiceOf(review()), 'ada', ['o1'], false);
  expect(isSelected(carriedOver(cleared, review()).choice, 'ada', 'o1')).toBe(false);
});

test('operations stand by class, mildest first, and are found by all words', () => {
  const all = review().operations;
  expect(groupsOf(all, '').map(({ id, operations }) => [id, operations.length])).toEqual([
    ['read', 1],
    ['write', 1],
    ['destructive', 1],
  ]);
  expect(groupsOf(all, 'title O2').map(({ operations }) => operations.map(({ id }) => id))).toEqual([['o2']]);
  expect(groupsOf(all, 'nothing')).toEqual([]);
});
