import { composer, expect, say, test, texts } from './test-server';

test('unread and naming are two marks, and reading clears both', async ({ server, windows }) => {
  const team = await server.team();
  const me = await server.me();
  await server.patch(`/api/rooms/authors/${me.id}/handle`, { handle: 'ada' });
  const scribe = await server.agent('Scribe');

  const home = await windows.open('/');
  await scribe.say(team.id, 'one for everybody');
  await scribe.say(team.id, 'and one for @ada');
  const row = home.getByRole('region', { name: 'What goes on' }).getByRole('link', { name: /team/i });
  await expect(row).toContainText('2 unread');
  await expect(row).toContainText('1 naming you');
  await expect(home).toHaveTitle(/^\(1\) Home/);

  await row.click();
  await expect(home.getByRole('heading', { name: 'New' })).toBeVisible();
  await expect(home.getByText('@ada', { exact: true }).first()).toBeVisible();
  await expect.poll(async () => (await server.team()).unreadCount).toBe(0);
  await expect(home).toHaveTitle(/^team/i);
});

test('an entry marked unread stays unread until the room is left', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const page = await windows.open(`/rooms/${team.id}`);
  await scribe.say(team.id, 'first');
  await scribe.say(team.id, 'second');
  await expect.poll(() => texts(page)).toEqual(['first', 'second']);
  await expect.poll(async () => (await server.team()).unreadCount).toBe(0);

  await page.getByText('second', { exact: true }).hover();
  await page.getByRole('button', { name: 'More about this entry' }).last().click();
  await page.getByRole('menuitem', { name: 'Mark unread from here' }).click();
  await expect.poll(async () => (await server.team()).unreadCount).toBe(1);
  await expect(page.getByRole('heading', { name: 'New' })).toBeVisible();
});

test('completing a name: members first, and a word about those who are not reached', async ({ server, windows }) => {
  const team = await server.team();
  await server.agent('Scribe');
  const mason = await server.agent('Mason');
  await fetch(`${server.url}/api/rooms/${team.id}/members/${mason.agent.authorId}`, { method: 'DELETE' });

  const page = await windows.open(`/rooms/${team.id}`);
  await composer(page).pressSequentially('hello @');
  const options = page.getByRole('listbox', { name: 'Name somebody' }).getByRole('option');
  await expect(options).toHaveText([/Scribe.*@scribe/, /Mason.*@mason.*not a member/]);

  await composer(page).press('Enter');
  await expect(composer(page)).toHaveValue('hello @scribe ');
  await composer(page).pressSequentially('and @mas');
  await expect(options).toHaveCount(1);
  await composer(page).press('Tab');
  await expect(composer(page)).toHaveValue('hello @scribe and @mason ');
  await expect(page.getByText('@mason is not in this room')).toBeVisible();

  await page.getByRole('button', { name: 'Add Mason' }).click();
  await expect(page.getByText('@mason is not in this room')).toHaveCount(0);
  await composer(page).press('Enter');
  await expect(page.locator('[data-entry] .mention')).toHaveText(['@scribe', '@mason']);
});

test('text is shown as it was written, and hides nothing', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  await say(page, '<img src=x onerror=alert(1)> see https://example.org/a. `code` \u202Eend');
  const entry = page.locator('[data-entry]').last();
  await expect(entry).toContainText('<img src=x onerror=alert(1)>');
  await expect(entry.locator('img')).toHaveCount(0);
  const link = entry.getByRole('link');
  await expect(link).toHaveAttribute('href', 'https://example.org/a');
  await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
  await expect(entry.locator('code')).toHaveText('code');
  await expect(entry).toContainText('U+202E');
});
