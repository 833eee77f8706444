import type { Entry } from '../src/api/types';
import { expect, test, type TestServer } from './test-server';
import { call, openSession, plan, send } from './session-actions';
import { expectAccessible, viewports } from './view-checks';

/** A server in which every view has something to show. */
async function furnished(server: TestServer): Promise<Record<string, string>> {
  const team = await server.team();
  const me = await server.me();
  await server.patch(`/api/rooms/authors/${me.id}/handle`, { handle: 'ada' });
  const scribe = await server.agent('Scribe');
  await server.post('/api/rooms', { kind: 'channel', title: 'A channel with a rather long name that has to be cut', topic: 'x'.repeat(300) });
  await server.post('/api/rooms', { kind: 'dm', memberIds: [scribe.agent.authorId] });
  const { entry } = await server.post<{ entry: Entry }>(`/api/rooms/${team.id}/entries`, { text: `Hello @scribe, see https://example.org/${'long/'.repeat(40)} and \`code\`.` });
  await scribe.say(team.id, `@ada\n\`\`\`sh\n${'a long line '.repeat(30)}\n\`\`\`\nand \u202E hidden`);
  await scribe.say(team.id, 'w'.repeat(400));
  await scribe.say(team.id, `A reply, ${'with a long word '.repeat(12)}${'x'.repeat(80)}`, entry.id);
  const session = await openSession(server, 'quarry');
  const edit = call('write_file', { path: 'a/rather/long/path/that/has/to/be/broken/somewhere.md', content: `${'a long line '.repeat(30)}\n` });
  await send(server, session, 'Cut the stone', '#think about it', plan(['Cut', 'in_progress'], ['Carry', 'pending']), '#say **Now** `cutting`.', edit);
  for (const emoji of ['👍', '🎉', '👀']) await server.react(team.id, entry.id, emoji);
  return {
    home: '/',
    rooms: '/rooms',
    room: `/rooms/${team.id}`,
    agents: '/agents',
    agent: `/agents/${scribe.agent.id}`,
    people: '/people',
    thread: `/rooms/${team.id}/t/${entry.id}`,
    marked: `/rooms/${team.id}?entry=${entry.id}`,
    threads: '/threads',
    search: '/search',
    found: '/search?q=hello',
    approvals: '/asks',
    sessions: '/sessions',
    'terminal sessions': '/sessions?show=terminal',
    session: `/sessions/${session.id}`,
    usage: '/usage',
    settings: '/settings',
    devices: '/settings/devices',
    accounts: '/settings/people',
    enclosure: '/settings/enclosure',
    server: '/settings/server',
    cloud: '/cloud',
    connections: '/connections',
    missing: '/nowhere',
  };
}

for (const look of viewports) {
  test(`every view is accessible and does not scroll sideways, ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    // Some twenty views, each looked through whole.
    test.setTimeout(240_000);
    const views = await furnished(server);
    const page = await windows.open('/', look);
    for (const [name, path] of Object.entries(views)) {
      await page.goto(server.url + path);
      await expect(page.getByRole('status').filter({ hasText: 'Live' })).toBeAttached();
      await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
      await expectAccessible(page, name);
    }

    await page.goto(server.url + views.people);
    await page.getByRole('button', { name: /^Edit/ }).first().click();
    await expectAccessible(page, 'edit dialog');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await expectAccessible(page, 'palette');
    await page.keyboard.press('Escape');
    await page.goto(server.url + views.rooms);
    await page.getByRole('button', { name: 'Channel', exact: true }).click();
    await expectAccessible(page, 'new channel dialog');
  });
}

test('at phone width everything one touches is at least 44 px', async ({ server, windows }) => {
  const views = await furnished(server);
  const page = await windows.open('/', { width: 360, height: 640 });
  for (const [name, path] of Object.entries(views)) {
    await page.goto(server.url + path);
    await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
    const small = await page.evaluate(() => {
      const inText = (element: Element) => element.closest('.text, .note, .hint') !== null;
      return [...document.querySelectorAll('button, a[href], select, textarea, input')]
        .filter((element) => !inText(element) && element.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
        // A tick or dot is pressed by its whole label.
        .map((element) => ({ element, pressed: element.matches('[type=radio], [type=checkbox]') ? (element.closest('label') ?? element) : element }))
        .map(({ element, pressed }) => ({ box: pressed.getBoundingClientRect(), words: element.getAttribute('aria-label') ?? element.textContent }))
        .filter(({ box }) => box.width > 1 && (box.height < 43.5 || box.width < 43.5))
        .map(({ box, words }) => `${words?.trim()} ${Math.round(box.width)}×${Math.round(box.height)}`);
    });
    expect(small, name).toEqual([]);
  }
});

test('at phone width the panel is a sheet that gives the focus back', async ({ server, windows }) => {
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`, { width: 360, height: 640 });
  const opener = page.getByRole('button', { name: 'Members and details' });
  await opener.click();
  await expect(page.getByRole('dialog', { name: 'Members and details' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(opener).toBeFocused();
});

test('the theme is chosen once and remembered', async ({ server, windows }) => {
  const page = await windows.open('/', { theme: 'dark' });
  const root = page.locator('html');
  await expect(root).toHaveAttribute('data-theme', 'dark');
  await page.getByRole('button', { name: 'Theme: auto' }).click();
  await expect(root).toHaveAttribute('data-theme', 'light');
  await page.goto(`${server.url}/rooms`);
  await expect(root).toHaveAttribute('data-theme', 'light');
});
