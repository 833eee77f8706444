/** What a list of tasks says as a whole. Pure. */

import type { Task, TaskStatus } from '../api/types';

/** Task words are exactly these. */
export const statusText: Record<TaskStatus, { sign: string; word: string }> = {
  pending: { sign: '◌', word: 'pending' },
  in_progress: { sign: '●', word: 'in progress' },
  completed: { sign: '✓', word: 'completed' },
};

/** A status that is not known counts as not begun. */
export const statusOf = (status: string): { sign: string; word: string } =>
  statusText[status as TaskStatus] ?? statusText.pending;

export type Progress = { done: number; all: number; active: string };

/** `active` is what the agent does now, in its own words; `""` when nothing runs. */
export function progressOf(tasks: readonly Task[]): Progress {
  const current = tasks.find(({ status }) => status === 'in_progress');
  return {
    done: tasks.filter(({ status }) => status === 'completed').length,
    all: tasks.length,
    active: current ? current.activeForm || current.subject : '',
  };
}

/** The tasks that still hold this one up; finished ones no longer do, unknown ids never did. */
export function blockersOf(task: Task, tasks: readonly Task[]): Task[] {
  return task.blockedBy.flatMap((id) => tasks.filter((other) => other.id === id && other.status !== 'completed'));
}
