/** A question form's values on their way from its fields to the server, and as they are shown afterwards. Pure. */

import type { FormAnswers, Question } from '../api/types';

export type FormValues = Record<string, string | string[]>;

/** What stands in the fields at first: the agent's own defaults, and nothing chosen where it gave none. */
export function initialValues(questions: readonly Question[]): FormValues {
  return Object.fromEntries(questions.map((question) => [question.id, firstValue(question)]));
}

function firstValue({ type, default: given }: Question): string | string[] {
  if (type === 'multi') return Array.isArray(given) ? given.map(String) : [];
  return given === null || given === undefined || type === 'link' ? '' : String(given);
}

/** Ids of questions that must be answered and are not, or hold no number where one belongs. */
export function missingAnswers(questions: readonly Question[], values: FormValues): string[] {
  return questions
    .filter(({ id, type, required }) => {
      const value = values[id] ?? '';
      if (type === 'link') return false;
      if (type === 'number' && value !== '' && !Number.isFinite(Number(value))) return true;
      return required && value.length === 0;
    })
    .map(({ id }) => id);
}

/** What is sent: only what was answered. A link is opened, not answered. */
export function toAnswers(questions: readonly Question[], values: FormValues): FormAnswers {
  const given = questions.flatMap(({ id, type }): [string, string | string[]][] => {
    const value = values[id] ?? '';
    return type === 'link' || value.length === 0 ? [] : [[id, value]];
  });
  return Object.fromEntries(given);
}

/** What was answered, in the words of the form; a question that was left open is not among it. */
export function answerTexts(questions: readonly Question[], answers: Record<string, unknown>): { id: string; title: string; answers: string[] }[] {
  return questions.flatMap(({ id, type, title, options }) => {
    const given = answers[id];
    if (given === undefined) return [];
    const wordsOf = (value: unknown): string => {
      if (type === 'boolean') return value === true ? 'Yes' : 'No';
      return options.find((option) => option.value === value)?.label || String(value);
    };
    return [{ id, title: title || id, answers: (Array.isArray(given) ? given : [given]).map(wordsOf) }];
  });
}
