import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { composer, expect, live, test, texts } from './test-server';

/** One red pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

const picker = (page: Page) => page.locator('input[type=file]').first();
const chips = (page: Page) => page.getByRole('list', { name: 'Files to send' }).getByRole('listitem');

/** Lets files fall on an element, as from the desktop. */
async function drop(page: Page, on: string, files: { name: string; type: string; text: string }[]): Promise<void> {
  const transfer = await page.evaluateHandle((all) => {
    const held = new DataTransfer();
    for (const { name, type, text } of all) held.items.add(new File([text], name, { type }));
    return held;
  }, files);
  for (const event of ['dragenter', 'dragover', 'drop']) await page.dispatchEvent(on, event, { dataTransfer: transfer });
}

test('a picture is shown where it was said, another file is offered for download', async ({ server, windows }) => {
  const team = await server.team();
  const one = await windows.open(`/rooms/${team.id}`);
  const two = await windows.open(`/rooms/${team.id}`);
  await picker(one).setInputFiles([
    { name: 'arch.png', mimeType: 'image/png', buffer: PNG },
    { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('first the stones') },
  ]);
  await expect(chips(one)).toHaveText([/arch\.png/, /plan\.txt.*16 B/]);
  await composer(one).fill('the plan');
  await composer(one).press('Enter');
  await expect(chips(one)).toHaveCount(0);

  for (const page of [one, two]) {
    const image = page.getByRole('img', { name: 'arch.png' });
    await expect(image).toBeVisible();
    expect(await image.evaluate((element: HTMLImageElement) => element.decode().then(() => element.naturalWidth))).toBe(1);
  }
  const download = two.waitForEvent('download');
  await two.getByRole('link', { name: 'Download plan.txt, 16 B' }).click();
  expect(readFileSync(await (await download).path(), 'utf8')).toBe('first the stones');
  await expect.poll(() => texts(two)).toEqual(['the plan']);
  const [entry] = await server.entries(team.id);
  expect(entry?.attachments.map(({ name }) => name)).toEqual(['arch.png', 'plan.txt']);
});

test('files are dropped on the room, and a message may be nothing but files', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  await drop(page, '.talk', [{ name: 'a.txt', type: 'text/plain', text: 'one' }]);
  await expect(chips(page)).toHaveText([/a\.txt/]);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByRole('link', { name: /^Download a\.txt/ })).toBeVisible();
  expect((await server.entries(team.id))[0]).toMatchObject({ text: '' });
});

test('a picture is pasted into the text', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  await composer(page).fill('look');
  await composer(page).evaluate((field, bytes) => {
    const held = new DataTransfer();
    held.items.add(new File([new Uint8Array(bytes)], 'image.png', { type: 'image/png' }));
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: held, bubbles: true, cancelable: true }));
  }, [...PNG]);
  await expect(chips(page)).toHaveText([/image\.png/]);
  await expect(composer(page)).toHaveValue('look');
  await composer(page).press('Enter');
  await expect(page.getByRole('img', { name: 'image.png' })).toBeVisible();
});

test('sending waits for its files, and goes out with the last of them', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/attachments', async (route) => {
    await held;
    await route.continue();
  });
  await picker(page).setInputFiles({ name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from('slow') });
  await composer(page).fill('with a file');
  await composer(page).press('Enter');
  await expect(page.getByText('Goes out as soon as the files are there.')).toBeVisible();
  await page.getByRole('button', { name: 'Do not send yet' }).click();
  await composer(page).press('Enter');
  expect(await server.entries(team.id)).toEqual([]);
  release();
  await expect.poll(() => texts(page)).toEqual(['with a file']);
  await expect(page.getByRole('link', { name: /^Download slow\.txt/ })).toBeVisible();
});

test('a refused file says why at its chip, and the text is kept', async ({ server, windows }) => {
  await server.patch('/api/settings', { 'rooms.attachmentBytesMax': 1000, 'rooms.attachmentStoreBytesMax': 1500 });
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  const file = (name: string, size: number) => ({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, name) });
  await composer(page).fill('three files');
  await picker(page).setInputFiles([file('large.txt', 1001)]);
  await expect(chips(page).getByRole('alert')).toHaveText('Larger than the 1.0 kB this server takes.');
  await composer(page).press('Enter');
  await expect(page.getByText('A file could not be sent. Try it again or remove it first.')).toBeVisible();
  await expect(composer(page)).toHaveValue('three files');
  await page.getByRole('button', { name: 'Remove large.txt' }).click();

  await picker(page).setInputFiles([file('first.txt', 900)]);
  await expect(chips(page)).toHaveText([/first\.txt.*900 B/]);
  await picker(page).setInputFiles([file('second.txt', 900)]);
  await expect(chips(page).nth(1).getByRole('alert')).not.toBeEmpty();
  await server.patch('/api/settings', { 'rooms.attachmentStoreBytesMax': 1_000_000 });
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(chips(page)).toHaveText([/first\.txt.*900 B/, /second\.txt.*900 B/]);
  await composer(page).press('Enter');
  await expect.poll(() => texts(page)).toEqual(['three files']);
});

test('a reload keeps the text, and eleven files are ten', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  await composer(page).fill('kept');
  const many = Array.from({ length: 11 }, (_, index) => ({ name: `f${index}.txt`, mimeType: 'text/plain', buffer: Buffer.from(`${index}`) }));
  await picker(page).setInputFiles(many);
  await expect(page.getByText('One message carries 10 files; 1 were left out.')).toBeVisible();
  await expect(chips(page)).toHaveCount(10);
  await page.reload();
  await live(page);
  await expect(composer(page)).toHaveValue('kept');
  await expect(chips(page)).toHaveCount(0);
});

test('a file goes into a thread with its reply', async ({ server, windows }) => {
  const team = await server.team();
  const { entry } = await server.post<{ entry: { id: string } }>(`/api/rooms/${team.id}/entries`, { text: 'root' });
  const page = await windows.open(`/rooms/${team.id}/t/${entry.id}`);
  const thread = page.getByRole('region', { name: 'Thread', exact: true }).first();
  await drop(page, 'section.panel', [{ name: 'reply.txt', type: 'text/plain', text: 'r' }]);
  await expect(chips(page)).toHaveText([/reply\.txt/]);
  await page.getByRole('textbox', { name: 'Write to this thread' }).fill('see file');
  await page.getByRole('textbox', { name: 'Write to this thread' }).press('Enter');
  await expect(thread.getByRole('link', { name: /^Download reply\.txt/ })).toBeVisible();
});
