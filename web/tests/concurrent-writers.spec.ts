/** Three writers of one file for a minute: what somebody was told is saved is never gone unseen. */

import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '@playwright/test';
import { filesPath } from '../src/files/paths';
import { expect, test } from './test-server';

/** How long each of the two parts takes. */
const PART_MS = 30_000;
/** How long the program rests between two changes: longer than a person needs to write a line. */
const REST_MS = 1_500;

/** One window: what its person saw of the file, and what was answered to each save. */
class Writer {
  readonly saved: string[] = [];
  /** Hashes of every state of the file that this window was given. */
  readonly seen = new Set<string>();
  /** What each save took the place of. */
  readonly replaced: string[] = [];
  refusals = 0;
  #round = 0;

  constructor(
    readonly name: string,
    readonly page: Page,
  ) {
    page.on('response', async (response) => {
      if (!response.url().includes('/api/files/content')) return;
      const body = (await response.json().catch(() => ({}))) as { hash?: string; currentHash?: string };
      for (const hash of [body.hash, body.currentHash]) if (hash) this.seen.add(hash);
    });
  }

  /** Writes one line more and saves it; whose file it no longer is takes what there is and writes again. */
  async write(): Promise<void> {
    this.#round += 1;
    const line = `${this.name} ${this.#round}`;
    const text = this.page.getByRole('textbox', { name: /^Text of/ });
    for (;;) {
      await text.click();
      await this.page.keyboard.press('ControlOrMeta+End');
      await this.page.keyboard.type(`${line}\n`);
      const answered = this.page.waitForResponse((response) => response.request().method() === 'PUT' && response.url().includes('/api/files/content'));
      await this.page.keyboard.press('ControlOrMeta+s');
      const answer = await answered;
      if (answer.ok()) {
        const { expectedHash } = answer.request().postDataJSON() as { expectedHash: string };
        this.replaced.push(expectedHash);
        this.saved.push(line);
        return;
      }
      expect([409, 412]).toContain(answer.status());
      this.refusals += 1;
      const again = answer.status() === 409 ? 'Take theirs' : /^Reload/;
      await this.page.getByRole('button', { name: again }).click();
      await this.page.getByRole('button', { name: 'Forget it' }).click();
    }
  }
}

test('two windows and a program fight over a file, and nothing saved is gone unseen', async ({ server, windows }) => {
  test.setTimeout(10 * PART_MS);
  const folder = server.folder('project');
  const file = join(folder, 'notes.txt');
  writeFileSync(file, 'begin\n');
  const writers = [new Writer('ada', await windows.open('/')), new Writer('ben', await windows.open('/'))];
  for (const { page } of writers) await page.goto(`${server.url}${filesPath(folder, 'notes.txt')}`);

  // On a slow computer whoever had no turn yet goes on, and the others leave them alone.
  const part = async (outside: () => void, hadTurn: (writer: Writer) => boolean) => {
    const ends = Date.now() + PART_MS;
    const program = async () => {
      while (Date.now() < ends) {
        await pause(REST_MS);
        outside();
      }
    };
    const person = async (writer: Writer) => {
      while (Date.now() < ends || !hadTurn(writer)) await writer.write();
    };
    await Promise.all([program(), ...writers.map(person)]);
  };

  // A program that adds to the file as it is loses nothing of others, so all of theirs is there.
  let count = 0;
  await part(
    () => appendFileSync(file, `program ${(count += 1)}\n`),
    ({ saved }) => saved.length > 1,
  );
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const { name, saved } of writers) {
    expect(saved.filter((line) => !lines.includes(line)), `${name} finds all that was saved`).toEqual([]);
  }

  // One that replaces the file, or writes it anew, may throw away what it did not read; but no
  // window saves over a state that its person was not shown.
  const replace = () => {
    const text = `${readFileSync(file, 'utf8')}program ${(count += 1)}\n`;
    if (count % 2 === 0) return writeFileSync(file, text);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  await part(replace, ({ saved }) => saved.length > 3);
  for (const { name, replaced, seen, refusals } of writers) {
    expect(replaced.filter((hash) => !seen.has(hash)), `${name} saves over nothing unseen`).toEqual([]);
    expect(refusals, `${name} was told of the others`).toBeGreaterThan(0);
  }
  expect(readFileSync(file, 'utf8')).toMatch(/\n$/);
});
