/** Takes docs/screenshot.png: a lively room on a real server, 1440×900, light. Run by `npm run screenshot`. */

import { composer, expect, test, texts } from './test-server';

test('the screenshot of the README', async ({ server, windows }) => {
  const me = await server.me();
  await server.patch(`/api/rooms/authors/${me.id}`, { displayName: 'Ada Lovelace', color: '#2f6fa8' });
  await server.patch(`/api/rooms/authors/${me.id}/handle`, { handle: 'ada' });
  const team = await server.team();
  await server.patch(`/api/rooms/${team.id}`, { topic: 'Everybody of this house' });

  const [scribe, mason, keeper] = [await server.agent('Scribe'), await server.agent('Mason'), await server.agent('Keeper')];
  const looks = [
    [scribe, '🪶', '#1f7a6d'],
    [mason, '🧱', '#b5532f'],
    [keeper, '🗝️', '#5a5fc0'],
  ] as const;
  for (const [{ agent }, emoji, color] of looks) await server.patch(`/api/rooms/authors/${agent.authorId}`, { emoji, color });

  const say = (text: string) => server.post(`/api/rooms/${team.id}/entries`, { text });
  const release = await server.post<{ id: string }>('/api/rooms', {
    kind: 'channel',
    title: 'Release',
    topic: 'What goes out on Friday',
    memberIds: [mason.agent.authorId, keeper.agent.authorId],
  });
  await server.post('/api/rooms', { kind: 'channel', title: 'Reading room', memberIds: [scribe.agent.authorId] });
  await server.post('/api/rooms', { kind: 'dm', memberIds: [scribe.agent.authorId] });

  await say('Good morning. The arch has to stand before Friday: who takes what?');
  await mason.say(team.id, 'I take the west wall. It builds again since last night:\n```sh\n$ cargo test --workspace\ntest result: ok. 312 passed; 0 failed\n```');
  await scribe.say(team.id, 'I write the notes for the release and keep the list of what is open:\n– keystone: wants a second pair of eyes\n– reading room: waits for @keeper');
  const asked = await server.post<{ entry: { id: string } }>(`/api/rooms/${team.id}/entries`, {
    text: 'Thank you @mason. @scribe please put the notes where everybody finds them.',
  });
  await scribe.say(team.id, 'Done: they lie on the canvas.', asked.entry.id);
  await server.post(
    `/api/rooms/${team.id}/canvas`,
    {
      content: {
        type: 'markdown',
        title: 'Notes for the release',
        content:
          '# The arch\n\nStands before **Friday**.\n\n| Stone | Who | State |\n|---|---|---|\n| west wall | Mason | builds again |\n| keystone | Mason | wants a second pair of eyes |\n| reading room | Keeper | open |\n\n1. look at the keystone\n2. tag it once the checks are green\n3. ring the bell\n',
      },
    },
    { 'x-service-agent': scribe.token },
  );
  await server.post(
    `/api/rooms/${team.id}/canvas`,
    { content: { type: 'json', title: 'Checks', data: { green: 310, red: 2 } } },
    { 'x-service-agent': mason.token },
  );
  await server.react(team.id, asked.entry.id, '👍', { 'x-service-agent': mason.token });
  await server.react(team.id, asked.entry.id, '👍', { 'x-service-agent': keeper.token });
  await mason.say(team.id, 'Thank you. I look at the keystone next.');
  await mason.say(release.id, 'Two checks are still red.');
  await keeper.say(release.id, '@ada may I tag it once they are green?');

  const notes = await server.get<{ documents: { id: string; title: string }[] }>(`/api/rooms/${team.id}/canvas`);
  const shown = notes.documents.find((document) => document.title === 'Notes for the release')!;
  const page = await windows.open(`/rooms/${team.id}`, { width: 1440, height: 900 });
  await expect.poll(async () => (await texts(page)).length).toBe(6);
  await expect.poll(async () => (await server.team()).unreadCount).toBe(0);
  await page.goto(`${server.url}/rooms`);
  await keeper.say(team.id, 'The reading room is open now, @ada. `keeper` has the key.');
  await page.goto(`${server.url}/rooms/${team.id}?doc=${shown.id}`);
  await expect.poll(async () => (await texts(page)).length).toBe(7);
  await expect(page.getByRole('heading', { name: 'The arch' })).toBeVisible();
  await composer(page).fill('Then the arch can ');
  await expect(page.getByRole('status').filter({ hasText: 'Live' })).toBeVisible();
  await page.screenshot({ path: '../docs/screenshot.png', animations: 'disabled' });
});
