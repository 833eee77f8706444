import type { Entry } from '../src/api/types';
import type { Page } from '@playwright/test';
import { composer, expect, live, say, test, texts, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const replies = (page: Page) => page.locator('[data-reply] .text').allInnerTexts();
const threadComposer = (page: Page) => page.getByRole('textbox', { name: 'Write to this thread' });
const row = (page: Page, text: string) => page.locator('[data-entry]').filter({ hasText: text });

async function posted(server: TestServer, roomId: string, text: string): Promise<Entry> {
  return (await server.post<{ entry: Entry }>(`/api/rooms/${roomId}/entries`, { text })).entry;
}

/** Opens the menu of one entry and chooses from it. */
async function choose(page: Page, text: string, item: string): Promise<void> {
  await row(page, text).first().hover();
  await row(page, text).first().getByRole('button', { name: 'More about this entry' }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

test('a thread opens beside its room, and everybody sees it grow', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const root = await posted(server, team.id, 'Who takes the keystone?');
  const one = await windows.open(`/rooms/${team.id}`);
  const two = await windows.open(`/rooms/${team.id}`);

  await choose(one, 'Who takes the keystone?', 'Reply in thread');
  await expect(one).toHaveURL(`${server.url}/rooms/${team.id}/t/${root.id}`);
  await expect(threadComposer(one)).toBeFocused();
  await expect(one.getByText('No replies yet')).toBeVisible();
  await threadComposer(one).fill('I do');
  await threadComposer(one).press('Enter');
  await expect.poll(() => replies(one)).toEqual(['I do']);

  const line = row(two, 'Who takes the keystone?').getByRole('link', { name: /^1 reply/ });
  await expect(line).toBeVisible();
  await scribe.say(team.id, 'With a crane, please', root.id);
  await expect.poll(() => replies(one)).toEqual(['I do', 'With a crane, please']);
  await expect(row(two, 'Who takes the keystone?').first().getByRole('link', { name: /^2 replies/ })).toBeVisible();

  // In the room a reply stands as one, and leads to its thread.
  const reply = row(two, 'With a crane, please');
  await expect(reply.getByRole('link', { name: /replied in a thread: .*Who takes the keystone\?/ })).toBeVisible();
  await expect.poll(() => texts(two)).toEqual(['Who takes the keystone?', 'I do', 'With a crane, please']);

  await one.reload();
  await live(one);
  await expect.poll(() => replies(one)).toEqual(['I do', 'With a crane, please']);
  await one.getByRole('button', { name: 'Close the thread' }).click();
  await expect(one).toHaveURL(`${server.url}/rooms/${team.id}`);
  await expect(one.getByRole('link', { name: /^2 replies/ })).toBeFocused();
});

test('a draft of a thread is its own, and survives a reload', async ({ server, windows }) => {
  const team = await server.team();
  const root = await posted(server, team.id, 'root');
  const page = await windows.open(`/rooms/${team.id}/t/${root.id}`);
  await threadComposer(page).fill('half a reply');
  await composer(page).first().fill('half a post');
  await page.reload();
  await expect(threadComposer(page)).toHaveValue('half a reply');
  await expect(page.getByRole('textbox', { name: /^Write to team/i })).toHaveValue('half a post');
  expect((await server.entries(team.id)).length).toBe(1);
});

test('on a phone a thread fills the screen and leads back', async ({ server, windows }) => {
  const team = await server.team();
  const root = await posted(server, team.id, 'root');
  const page = await windows.open(`/rooms/${team.id}`, { width: 360, height: 640 });
  await row(page, 'root').getByRole('button', { name: 'More about this entry' }).click();
  await page.getByRole('menuitem', { name: 'Reply in thread' }).click();
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}/t/${root.id}`);
  await expect(page.getByRole('region', { name: 'Entries', exact: true })).toHaveCount(0);
  await threadComposer(page).fill('from the road');
  await threadComposer(page).press('Enter');
  await expect.poll(() => replies(page)).toEqual(['from the road']);
  await page.getByRole('button', { name: /^Back to/ }).click();
  await expect(page.getByRole('link', { name: /^1 reply/ })).toBeVisible();
});

test('the threads one wrote in are listed, with what is new in them', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const page = await windows.open('/rooms');
  await page.getByRole('main').getByRole('link', { name: 'Threads' }).click();
  await expect(page.getByText('You are in no thread yet')).toBeVisible();

  const root = await posted(server, team.id, 'What is left to do?');
  const other = await scribe.say(team.id, 'a thread of others');
  await scribe.say(team.id, 'not mine', other.entry.id);
  await server.post(`/api/rooms/${team.id}/entries`, { text: 'the roof', threadRootEntryId: root.id });
  const item = page.getByRole('main').getByRole('link', { name: /What is left to do\?/ });
  await expect(item).toContainText('1 reply');
  await scribe.say(team.id, 'and the door', root.id);
  await expect(item).toContainText('2 replies');
  await expect(item).toContainText('new');
  await expect(page.getByText('a thread of others')).toHaveCount(0);
  await item.click();
  await expect.poll(() => replies(page)).toEqual(['the roof', 'and the door']);
});

test('an address that names no thread says so', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}/t/01a1fe26-ce7a-77e6-9c51-69b26c991bbe`);
  await expect(page.getByText('There is no such thread')).toBeVisible();
  await expect(composer(page)).toBeVisible();
});

test('reactions: by keyboard, counted, named, taken back, and seen by everybody', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const entry = await posted(server, team.id, 'The arch stands');
  const one = await windows.open(`/rooms/${team.id}`);
  const two = await windows.open(`/rooms/${team.id}`);
  const chip = (page: Page, emoji: string) => row(page, 'The arch stands').getByRole('button', { name: new RegExp(`^${emoji}`) });

  await row(one, 'The arch stands').focus();
  await row(one, 'The arch stands').getByRole('button', { name: 'React' }).focus();
  await one.keyboard.press('Enter');
  await expect(one.getByRole('dialog', { name: 'Choose a reaction' })).toBeVisible();
  await expect(one.getByRole('button', { name: 'Thumbs up' })).toBeFocused();
  await one.keyboard.press('ArrowRight');
  await one.keyboard.press('ArrowRight');
  await one.keyboard.press('ArrowRight');
  await one.keyboard.press('Enter');
  await expect(chip(one, '🎉')).toHaveAttribute('aria-pressed', 'true');
  await expect(chip(two, '🎉')).toHaveAccessibleName('🎉 1, You');

  await server.react(team.id, entry.id, '🎉', { 'x-service-agent': scribe.token });
  await expect(chip(one, '🎉')).toHaveAccessibleName('🎉 2, You and Scribe');
  await chip(one, '🎉').focus();
  await one.keyboard.press('Tab');
  await one.keyboard.press('Shift+Tab');
  await expect(chip(one, '🎉').locator('.who')).toBeVisible();
  await one.keyboard.press('Enter');
  await expect(chip(two, '🎉')).toHaveAccessibleName('🎉 1, Scribe');
  await expect(chip(one, '🎉')).toHaveAttribute('aria-pressed', 'false');

  // Any other emoji can be typed; what is none is refused in words.
  await row(one, 'The arch stands').getByRole('button', { name: 'Add a reaction' }).click();
  await one.getByRole('textbox', { name: 'Any other emoji' }).fill('🦀');
  await one.keyboard.press('Enter');
  await expect(chip(two, '🦀')).toBeVisible();
  await row(one, 'The arch stands').getByRole('button', { name: 'Add a reaction' }).click();
  await one.getByRole('textbox', { name: 'Any other emoji' }).fill('no');
  await one.getByRole('button', { name: 'React', exact: true }).last().click();
  await expect(one.getByText('That is not one emoji.')).toBeVisible();
});

test('a text is removed for good after a word about what that means', async ({ server, windows }) => {
  const team = await server.team();
  const one = await windows.open(`/rooms/${team.id}`);
  const two = await windows.open(`/rooms/${team.id}`);
  await say(one, 'the password is swordfish');
  await say(one, 'oops');
  await expect.poll(() => texts(two)).toEqual(['the password is swordfish', 'oops']);

  await choose(one, 'swordfish', 'Remove text for good…');
  const dialog = one.getByRole('dialog', { name: 'Remove this text for good?' });
  await expect(dialog).toContainText('Nobody can bring it back.');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect.poll(() => texts(one)).toEqual(['the password is swordfish', 'oops']);

  await choose(one, 'swordfish', 'Remove text for good…');
  await dialog.getByRole('button', { name: 'Remove for good' }).click();
  for (const page of [one, two]) {
    await expect(page.getByText(/^Text removed/)).toBeVisible();
    await expect.poll(() => texts(page)).toEqual(['oops']);
    expect(await page.content()).not.toContain('swordfish');
  }
  expect((await server.entries(team.id)).map(({ text }) => text)).toEqual(['', 'oops']);
  await one.reload();
  await expect(one.getByText(/^Text removed/)).toBeVisible();
});

test('the owner may remove what an agent wrote', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const page = await windows.open(`/rooms/${team.id}`);
  await scribe.say(team.id, 'too much said');
  await choose(page, 'too much said', 'Remove text for good…');
  await expect(page.getByRole('dialog')).toContainText('The text by Scribe');
  await page.getByRole('button', { name: 'Remove for good' }).click();
  await expect.poll(() => texts(page)).toEqual([]);
});

test('a room is exported whole', async ({ server, windows }) => {
  const team = await server.team();
  await posted(server, team.id, 'kept for later');
  const page = await windows.open(`/rooms/${team.id}`);
  await page.getByRole('button', { name: 'More about this room' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'Export as JSON lines' }).click();
  const stream = await (await download).createReadStream();
  const text = (await stream.toArray()).join('');
  const lines = text.trim().split('\n').map((line) => JSON.parse(line) as { type: string });
  expect(lines[0]?.type).toBe('room-export');
  expect(lines.at(-1)).toMatchObject({ type: 'summary', entryCount: 1 });
  await expect(composer(page)).toBeVisible();
});

for (const look of viewports) {
  test(`thread, picker and dialog are accessible, ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const team = await server.team();
    const root = await posted(server, team.id, 'root of it all');
    await posted(server, team.id, 'x'.repeat(300));
    for (const emoji of ['👍', '❤️', '🎉', '👀', '🚀']) await server.react(team.id, root.id, emoji);
    const page = await windows.open(`/rooms/${team.id}/t/${root.id}`, look);
    await expect(page.getByText('No replies yet')).toBeVisible();
    await expectAccessible(page, 'thread');
    await page.goto(`${server.url}/rooms/${team.id}`);
    await page.getByRole('button', { name: 'Add a reaction' }).click();
    await expectAccessible(page, 'picker');
    await page.keyboard.press('Escape');
    await choose(page, 'root of it all', 'Remove text for good…');
    await expectAccessible(page, 'redact dialog');
  });
}
