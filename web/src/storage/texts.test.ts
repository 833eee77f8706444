import { expect, test } from 'vitest';
import type { Backups } from '../api/types';
import { decideAll, reasonText, resultText, revivedWords, secondFolderText } from './texts';

const one = { id: 'a' } as Backups['backups'][number];
const of = (backups: Backups['backups'], last: Backups['last']): Backups => ({ backups, bytesTotal: 1, bytesMax: 2, last, secondFolder: null });

test('a backup that could not be made, and none at all, are told as problems', () => {
  expect(resultText(of([one], { at: '', problem: 'the disk is full' }))).toEqual({
    text: 'The last backup could not be made: the disk is full.',
    isProblem: true,
  });
  expect(resultText(of([], null)).isProblem).toBe(true);
});

test('a good backup and a server that needed none are no problems', () => {
  expect(resultText(of([one], { at: '', problem: null })).isProblem).toBe(false);
  expect(resultText(of([one], null)).text).toMatch(/since the server started/);
});

test('a second folder is told with what became of the copies there', () => {
  const second = { folder: '/media/backups', isCopying: false, at: '2026-11-26T09:00:00Z', problem: null };
  expect(secondFolderText({ secondFolder: null })).toBeNull();
  expect(secondFolderText({ secondFolder: second })).toEqual({ text: 'Second folder: every backup that is kept is in /media/backups.', isProblem: false });
  expect(secondFolderText({ secondFolder: { ...second, isCopying: true } })?.text).toMatch(/copying/);
  expect(secondFolderText({ secondFolder: { ...second, problem: '/media/backups is not there' } })).toMatchObject({ isProblem: true });
});

test('a reason this page does not know is shown as it is', () => {
  expect(['scheduled', 'manual', 'beforeMigration', 'other'].map(reasonText)).toEqual(['in time', 'asked for', 'before an upgrade', 'other']);
});

test('each revived credential is named with whom it stands for and what ends it', () => {
  const rows: [string, string, string, string][] = [
    ['agentToken', 'ada', 'Token “ci” of ada', 'Revoke'],
    ['apiKey', 'Pia', 'API key “ci” of Pia', 'Revoke'],
    ['signIn', '', 'A sign-in of ci', 'Revoke'],
    ['password', '', 'The earlier password of ci', 'Take the later one'],
    ['account', '', 'The account of ci', 'Remove'],
    ['trustedBrowsers', '', 'Browsers opened by guildhall open: ci', 'Forget'],
    ['of a newer server', 'ada', 'ci of ada', 'Revoke'],
  ];
  for (const [kind, holder, title, action] of rows) expect(revivedWords({ kind, holder, label: 'ci', id: '' })).toMatchObject({ title, action });
});

test('one that cannot be decided keeps no other from being decided', async () => {
  const decided: string[] = [];
  const failed = await decideAll(['token', 'password', 'key'], (id) => {
    if (id === 'password') return Promise.reject(new Error('LATER_PASSWORD_MISSING'));
    decided.push(id);
    return Promise.resolve();
  });
  expect(decided).toEqual(['token', 'key']);
  expect(failed).toHaveLength(1);
});
