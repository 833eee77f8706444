import { expect, test } from 'vitest';
import type { Task } from '../api/types';
import { blockersOf, progressOf, statusOf } from './task-list-summary';

const task = (id: string, status: Task['status'], more: Partial<Task> = {}): Task => ({
  id,
  subject: `Task ${id}`,
  description: '',
  activeForm: '',
  status,
  blockedBy: [],
  blocks: [],
  owner: '',
  ...more,
});

test('progress counts what is done and names what runs', () => {
  expect(progressOf([])).toEqual({ done: 0, all: 0, active: '' });
  const tasks = [task('1', 'completed'), task('2', 'in_progress', { activeForm: 'Building' }), task('3', 'pending')];
  expect(progressOf(tasks)).toEqual({ done: 1, all: 3, active: 'Building' });
  expect(progressOf([task('2', 'in_progress')]).active).toBe('Task 2');
});

test('only unfinished, known tasks hold another up, and a circle is only shown, never followed', () => {
  const one = task('1', 'pending', { blockedBy: ['2', '3', 'gone'] });
  const tasks = [one, task('2', 'completed'), task('3', 'pending', { blockedBy: ['1'] })];
  expect(blockersOf(one, tasks).map(({ id }) => id)).toEqual(['3']);
});

test('an unknown status reads as pending', () => {
  expect(statusOf('dreaming').word).toBe('pending');
});
