import { composer, expect, live, test, texts } from './test-server';

test('handles: refusals are said beside the field, and a given-up one is kept', async ({ server, windows }) => {
  await server.agent('Scribe');
  const me = await server.me();
  const page = await windows.open('/people');
  await page.getByRole('button', { name: `Edit ${me.displayName}` }).click();
  const field = page.getByLabel('Handle');
  const save = page.getByRole('button', { name: 'Save' });
  const dialog = page.getByRole('dialog');

  const refused = async (handle: string, words: RegExp) => {
    await field.fill(handle);
    await save.click();
    await expect(dialog.getByRole('alert')).toHaveText(words);
  };
  await refused('a', /2/);
  await refused('scribe', /in use/);
  await refused('everyone', /reserved/);

  await field.fill('@Ada');
  await save.click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText('@ada · you')).toBeVisible();

  await page.getByRole('button', { name: `Edit ${me.displayName}` }).click();
  await field.fill('');
  await save.click();
  await expect(page.getByText('no handle · you')).toBeVisible();
  await page.getByRole('button', { name: `Edit ${me.displayName}` }).click();
  await dialog.getByRole('button', { name: '@ada' }).click();
  await save.click();
  await expect(page.getByText('@ada · you')).toBeVisible();
});

test('an agent is added, gets a token shown once, and speaks with it', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open('/agents');
  await page.getByRole('button', { name: 'Add agent' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Scribe');
  await page.getByLabel('Folder').fill(`${server.dir}/nowhere`);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add agent' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await page.getByLabel('Folder').fill(server.folder('notes'));
  await dialog.getByRole('button', { name: 'Add agent' }).click();

  await expect(page.getByRole('heading', { name: 'Scribe' })).toBeVisible();
  await expect(page.getByText('scripted').first()).toBeVisible();
  await page.getByRole('button', { name: 'Mint a token' }).click();
  await page.getByLabel('What is it for?').fill('a test');
  await page.getByRole('button', { name: 'Mint', exact: true }).click();
  const token = await page.getByTestId('token').innerText();
  expect(token).toMatch(/^gha_[\w-]{43}$/);
  await page.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('a test')).toBeVisible();
  expect(await page.content()).not.toContain(token);

  await page.goto(`${server.url}/rooms/${team.id}`);
  await expect(composer(page)).toBeVisible();
  await server.post(`/api/rooms/${team.id}/entries`, { text: 'I am here' }, { 'x-service-agent': token });
  await expect.poll(() => texts(page)).toEqual(['I am here']);
  await expect(page.getByRole('article', { name: /^Scribe/ })).toContainText('scripted');

  await page.goto(`${server.url}/agents`);
  await page.getByRole('main').getByRole('link', { name: /Scribe/ }).click();
  await page.getByRole('button', { name: 'Revoke a test' }).click();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await expect(page.getByText('No live token.')).toBeVisible();
  const dead = await fetch(`${server.url}/api/rooms`, { headers: { 'x-service-agent': token } });
  expect(dead.status).toBe(401);
});

test('a channel is made, renamed, archived and restored', async ({ server, windows }) => {
  await server.agent('Scribe');
  const page = await windows.open('/rooms');
  await page.getByRole('button', { name: 'Channel', exact: true }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Release');
  await page.getByLabel('Topic').fill('What goes out on Friday');
  await page.getByRole('button', { name: 'Create channel' }).click();
  await expect(page).toHaveURL(/\/rooms\/.+/);
  await expect(page.getByRole('heading', { level: 1 })).toContainText(/release/i);
  await expect(page.getByText('What goes out on Friday').first()).toBeVisible();

  const menu = page.getByRole('button', { name: 'More about this room' });
  await menu.click();
  await page.getByRole('menuitem', { name: 'Name and topic' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Harvest');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(/harvest/i);

  await menu.click();
  await page.getByRole('menuitem', { name: 'Archive' }).click();
  await expect(page.getByText('This room is archived.')).toBeVisible();
  await expect(composer(page)).toHaveCount(0);
  await page.getByRole('button', { name: 'Restore' }).click();
  await expect(composer(page)).toBeVisible();
});

test('who leaves a room can read it and join again', async ({ server, windows }) => {
  const room = await server.post<{ id: string }>('/api/rooms', { kind: 'channel', title: 'Garden' });
  const me = await server.me();
  const page = await windows.open(`/rooms/${room.id}`);
  await page.getByRole('button', { name: `More about ${me.displayName}` }).click();
  await page.getByRole('menuitem', { name: 'Leave this room' }).click();
  await page.getByRole('button', { name: 'Leave', exact: true }).click();
  await expect(page.getByText('You are not a member of this room.')).toBeVisible();
  await page.goto(`${server.url}/rooms`);
  await expect(page.getByRole('main').getByRole('link', { name: /garden/i })).toContainText('not a member');
  await page.getByRole('main').getByRole('link', { name: /garden/i }).click();
  await page.getByRole('button', { name: 'Join' }).click();
  await expect(composer(page)).toBeVisible();
});

test('three tabs of one browser hold one stream, and the next tab takes over', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const first = await windows.open(`/rooms/${team.id}`);
  const others = [await first.context().newPage(), await first.context().newPage()];
  for (const page of others) {
    await page.goto(`${server.url}/rooms/${team.id}`);
    await expect(composer(page)).toBeVisible();
  }
  await expect.poll(() => server.streams()).toBe(1);
  await scribe.say(team.id, 'to all tabs');
  for (const page of [first, ...others]) await expect.poll(() => texts(page)).toEqual(['to all tabs']);

  await first.close();
  await scribe.say(team.id, 'between two leaders');
  for (const page of others) await expect.poll(() => texts(page)).toEqual(['to all tabs', 'between two leaders']);
  await expect.poll(() => server.streams()).toBe(1);
});

test('without Web Locks every tab listens for itself, by WebSocket', async ({ server, windows }) => {
  const team = await server.team();
  const scribe = await server.agent('Scribe');
  const first = await windows.open(`/rooms/${team.id}`, { withoutLocks: true });
  const second = await first.context().newPage();
  const sockets: string[] = [];
  second.on('websocket', (socket) => sockets.push(new URL(socket.url()).pathname));
  await second.goto(`${server.url}/rooms/${team.id}`);
  await live(second);
  expect(sockets).toEqual(['/api/events']);
  await scribe.say(team.id, 'heard by both');
  for (const page of [first, second]) await expect.poll(() => texts(page)).toEqual(['heard by both']);
  await expect.poll(() => server.streams()).toBe(2);
});

test('another log at the same address makes the page read everything anew', async ({ server, windows }) => {
  await server.post('/api/rooms', { kind: 'channel', title: 'Only in the first server' });
  const page = await windows.open('/rooms');
  const main = page.getByRole('main');
  await expect(main.getByText('Only in the first server')).toBeVisible();
  await server.kill();
  server.forget();
  await server.start();
  await live(page);
  await expect(main.getByText('Only in the first server')).toHaveCount(0);
  await server.post('/api/rooms', { kind: 'channel', title: 'Only in the second' });
  await expect(main.getByText('Only in the second')).toBeVisible();
});

test('keys: palette, places, key sheet, panel; and every address survives a reload', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open('/');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await expect(page).toHaveURL(`${server.url}/rooms`);
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);

  await page.keyboard.press('Control+k');
  await page.keyboard.type('team');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}`);
  const panel = page.getByRole('complementary', { name: 'Members and details' });
  await expect(panel).toBeVisible();
  await page.keyboard.press('Control+.');
  await expect(panel).toHaveCount(0);
  await page.reload();
  await expect(composer(page)).toBeVisible();
  await expect(panel).toHaveCount(0);

  await page.goto(`${server.url}/nowhere/at/all`);
  await expect(page.getByText('There is nothing at this address')).toBeVisible();
  await page.goto(`${server.url}/rooms/no-such-room`);
  await expect(page.getByText('There is no such room')).toBeVisible();
});
