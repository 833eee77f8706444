import { composer, expect, live, say, test, texts } from './test-server';

test('two windows talk, each entry once and in order', async ({ server, windows }) => {
  const team = await server.team();
  const one = await windows.open(`/rooms/${team.id}`);
  const two = await windows.open(`/rooms/${team.id}`);

  await say(one, 'good morning');
  await expect.poll(() => texts(two)).toEqual(['good morning']);
  await say(two, 'line one\nline two');
  await say(two, 'and a third');

  const expected = ['good morning', 'line one\nline two', 'and a third'];
  for (const page of [one, two]) await expect.poll(() => texts(page)).toEqual(expected);
  await expect(one.getByLabel('Your text, sending')).toHaveCount(0);
});

test('a server killed and started again loses, doubles and reorders nothing', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const one = await windows.open(`/rooms/${team.id}`);
  const two = await windows.open(`/rooms/${team.id}`);

  for (const text of ['before 1', 'before 2']) await say(one, text);
  await scribe.say(team.id, 'before 3');
  await expect.poll(() => texts(two)).toEqual(['before 1', 'before 2', 'before 3']);

  await server.kill();
  // Sent before the page knows that the line is gone: it fails where one sees it, and keeps the text.
  await say(one, 'sent into the void');
  await expect(one.getByLabel('Your text, not sent')).toContainText('sent into the void');
  await expect(two.getByText(/Not connected since \d\d:\d\d:\d\d, showing event \d+/)).toBeVisible();
  await say(two, 'typed while away');
  await expect(two.getByText('Not connected, so nothing was sent.')).toBeVisible();
  await expect(composer(two)).toHaveValue('typed while away');

  await server.start();
  for (let number = 1; number <= 5; number++) await scribe.say(team.id, `during ${number}`);
  await live(one);
  await live(two);
  await one.getByRole('button', { name: 'Send again' }).click();
  await expect(one.getByLabel('Your text, not sent')).toHaveCount(0);
  await composer(two).press('Enter');
  await expect.poll(async () => (await server.entries(team.id)).length).toBe(10);
  await scribe.say(team.id, 'after');

  const stored = await server.entries(team.id);
  expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
  for (const page of [one, two]) await expect.poll(() => texts(page)).toEqual(stored.map(({ text }) => text));

  // And both equal a fresh load.
  const fresh = await windows.open(`/rooms/${team.id}`);
  await expect.poll(() => texts(fresh)).toEqual(stored.map(({ text }) => text));
});

test('a draft survives a reload and is not sent by itself', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`);
  await composer(page).fill('half a thought');
  await page.reload();
  await live(page);
  await expect(composer(page)).toHaveValue('half a thought');
  expect(await server.entries(team.id)).toEqual([]);
  await composer(page).press('Enter');
  await expect.poll(() => texts(page)).toEqual(['half a thought']);
  await page.reload();
  await expect(composer(page)).toHaveValue('');
});

test('older entries come while one scrolls up, and what one reads stays in place', async ({ server, windows }) => {
  const team = await server.team();
  for (let number = 1; number <= 130; number++) {
    await server.post(`/api/rooms/${team.id}/entries`, { text: `line ${number}` });
  }
  const page = await windows.open(`/rooms/${team.id}`);
  await expect(page.getByText('line 130', { exact: true })).toBeInViewport();
  await expect(page.getByText('line 81', { exact: true })).toBeAttached();

  const list = page.getByRole('region', { name: 'Entries', exact: true });
  const top = (text: string) => page.getByText(text, { exact: true }).evaluate((element) => element.getBoundingClientRect().top);
  await page.getByText('line 85', { exact: true }).evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await expect(page.getByText('line 31', { exact: true })).toBeAttached();
  const before = await top('line 85');
  await list.evaluate((element) => element.dispatchEvent(new Event('scroll')));
  expect(Math.abs((await top('line 85')) - before)).toBeLessThan(2);

  await list.evaluate((element) => (element.scrollTop = 0));
  await expect(page.getByText('line 1', { exact: true })).toBeAttached();
  await expect.poll(() => texts(page)).toEqual(Array.from({ length: 130 }, (_, index) => `line ${index + 1}`));
  await page.getByRole('button', { name: 'Newest' }).click();
  await expect(page.getByText('line 130', { exact: true })).toBeInViewport();
});

test('more unread entries than a page holds: one jump leads to the first of them', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  for (let number = 1; number <= 120; number++) await scribe.say(team.id, `line ${number}`);
  const page = await windows.open(`/rooms/${team.id}`);
  await expect(page.getByText('line 120', { exact: true })).toBeInViewport();
  await page.getByRole('button', { name: 'Jump to unread' }).click();
  await expect(page.getByRole('heading', { name: 'New' })).toBeInViewport();
  await expect(page.getByText('line 1', { exact: true })).toBeInViewport();
  // A live entry does not tear a hole: it is there when one scrolls to it.
  await scribe.say(team.id, 'line 121');
  await page.getByRole('button', { name: /new$|^Newest$/ }).click();
  await expect(page.getByText('line 121', { exact: true })).toBeInViewport();
});

test('who types is shown to the others', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const page = await windows.open(`/rooms/${team.id}`);
  const typing = (on: boolean) =>
    server.post(`/api/rooms/${team.id}/signals`, { kind: 'typing', on }, { 'x-service-agent': scribe.token });
  await typing(true);
  await expect(page.getByText('Scribe is typing')).toBeVisible();
  await typing(false);
  await expect(page.getByText('Scribe is typing')).toHaveCount(0);
});
