import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { filesPath } from '../src/files/paths';
import { open, shown, tab } from './canvas-steps';
import { expect, test, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A folder with something of each kind in it. */
function project(server: TestServer): string {
  const folder = server.folder('project');
  mkdirSync(join(folder, 'src/deep'), { recursive: true });
  writeFileSync(join(folder, 'notes.md'), '# Notes\n\n- [ ] water\n');
  writeFileSync(join(folder, 'src/main.ts'), 'export const answer: number = 42;\n');
  writeFileSync(join(folder, 'src/deep/far.json'), '{"far": true}\n');
  writeFileSync(join(folder, 'windows.txt'), '\u{feff}one\r\ntwo 😀\r\n');
  writeFileSync(join(folder, 'table.csv'), 'name,stones\nada,12\n');
  writeFileSync(join(folder, 'dot.png'), Buffer.from(PNG, 'base64'));
  writeFileSync(join(folder, 'blob.bin'), Buffer.from([1, 0, 2]));
  writeFileSync(join(folder, 'old.txt'), Buffer.from([0x66, 0xfc, 0x72]));
  writeFileSync(join(folder, '.hidden'), 'seen\n');
  return folder;
}

const at = (folder: string, path = '') => filesPath(folder, path);
const tree = (page: Page) => page.getByRole('tree');
const item = (page: Page, name: string) => tree(page).getByRole('treeitem', { name, exact: true });
const text = (page: Page) => page.getByRole('textbox', { name: /^Text of/ });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8');

async function write(page: Page, words: string): Promise<void> {
  await text(page).click();
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.type(words);
}

test('a folder is chosen by keyboard, and its tree opened down to a file', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open('/');
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await expect(page).toHaveURL(`${server.url}/files`);
  const field = page.getByLabel('Folder', { exact: true });
  await expect(field).toHaveValue(server.dir);
  await expect(page.getByRole('button', { name: 'The folder above' })).toBeDisabled();

  await page.getByRole('button', { name: 'project' }).focus();
  await page.keyboard.press('Enter');
  await expect(field).toHaveValue(folder);
  await page.keyboard.press('Backspace');
  await expect(field).toHaveValue(server.dir);
  await expect(page.getByRole('button', { name: 'project' })).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByText('notes.md')).toBeVisible();
  await expect(page.getByText('.hidden')).toHaveCount(0);
  await page.getByLabel('Hidden files').check();
  await expect(page.getByText('.hidden')).toBeVisible();
  await page.getByRole('button', { name: 'Open this folder' }).click();
  await expect(page).toHaveURL(server.url + at(folder));

  await item(page, 'src').focus();
  await page.keyboard.press('ArrowRight');
  await expect(item(page, 'deep')).toBeVisible();
  await page.keyboard.press('ArrowRight');
  await expect(item(page, 'deep')).toBeFocused();
  await page.keyboard.press('m');
  await expect(item(page, 'main.ts')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(server.url + at(folder, 'src/main.ts'));
  await expect(text(page)).toContainText('answer: number = 42');
  // By its address alone a file is found again in the tree.
  await page.goto(server.url + at(folder, 'src/deep/far.json'));
  await expect(item(page, 'far.json')).toHaveAttribute('aria-selected', 'true');
});

test('a new folder is made, and one outside home is opened by its path', async ({ server, windows }) => {
  const page = await windows.open('/files');
  await page.getByRole('button', { name: 'New folder' }).click();
  const name = page.getByLabel(/^Name of the new folder/);
  await name.fill('bad/name');
  await name.press('Enter');
  await expect(page.getByRole('alert').filter({ hasText: 'letter or digit at both ends' })).toBeVisible();
  await name.fill('fresh');
  await name.press('Enter');
  await expect(page.getByLabel('Folder', { exact: true })).toHaveValue(join(server.dir, 'fresh'));

  const field = page.getByLabel('Folder', { exact: true });
  await field.fill('/etc');
  await field.press('Enter');
  await page.getByRole('button', { name: 'Open it by its path' }).click();
  await expect(page.getByText('Outside the allowed folders')).toBeVisible();
});

test('a text is written and saved by key, with everything else of it as it was', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open(at(folder, 'windows.txt'));
  await expect(text(page)).toContainText('two 😀');
  await expect(page.getByText('CR LF, byte order mark')).toBeVisible();
  await expect(save(page)).toBeDisabled();
  await write(page, 'three\nfour');
  await expect(page.getByText('Not saved, kept in this browser')).toBeVisible();
  // Letters that mean something elsewhere are only letters here.
  await write(page, 'g h ? n');
  await expect(page).toHaveURL(server.url + at(folder, 'windows.txt'));
  await page.keyboard.press('ControlOrMeta+s');
  await expect(page.getByText(/^Saved (now|\d)/)).toBeVisible();
  expect(read(folder, 'windows.txt')).toBe('\u{feff}one\r\ntwo 😀\r\nthree\r\nfourg h ? n');
  await write(page, '!');
  await save(page).click();
  await expect.poll(() => read(folder, 'windows.txt')).toContain('n!');
  await expect(save(page)).toBeDisabled();
});

test('a draft outlives a reload and a server that is gone, and is saved when it is back', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open(at(folder, 'notes.md'));
  await write(page, 'draft');
  await expect(page.getByText('Not saved, kept in this browser')).toBeVisible();
  await page.waitForFunction((key) => localStorage.getItem(key)?.includes('draft'), `guildhall.file-draft.${folder}/notes.md`);
  await page.reload();
  await expect(text(page)).toContainText('draft');
  expect(read(folder, 'notes.md')).not.toContain('draft');

  await server.kill();
  await page.keyboard.press('Escape');
  await text(page).click();
  await page.keyboard.press('ControlOrMeta+s');
  await expect(page.getByText('Not connected: saved as soon as the server answers')).toBeVisible();
  await expect(page.getByText(/^Not connected since/)).toBeVisible();
  await expect(save(page)).toBeDisabled();
  await server.start();
  await expect(page.getByText(/^Saved (now|\d)/)).toBeVisible({ timeout: 30_000 });
  expect(read(folder, 'notes.md')).toContain('draft');
});

test('what was written in a file that is gone can still be had', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open(at(folder, 'notes.md'));
  await write(page, 'draft');
  await page.waitForFunction((key) => localStorage.getItem(key)?.includes('draft'), `guildhall.file-draft.${folder}/notes.md`);
  rmSync(join(folder, 'notes.md'));
  await page.keyboard.press('ControlOrMeta+s');
  await expect(page.getByRole('button', { name: 'Try again' })).toBeVisible();
  await expect(text(page)).toContainText('draft');
  await page.reload();
  await expect(page.getByText('Text that you wrote here and did not save')).toBeVisible();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy it' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('draft');
});

test('a file that changed meanwhile is a card with three views, and no save is lost', async ({ server, windows }) => {
  const folder = project(server);
  writeFileSync(join(folder, 'notes.md'), 'first\nmiddle\nlast\n');
  const page = await windows.open(at(folder, 'notes.md'));
  await write(page, 'mine\n');
  writeFileSync(join(folder, 'notes.md'), 'FIRST\nmiddle\nlast\n');
  await page.keyboard.press('ControlOrMeta+s');
  const card = page.getByRole('region', { name: 'This file changed after you opened it' });
  await expect(card).toBeVisible();
  await expect(card.getByRole('region', { name: 'What they changed' })).toContainText('FIRST');
  await card.getByRole('button', { name: 'What you changed' }).click();
  await expect(card.getByRole('region', { name: 'What you changed' })).toContainText('mine');
  await card.getByRole('button', { name: 'Theirs against yours' }).click();
  await expect(card.getByRole('region', { name: 'Theirs against yours' })).toContainText('FIRST');
  expect(read(folder, 'notes.md')).toBe('FIRST\nmiddle\nlast\n');

  // Mine over theirs names the hash that was shown: a third change is caught again.
  writeFileSync(join(folder, 'notes.md'), 'THIRD\nmiddle\nlast\n');
  await card.getByRole('button', { name: 'Save mine over it' }).click();
  await card.getByRole('button', { name: 'What they changed' }).click();
  await expect(card.getByRole('region', { name: 'What they changed' })).toContainText('THIRD');
  expect(read(folder, 'notes.md')).toBe('THIRD\nmiddle\nlast\n');

  await card.getByRole('button', { name: 'Take theirs' }).click();
  await expect(text(page)).toContainText('THIRD');
  await page.getByRole('button', { name: 'Bring my text back' }).click();
  await expect(text(page)).toContainText('mine');
  await save(page).click();
  await expect(page.getByText(/^Saved (now|\d)/)).toBeVisible();
  expect(read(folder, 'notes.md')).toBe('first\nmiddle\nlast\nmine\n');
});

test('both changes are merged into one text, and saved when a person says so', async ({ server, windows }) => {
  const folder = project(server);
  writeFileSync(join(folder, 'notes.md'), 'first\nmiddle\nlast\n');
  const page = await windows.open(at(folder, 'notes.md'));
  await write(page, 'mine\n');
  writeFileSync(join(folder, 'notes.md'), 'FIRST\nmiddle\nlast\n');
  await save(page).click();
  await page.getByRole('button', { name: 'Merge both' }).click();
  await expect(text(page)).toContainText('FIRST');
  await expect(text(page)).toContainText('mine');
  expect(read(folder, 'notes.md')).toBe('FIRST\nmiddle\nlast\n');
  await save(page).click();
  await expect(page.getByText(/^Saved (now|\d)/)).toBeVisible();
  expect(read(folder, 'notes.md')).toBe('FIRST\nmiddle\nlast\nmine\n');
});

test('a replaced file is reloaded with the text kept beside it, or the text saved as another file', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open(at(folder, 'notes.md'));
  await write(page, 'mine');
  // Another name holds on to the old file, so that its number is not given out again.
  linkSync(join(folder, 'notes.md'), join(folder, 'held.md'));
  writeFileSync(join(folder, 'other.md'), 'other\n');
  renameSync(join(folder, 'other.md'), join(folder, 'notes.md'));
  await save(page).click();
  const card = page.getByRole('region', { name: 'The file was replaced by another one' });
  await expect(card).toBeVisible();
  expect(read(folder, 'notes.md')).toBe('other\n');

  await card.getByRole('button', { name: 'Save as another existing file' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('File in this folder').fill('nothing.md');
  await dialog.getByRole('button', { name: 'Look at it' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByLabel('File in this folder').fill('held.md');
  await dialog.getByRole('button', { name: 'Look at it' }).click();
  await dialog.getByRole('button', { name: 'Save over it' }).click();
  await expect(dialog).toHaveCount(0);
  expect(read(folder, 'held.md')).toContain('mine');

  await card.getByRole('button', { name: /^Reload/ }).click();
  await expect(text(page)).toContainText('other');
  await expect(page.getByText('The text you had is set aside.')).toBeVisible();
  await page.getByRole('button', { name: 'Bring my text back' }).click();
  await save(page).click();
  await expect(page.getByText(/^Saved (now|\d)/)).toBeVisible();
  expect(read(folder, 'notes.md')).toContain('mine');
});

test('a save by somebody else is told at once, and moves nothing under the reader', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open(at(folder, 'notes.md'));
  await expect(text(page)).toContainText('Notes');
  const other = await windows.open(at(folder, 'notes.md'));
  await write(other, 'from elsewhere');
  await save(other).click();
  await expect(page.getByText('changed this file after you opened it.')).toBeVisible();
  await expect(text(page)).not.toContainText('from elsewhere');
  await page.getByRole('button', { name: 'Show it as it is now' }).click();
  await expect(text(page)).toContainText('from elsewhere');
});

test('what cannot be shown says why, and what can be is shown', async ({ server, windows }) => {
  const folder = project(server);
  writeFileSync(join(folder, 'large.txt'), 'x'.repeat(10 * 1024 * 1024 + 1));
  const page = await windows.open(at(folder, 'blob.bin'));
  await expect(page.getByRole('heading', { name: 'Not a text file' })).toBeVisible();
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save it on this device' }).click()]);
  expect(readFileSync(await saved.path())).toEqual(Buffer.from([1, 0, 2]));
  for (const [path, title] of [
    ['old.txt', 'Not UTF-8'],
    ['large.txt', 'Larger than 10 MiB'],
    ['gone.txt', 'Nothing is there'],
    ['src', 'Not a file'],
    ['/etc/passwd', 'Outside the allowed folders'],
  ] as const) {
    await page.goto(server.url + at(folder, path));
    await expect(page.getByRole('heading', { name: title })).toBeVisible();
  }
  await page.goto(server.url + at(folder, 'dot.png'));
  await expect(page.getByRole('img', { name: 'dot.png' })).toBeVisible();
  expect(await page.getByRole('img', { name: 'dot.png' }).evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await page.goto(server.url + at(folder, 'table.csv'));
  await page.getByRole('button', { name: 'Shown' }).click();
  await expect(page.getByRole('cell', { name: 'ada' })).toBeVisible();
  await page.goto(server.url + at(folder, 'notes.md'));
  await page.getByRole('button', { name: 'Shown' }).click();
  await expect(page.getByRole('heading', { name: 'Notes', exact: true })).toBeVisible();
});

test('a file is opened on a canvas, written there, and its change is seen by another reader', async ({ server, windows }) => {
  const folder = project(server);
  const room = await server.team();
  const page = await windows.open(at(folder, 'notes.md'));
  await page.getByRole('button', { name: 'More about this file' }).click();
  await page.getByRole('menuitem', { name: 'Open on a canvas' }).click();
  await page.getByLabel('Session or room').selectOption(room.id);
  await page.getByRole('button', { name: 'Open it there' }).click();
  await expect(page).toHaveURL(new RegExp(`/rooms/${room.id}\\?doc=`));
  const other = await windows.open(page.url().slice(server.url.length));
  await expect(text(other)).toContainText('Notes');
  await write(page, 'on the canvas');
  await save(page).click();
  await expect(other.getByText('changed this file after you opened it.')).toBeVisible();
  expect(read(folder, 'notes.md')).toContain('on the canvas');
});

test('documents that name a path are shown from the file itself', async ({ server, windows }) => {
  const folder = project(server);
  writeFileSync(join(folder, 'paper.pdf'), '%PDF-1.4\ntrailer<</Root 1 0 R>>\n%%EOF');
  const room = await server.team();
  for (const content of [
    { type: 'image', title: 'Dot', src: join(folder, 'dot.png') },
    { type: 'csv', title: 'Stones', src: join(folder, 'table.csv') },
    { type: 'pdf', title: 'Paper', src: join(folder, 'paper.pdf') },
    { type: 'diff', title: 'Changes', sourcePath: join(folder, 'notes.md') },
    { type: 'markdown', title: 'Plan', content: 'plan', sourcePath: join(folder, 'notes.md') },
    { type: 'image', title: 'Gone', src: join(folder, 'blob.bin') },
  ]) {
    await open(server, room.id, content);
  }
  const page = await windows.open(`/rooms/${room.id}`);
  await page.getByRole('button', { name: 'Canvas', exact: true }).click();
  const look = async (name: string) => {
    await tab(page, new RegExp(`${name}$`)).click();
    return shown(page);
  };
  const dot = (await look('Dot')).getByRole('img', { name: 'Dot' });
  await expect.poll(() => dot.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await expect((await look('Stones')).getByRole('cell', { name: 'ada' })).toBeVisible();
  await expect((await look('Paper')).locator('iframe')).toHaveAttribute('src', /^blob:/);
  await expect((await look('Plan')).getByRole('link', { name: 'notes.md' })).toHaveAttribute('href', at(folder, 'notes.md'));
  await expect((await look('Gone')).getByRole('heading', { name: 'Not a text file' })).toBeVisible();

  const changes = await look('Changes');
  await expect(changes.getByText('Nothing changed since this was opened here')).toBeVisible();
  const other = await windows.open(at(folder, 'notes.md'));
  await write(other, 'a new line');
  await save(other).click();
  await expect(changes.getByText('a new line')).toBeVisible();
});

test('an opened file is found by the palette', async ({ server, windows }) => {
  const folder = project(server);
  const page = await windows.open(at(folder, 'src/main.ts'));
  await expect(text(page)).toBeVisible();
  await page.goto(server.url);
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('main.ts');
  await page.getByRole('option', { name: /main\.ts/ }).first().click();
  await expect(page).toHaveURL(server.url + at(folder, 'src/main.ts'));
});

for (const look of viewports) {
  test(`files are for everybody: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const folder = project(server);
    const page = await windows.open('/files', look);
    await expect(page.getByRole('button', { name: 'project' })).toBeVisible();
    await expectAccessible(page, 'the choice of a folder');
    await page.goto(server.url + at(folder));
    await expect(item(page, 'src')).toBeVisible();
    await expectAccessible(page, 'a folder');
    await item(page, 'notes.md').click();
    await write(page, 'mine');
    await expectAccessible(page, 'the editor');
    writeFileSync(join(folder, 'notes.md'), 'theirs\n');
    await save(page).click();
    await expect(page.getByRole('button', { name: 'Take theirs' })).toBeVisible();
    await expectAccessible(page, 'a conflict');
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await expect(page.getByText('The text you had is set aside.')).toBeVisible();
    await expectAccessible(page, 'a text set aside');
    await page.goto(server.url + at(folder, 'src/main.ts'));
    await expect(text(page)).toBeVisible();
    await expectAccessible(page, 'a program');
    await page.goto(server.url + at(folder, 'blob.bin'));
    await expect(page.getByRole('heading', { name: 'Not a text file' })).toBeVisible();
    await expectAccessible(page, 'what is no text');
  });
}
