import type { Entry } from '../src/api/types';
import { expect, test } from './test-server';

test('words are found, marked, and lead to the entry in its room', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const { entry } = await scribe.say(team.id, '😀 the Keystone is of grey granite');
  for (let number = 1; number <= 120; number++) await server.post(`/api/rooms/${team.id}/entries`, { text: `line ${number}` });
  const page = await windows.open('/search');
  await expect(page.getByText('Find what was said')).toBeVisible();
  await page.getByRole('searchbox').fill('keystone gran');
  const found = page.getByRole('list', { name: 'Entries found' }).getByRole('link');
  await expect(found).toHaveCount(1);
  await expect(found).toContainText('Scribe in Team');
  await expect(found.locator('mark')).toHaveText(['Keystone', 'granite']);
  await expect(page).toHaveURL(`${server.url}/search?q=keystone%20gran`);
  await expect(page.getByText('1 found')).toBeVisible();

  await found.click();
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}?entry=${entry.id}`);
  const target = page.locator(`[data-entry="${entry.id}"]`);
  await expect(target).toBeInViewport();
  await expect(target).toHaveClass(/marked/);
  await page.reload();
  await expect(target).toBeInViewport();
  await page.goBack();
  await expect(page.getByRole('searchbox')).toHaveValue('keystone gran');
});

test('more than a page is read on demand, each entry once', async ({ server, windows }) => {
  const team = await server.team();
  for (let number = 1; number <= 45; number++) await server.post(`/api/rooms/${team.id}/entries`, { text: `brick ${number}` });
  const page = await windows.open('/search?q=brick');
  const found = page.getByRole('list', { name: 'Entries found' }).getByRole('link');
  await expect(found).toHaveCount(20);
  await page.getByRole('button', { name: 'More results' }).click();
  await expect(found).toHaveCount(40);
  await page.getByRole('button', { name: 'More results' }).click();
  await expect(found).toHaveCount(45);
  await expect(page.getByRole('button', { name: 'More results' })).toHaveCount(0);
  const texts = (await page.locator('.excerpt').allInnerTexts()).map((text) => text.trim());
  expect(texts).toEqual(Array.from({ length: 45 }, (_, index) => `brick ${45 - index}`));
});

test('nothing found, too little, and an error each say so', async ({ server, windows }) => {
  const page = await windows.open('/search?q=nowhere');
  await expect(page.getByText('Nothing has these words')).toBeVisible();
  await page.getByRole('searchbox').fill('a');
  await expect(page.getByText('One word needs two letters or digits at least.')).toBeVisible();
  await server.kill();
  await page.getByRole('searchbox').fill('gone');
  await expect(page.getByRole('main').getByRole('alert')).toContainText('The server did not answer.');
  await server.start();
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('Nothing has these words')).toBeVisible();
});

test('a removed text is not found', async ({ server, windows }) => {
  const team = await server.team();
  const { entry } = await server.post<{ entry: Entry }>(`/api/rooms/${team.id}/entries`, { text: 'a mistake in granite' });
  const page = await windows.open('/search?q=granite');
  await expect(page.getByText('1 found')).toBeVisible();
  await fetch(`${server.url}/api/rooms/${team.id}/entries/${entry.id}`, { method: 'DELETE' });
  await page.reload();
  await expect(page.getByText('Nothing has these words')).toBeVisible();
});

test('the palette finds entries too, by keyboard', async ({ server, windows }) => {
  const team = await server.team();
  const { entry } = await server.post<{ entry: Entry }>(`/api/rooms/${team.id}/entries`, { text: 'grey granite from the north' });
  const page = await windows.open('/');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('granite');
  const options = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
  await expect(options).toHaveText([/grey granite from the north/, /Search all entries for “granite”/]);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}?entry=${entry.id}`);
  await expect(page.locator(`[data-entry="${entry.id}"]`)).toHaveClass(/marked/);

  await page.keyboard.press('Control+k');
  await page.keyboard.type('granite');
  await expect(options).toHaveCount(2);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/search?q=granite`);
});
