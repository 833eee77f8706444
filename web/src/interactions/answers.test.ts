import { expect, test } from 'vitest';
import type { Question } from '../api/types';
import { toAnswers, answerTexts, initialValues, missingAnswers } from './answers';

const question = (id: string, type: Question['type'], more: Partial<Question> = {}): Question => ({
  id, title: id, description: '', type, options: [], required: false, default: null, ...more,
});

test('fields begin with the defaults, and nothing is chosen without one', () => {
  const questions = [question('a', 'text', { default: 'x' }), question('b', 'boolean'), question('c', 'multi', { default: ['1', 2] }), question('d', 'number', { default: 3 })];
  expect(initialValues(questions)).toEqual({ a: 'x', b: '', c: ['1', '2'], d: '3' });
});

test('what must be answered is told, and a number has to be one', () => {
  const questions = [question('a', 'text', { required: true }), question('n', 'number'), question('m', 'multi', { required: true }), question('l', 'link', { required: true })];
  expect(missingAnswers(questions, { a: '', n: 'x', m: [] })).toEqual(['a', 'n', 'm']);
  expect(missingAnswers(questions, { a: 'x', n: '1.5', m: ['1'] })).toEqual([]);
});

test('only what was answered is sent', () => {
  const questions = [question('a', 'text'), question('b', 'boolean'), question('m', 'multi'), question('l', 'link')];
  expect(toAnswers(questions, { a: '', b: 'false', m: ['1'], l: 'x' })).toEqual({ b: 'false', m: ['1'] });
});

test('what was answered stands in the words of the form, without what was left open', () => {
  const options = [{ value: 'eu', label: 'Europe' }, { value: 'us', label: '' }];
  const questions = [question('name', 'text', { title: 'Its name?' }), question('sure', 'boolean'), question('in', 'multi', { options }), question('port', 'number'), question('more', 'text')];
  expect(answerTexts(questions, { name: 'api', sure: false, in: ['eu', 'us'], port: 80 })).toEqual([
    { id: 'name', title: 'Its name?', answers: ['api'] },
    { id: 'sure', title: 'sure', answers: ['No'] },
    { id: 'in', title: 'in', answers: ['Europe', 'us'] },
    { id: 'port', title: 'port', answers: ['80'] },
  ]);
});
