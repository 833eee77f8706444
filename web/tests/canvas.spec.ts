import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { ask, canvas, everyKind, one, open, shown, tab, tabs } from './canvas-steps';
import { composer, expect, live, test, texts, type TestServer } from './test-server';
import { viewports } from './view-checks';

const textbox = (page: Page) => shown(page).getByRole('textbox');
const save = (page: Page) => shown(page).getByRole('button', { name: 'Save', exact: true });
const lock = (page: Page) => shown(page).getByRole('region', { name: /is editing$/ });
const conflict = (page: Page) => shown(page).getByRole('region', { name: 'Changed after you opened it' });

/** Another web server, which counts who asks it. */
async function elsewhere(): Promise<{ url: string; asked: string[]; server: Server }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'text/html');
    response.end('<h1>A page from elsewhere</h1><script>document.title = self.origin; document.body.append(self.origin)</script>');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
}

async function room(server: TestServer) {
  const team = await server.team();
  const me = await server.me();
  await server.patch(`/api/rooms/authors/${me.id}`, { displayName: 'Ada Lovelace' });
  await server.patch(`/api/rooms/authors/${me.id}/handle`, { handle: 'ada' });
  return { team, me, scribe: await server.agent('Scribe') };
}

test('an empty canvas says what comes there, and a person opens the first document', async ({ server, windows }) => {
  const { team } = await room(server);
  const page = await windows.open(`/rooms/${team.id}`);
  await page.getByRole('button', { name: 'Canvas', exact: true }).click();
  await expect(canvas(page).getByText('Documents you or an agent open appear here')).toBeVisible();

  await canvas(page).getByRole('button', { name: 'Open a document' }).last().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Title').fill('Plan');
  await dialog.getByLabel('Text', { exact: true }).fill('# To do\n\n1. the keystone');
  await dialog.getByRole('button', { name: 'Open it' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(shown(page).getByRole('heading', { name: 'To do' })).toBeVisible();
  await expect(page).toHaveURL(/\?doc=[\w-]+$/);

  await canvas(page).getByRole('button', { name: 'Open a document' }).click();
  await dialog.getByLabel('Kind').selectOption('JSON');
  await dialog.getByLabel('JSON').fill('{"a": ');
  await dialog.getByRole('button', { name: 'Open it' }).click();
  await expect(dialog.getByRole('alert')).toContainText('This is no JSON yet');
  await dialog.getByLabel('JSON').fill('{"a": 1}');
  await dialog.getByRole('button', { name: 'Open it' }).click();
  await expect(dialog).toHaveCount(0);

  await canvas(page).getByRole('button', { name: 'Open a document' }).click();
  await dialog.getByLabel('Kind').selectOption('Table');
  await dialog.getByLabel('File from this computer').setInputFiles({ name: 'walls.csv', mimeType: 'text/csv', buffer: Buffer.from('wall,height\nwest,3\n') });
  await expect(dialog.getByText('walls.csv, 19 B')).toBeVisible();
  await dialog.getByRole('button', { name: 'Open it' }).click();
  await expect(shown(page).getByRole('cell', { name: 'west' })).toBeVisible();
  expect(await tabs(page)).toEqual(['walls.csv', 'JSON data', 'Plan']);

  await canvas(page).getByRole('button', { name: 'Open a document' }).click();
  await dialog.getByLabel('Kind').selectOption('File');
  await dialog.getByLabel('Path').fill(`${server.dir}/nowhere.txt`);
  await dialog.getByRole('button', { name: 'Open it' }).click();
  await expect(dialog.getByRole('alert')).toHaveCount(1);
  await page.keyboard.press('Escape');
  expect(await tabs(page)).toHaveLength(3);
});

test('every kind of document is shown as what it is, and nothing is fetched before a click', async ({ server, windows }) => {
  test.slow();
  const { team, scribe } = await room(server);
  const site = await elsewhere();
  for (const content of everyKind(server, scribe, site.url)) {
    const { id, roomId } = await open(server, team.id, content, scribe);
    // Pinned, so that none makes room for another.
    await server.patch(`/api/rooms/${roomId}/canvas/${id}`, { pinned: true });
  }
  const page = await windows.open(`/rooms/${team.id}`, { clicked: site.url });
  await page.getByRole('button', { name: 'Canvas', exact: true }).click();
  const look = async (name: string) => {
    await tab(page, new RegExp(`${name}$`)).click();
    await expect(shown(page).getByRole('heading', { level: 2, name })).toBeVisible();
    return shown(page);
  };

  const plan = await look('Plan');
  await expect(plan.getByRole('heading', { name: 'The arch' })).toBeVisible();
  await expect(plan.getByRole('heading', { level: 4, name: 'A level left out' })).toBeVisible();
  await expect(plan.getByRole('checkbox', { name: 'west wall' })).toBeChecked();
  await expect(plan.getByRole('cell', { name: '12' })).toBeVisible();
  await expect(plan.getByRole('link', { name: 'the notes' })).toHaveAttribute('href', 'https://example.org/notes');
  await expect(plan.getByRole('link', { name: 'Picture: far away' })).toHaveAttribute('href', 'https://example.org/a.png');
  await expect(plan.getByRole('img', { name: 'near' })).toBeVisible();
  await expect(plan.getByText('<img src="https://example.org/leak.png" onerror="alert(1)">')).toBeVisible();
  await expect(plan.getByRole('link')).toHaveCount(2);
  await expect(plan.locator('img')).toHaveCount(1);

  const numbers = await look('Numbers');
  await expect(numbers.getByText('"arch"')).toBeVisible();
  await numbers.getByRole('button', { name: 'Raw' }).click();
  await expect(numbers.getByText('"deep": true')).toBeVisible();

  await expect((await look('Clock')).getByText('A widget, shown as it is defined')).toBeVisible();
  await expect((await look('Dot')).getByRole('img', { name: 'a dot' })).toBeVisible();
  await expect((await look('Far dot')).locator('.address')).toHaveText('https://pictures.example/dot.png');
  await expect((await look('Paper')).locator('iframe')).toHaveAttribute('src', /^blob:/);

  const stones = await look('Stones');
  await expect(stones.getByText('The first 1,000 rows of 1,200')).toBeVisible();
  await expect(stones.getByRole('row')).toHaveCount(1_001);
  await expect(stones.getByRole('cell', { name: 'a, "b"' }).first()).toBeVisible();

  await expect((await look('Bell')).locator('audio')).toHaveJSProperty('error', null);
  await expect((await look('Film')).getByText('This browser cannot play it (video/mp4)')).toBeVisible();

  const model = await look('Keystone');
  const drawing = model.locator('canvas');
  await expect(drawing).toBeVisible();
  await expect(model.getByText('This model cannot be drawn here')).toHaveCount(0);
  // Without a graphics card the first drawing takes its time.
  await expect(drawing).toHaveAttribute('aria-busy', 'false', { timeout: 40_000 });
  expect(await colours(page, await drawing.screenshot())).toBeGreaterThan(2);

  const file = await look('main.rs');
  await expect(file.getByText(`${server.folder('Scribe')}/main.rs`)).toBeVisible();
  await expect(file.getByText('Read only here')).toBeVisible();
  await expect(file.getByText('rust', { exact: true })).toBeVisible();
  await expect(file.getByRole('textbox', { name: 'Text of main.rs' })).toHaveText('text');
  await expect((await look('lib.rs')).getByText(`${server.folder('Scribe')}/lib.rs`)).toBeVisible();
  await expect((await look('Board')).getByText('An app of the tool server “boards”')).toBeVisible();

  const shared = await look('Shared page');
  await expect(shared.getByText('the browser that people and agents share, which comes later')).toBeVisible();
  await expect(shared.getByRole('link', { name: 'Open in a new tab' })).toHaveAttribute('href', 'http://localhost:5173/app');

  const page2 = await look('Site');
  await expect(page2.locator('.address')).toHaveText(`${site.url}/page`);
  await expect(page2.locator('iframe')).toHaveCount(0);
  expect(site.asked).toEqual([]);
  await page2.getByRole('button', { name: 'Show it here' }).click();
  const frame = page2.frameLocator('iframe');
  await expect(frame.getByRole('heading', { name: 'A page from elsewhere' })).toBeVisible();
  // It runs, but as nobody.
  await expect(frame.getByText('null')).toBeVisible();
  await expect(page2.locator('.address')).toHaveText(`${site.url}/page`);
  expect(site.asked).toContain('/page');
  site.server.close();
});

test('a kind this page does not know shows all it holds', async ({ server, windows }) => {
  const { team } = await room(server);
  const made = await open(server, team.id, { type: 'json', title: 'From tomorrow', data: {} });
  const page = await windows.open('/rooms');
  await page.route(`**/api/rooms/${team.id}/canvas`, (route) =>
    route.fulfill({ json: { documents: [{ ...made, contentType: 'hologram', content: { type: 'hologram', title: 'From tomorrow', beam: [1, 2] } }] } }),
  );
  await page.goto(`${server.url}/rooms/${team.id}?doc=${made.id}`);
  await expect(shown(page).getByText('This page does not know documents of the type “hologram”')).toBeVisible();
  await expect(shown(page).locator('pre')).toContainText('"beam"');
});

test('pinned tabs stand first, moving to the front reorders for all and opens nobody’s tab', async ({ server, windows }) => {
  const { team, scribe } = await room(server);
  const documents = [];
  for (const title of ['one', 'two', 'three']) documents.push(await open(server, team.id, { type: 'markdown', title, content: title }));
  const ada = await windows.open(`/rooms/${team.id}?doc=${documents[1]!.id}`);
  const other = await windows.open(`/rooms/${team.id}?doc=${documents[0]!.id}`);
  await expect.poll(() => tabs(ada)).toEqual(['three', 'two', 'one']);

  await shown(other).getByRole('button', { name: 'Pin', exact: true }).click();
  for (const page of [ada, other]) await expect.poll(() => tabs(page)).toEqual(['one', 'three', 'two']);
  await ask(server, scribe, 'PATCH', documents[1]!, { activate: true });
  for (const page of [ada, other]) await expect.poll(() => tabs(page)).toEqual(['one', 'two', 'three']);
  await expect(tab(ada, 'two')).toHaveAttribute('aria-selected', 'true');
  await expect(tab(other, /one$/)).toHaveAttribute('aria-selected', 'true');
  await expect(shown(ada).getByText('rev 2')).toBeVisible();

  await open(server, team.id, { type: 'markdown', title: 'four', content: 'new' }, scribe);
  await expect(tab(ada, /four.*changed/)).toBeVisible();
  await expect(tab(ada, 'two')).toHaveAttribute('aria-selected', 'true');

  await tab(ada, 'two').focus();
  await ada.keyboard.press('ArrowRight');
  await expect(tab(ada, 'three')).toBeFocused();
  await expect(ada).toHaveURL(new RegExp(`doc=${documents[2]!.id}$`));
  await ada.reload();
  await live(ada);
  await expect(tab(ada, 'three')).toHaveAttribute('aria-selected', 'true');

  await shown(other).getByRole('button', { name: 'More about this document' }).click();
  await other.getByRole('menuitem', { name: 'Close for everybody' }).click();
  await other.getByRole('button', { name: 'Close for everybody' }).click();
  await expect.poll(() => tabs(ada)).toEqual(['four', 'two', 'three']);
  await expect(tab(ada, 'three')).toHaveAttribute('aria-selected', 'true');
});

test('a person and an agent edit one document: the lock is a card, and every change of the other is refused', async ({ server, windows }) => {
  const { team, scribe } = await room(server);
  const plan = await open(server, team.id, { type: 'markdown', title: 'Plan', content: 'first' }, scribe);
  const ada = await windows.open(`/rooms/${team.id}?doc=${plan.id}`);
  const watcher = await windows.open(`/rooms/${team.id}?doc=${plan.id}`);

  expect(await ask(server, scribe, 'POST', plan, { editing: true }, '/editing')).toMatchObject({ status: 200 });
  for (const page of [ada, watcher]) {
    await expect(lock(page)).toContainText(/Scribe is editing since \d\d:\d\d/);
    await expect(shown(page).getByRole('button', { name: 'Edit', exact: true })).toHaveCount(0);
  }
  await sideBySide('canvas-two-windows-lock', ada, watcher);
  await lock(ada).getByRole('button', { name: 'Wait and notify me' }).click();
  await lock(ada).getByRole('button', { name: 'Ask to edit' }).click();
  await expect.poll(() => texts(ada)).toEqual(['@scribe may I edit “Plan”?']);
  await lock(watcher).getByRole('button', { name: 'Open a copy' }).click();
  await expect(tab(watcher, 'Plan (copy)')).toHaveAttribute('aria-selected', 'true');
  await expect(tab(ada, /^Plan\b(?! \(copy).*Scribe is editing/)).toHaveAttribute('aria-selected', 'true');

  await ask(server, scribe, 'POST', plan, { editing: false }, '/editing');
  await expect(ada.getByText('“Plan” is free to edit now.')).toBeVisible();

  await shown(ada).getByRole('button', { name: 'Edit', exact: true }).click();
  await expect(textbox(ada)).toBeFocused();
  await textbox(ada).fill('first\nand my line');
  for (const body of [{}, { pinned: true }, { activate: true }, { content: { type: 'markdown', content: 'theirs' } }]) {
    expect(await ask(server, scribe, 'PATCH', plan, body)).toMatchObject({ status: 409, code: 'CANVAS_BEING_EDITED' });
  }
  expect(await one(server, plan)).toMatchObject({ rev: 1, pinned: false, content: { content: 'first' } });
  await save(ada).click();
  await expect(shown(ada).getByText('and my line')).toBeVisible();
  await expect.poll(() => one(server, plan)).toMatchObject({ rev: 2, content: { content: 'first\nand my line' } });

  // Free again: the agent's change passes, and the reader is told instead of being surprised.
  expect(await ask(server, scribe, 'PATCH', plan, { content: { type: 'markdown', title: 'Plan', content: 'second' } })).toMatchObject({ status: 200 });
  await expect(shown(ada).getByText('Scribe changed this while you looked at it.')).toBeVisible();
  await shown(ada).getByRole('button', { name: 'Compare' }).click();
  await expect(ada.getByRole('dialog')).toContainText('removed: and my line');
  await expect(ada.getByRole('dialog')).toContainText('added: second');
});

test('a change while one was away is a card with three choices, and no text is lost', async ({ server, windows }) => {
  const { team, scribe } = await room(server);
  const content = 'stones\n\nwest wall\n\nend';
  const plan = await open(server, team.id, { type: 'markdown', title: 'Plan', content });
  const ada = await windows.open(`/rooms/${team.id}?doc=${plan.id}`, { width: 1180 });
  const other = await windows.open(`/rooms/${team.id}?doc=${plan.id}`, { width: 1180 });
  const edit = () => shown(ada).getByRole('button', { name: /^(Edit|Continue editing)$/ }).last().click();
  const theirs = (text: string) => ask(server, scribe, 'PATCH', plan, { content: { type: 'markdown', title: 'Plan', content: text } });
  const leave = async () => {
    await shown(ada).getByRole('button', { name: 'Cancel' }).click();
    await ada.getByRole('button', { name: 'Keep it for later' }).click();
    await expect.poll(async () => (await one(server, plan)).editingBy).toBeUndefined();
  };

  await edit();
  await textbox(ada).fill(`${content}\nmine`);
  await leave();
  await ada.reload();
  await live(ada);
  await expect(shown(ada).getByText('You have unsaved text here')).toBeVisible();
  expect(await theirs(content.replace('stones', 'STONES'))).toMatchObject({ status: 200 });
  await edit();
  await expect(conflict(ada)).toContainText('You opened rev 1; Scribe made it rev 2');
  await expect(conflict(ada).getByRole('region', { name: 'What they changed' })).toContainText('added: STONES');
  // None of the choices is chosen beforehand: a bare Enter does nothing.
  await expect(conflict(ada).locator(':focus')).toHaveCount(0);
  await conflict(ada).getByRole('button', { name: 'What you changed' }).click();
  await expect(conflict(ada).getByRole('region', { name: 'What you changed' })).toContainText('added: mine');
  await expect(save(ada)).toBeDisabled();
  await sideBySide('canvas-two-windows', ada, other);

  await conflict(ada).getByRole('button', { name: 'Merge both' }).click();
  const both = `${content.replace('stones', 'STONES')}\nmine`;
  await expect(textbox(ada)).toHaveValue(both);
  await save(ada).click();
  await expect.poll(() => one(server, plan)).toMatchObject({ rev: 3, content: { content: both } });

  // Taking theirs sets mine aside, and it can be brought back.
  await edit();
  await textbox(ada).fill('mine alone');
  await leave();
  await theirs('theirs alone');
  await edit();
  await conflict(ada).getByRole('button', { name: 'Take theirs' }).click();
  await expect(textbox(ada)).toHaveValue('theirs alone');
  await shown(ada).getByRole('button', { name: 'Bring my text back' }).click();
  await expect(textbox(ada)).toHaveValue('mine alone');
  await save(ada).click();
  await expect.poll(() => one(server, plan)).toMatchObject({ rev: 5, content: { content: 'mine alone' } });
});

test('two windows of one person hinder each other by revision: 412 is the same card, and a third change is caught again', async ({ server, windows }) => {
  const { team } = await room(server);
  const data = await open(server, team.id, { type: 'json', title: 'Numbers', data: { a: 1 } });
  const first = await windows.open(`/rooms/${team.id}?doc=${data.id}`);
  const second = await windows.open(`/rooms/${team.id}?doc=${data.id}`);
  await shown(first).getByRole('button', { name: 'Edit', exact: true }).click();
  await textbox(first).fill('{"a": 2');
  await expect(shown(second).getByText('You are editing this in another window.')).toBeVisible();
  await save(first).click();
  await expect(shown(first).getByRole('alert')).toContainText('This is no JSON yet');
  await textbox(first).fill('{"a": 2}');

  const write = (value: number) => server.patch(`/api/rooms/${team.id}/canvas/${data.id}`, { content: { type: 'json', title: 'Numbers', data: { a: value } } });
  await write(3);
  await expect(shown(first).getByText('Your text stays yours.')).toBeVisible();
  await save(first).click();
  await expect(conflict(first)).toBeVisible();
  await write(4);
  await conflict(first).getByRole('button', { name: 'Save mine over it' }).click();
  await expect(conflict(first)).toContainText('made it rev 3');
  expect(await one(server, data)).toMatchObject({ rev: 3, content: { data: { a: 4 } } });
  await conflict(first).getByRole('button', { name: 'Save mine over it' }).click();
  await expect.poll(() => one(server, data)).toMatchObject({ rev: 4, content: { data: { a: 2 } } });
  await expect(textbox(first)).toHaveCount(0);

  // A pin is no change of the text: the save goes through it.
  await shown(first).getByRole('button', { name: 'Edit', exact: true }).click();
  await textbox(first).fill('{"a": 5}');
  await server.patch(`/api/rooms/${team.id}/canvas/${data.id}`, { pinned: true });
  await save(first).click();
  await expect.poll(() => one(server, data)).toMatchObject({ rev: 6, pinned: true, content: { data: { a: 5 } } });
});

test('text of a document that was closed, or of a server that was gone, is kept', async ({ server, windows }) => {
  const { team } = await room(server);
  const plan = await open(server, team.id, { type: 'markdown', title: 'Plan', content: 'first' });
  const page = await windows.open(`/rooms/${team.id}?doc=${plan.id}`);
  await shown(page).getByRole('button', { name: 'Edit', exact: true }).click();
  await textbox(page).fill('written while nobody listens');
  await server.kill();
  // By key: the button is off once the loss is known.
  await textbox(page).press('ControlOrMeta+s');
  await expect(save(page)).toBeDisabled();
  await expect(shown(page).getByText('Not connected: saved as soon as the server answers')).toBeVisible();
  await server.start();
  await expect.poll(() => one(server, plan), { timeout: 25_000 }).toMatchObject({ rev: 2, content: { content: 'written while nobody listens' } });
  await live(page);

  await shown(page).getByRole('button', { name: 'Edit', exact: true }).click();
  await textbox(page).fill('never saved');
  await fetch(`${server.url}/api/rooms/${team.id}/canvas/${plan.id}`, { method: 'DELETE' });
  await expect(canvas(page).getByText('“Plan” was closed. What you had written there is kept.')).toBeVisible();
  await page.reload();
  await canvas(page).getByRole('button', { name: 'Open it anew' }).click();
  await expect(shown(page).getByText('never saved')).toBeVisible();
  await expect(canvas(page).getByText('was closed. What you had')).toHaveCount(0);
});

test('leaving by key, address or reload gives the lock back', async ({ server, windows }) => {
  const { team, me } = await room(server);
  const plan = await open(server, team.id, { type: 'markdown', title: 'Plan', content: 'first' });
  const page = await windows.open(`/rooms/${team.id}?doc=${plan.id}`);
  const editedBy = async () => (await one(server, plan)).editingBy;
  const edit = () => shown(page).getByRole('button', { name: 'Edit', exact: true }).click();

  await edit();
  await expect.poll(editedBy).toBe(me.id);
  await page.keyboard.press('Control+.');
  await expect(canvas(page)).toHaveCount(0);
  await expect.poll(editedBy).toBeUndefined();
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}`);
  await page.keyboard.press('Control+.');

  await edit();
  await expect.poll(editedBy).toBe(me.id);
  await page.goto(`${server.url}/agents`);
  await expect.poll(editedBy).toBeUndefined();

  await page.goto(`${server.url}/rooms/${team.id}?doc=no-such-document`);
  await expect(canvas(page).getByText('The document of that address is not on this canvas any more.')).toBeVisible();
});

test('discussing a document opens its thread, and an archived canvas can be read only', async ({ server, windows }) => {
  const { scribe } = await room(server);
  const release = await server.post<{ id: string }>('/api/rooms', { kind: 'channel', title: 'Release', memberIds: [scribe.agent.authorId] });
  const plan = await open(server, release.id, { type: 'markdown', title: 'Plan', content: 'first' });
  const page = await windows.open(`/rooms/${release.id}?doc=${plan.id}`);
  await shown(page).getByRole('button', { name: 'More about this document' }).click();
  await page.getByRole('menuitem', { name: 'Discuss in a thread' }).click();
  await expect(page).toHaveURL(new RegExp(`/rooms/${release.id}/t/[\\w-]+$`));
  expect(page.url()).toContain((await one(server, plan)).threadRootEntryId);

  await page.goto(`${server.url}/rooms/${release.id}?doc=${plan.id}`);
  await expect(composer(page)).toBeVisible();
  await server.patch(`/api/rooms/${release.id}`, { archived: true });
  await expect(shown(page).getByRole('button', { name: 'Edit', exact: true })).toHaveCount(0);
  await expect(shown(page).getByRole('button', { name: 'Pin', exact: true })).toHaveCount(0);
  await expect(canvas(page).getByRole('button', { name: 'Open a document' })).toHaveCount(0);
});

for (const look of viewports) {
  test(`the canvas is accessible and fits, ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const { team, scribe } = await room(server);
    // So many views, each judged in full.
    test.setTimeout(240_000);
    const kinds = everyKind(server, scribe, 'https://pages.example', 20);
    const documents = [];
    for (const content of kinds) {
      const made = await open(server, team.id, content, scribe);
      await server.patch(`/api/rooms/${team.id}/canvas/${made.id}`, { pinned: true });
      documents.push(made);
    }
    const page = await windows.open('/', look);
    await page.goto(`${server.url}/rooms/${team.id}?doc=${documents[0]!.id}`);
    await expectFit(page, 'the whole page');
    for (const { id, contentType } of documents) {
      await page.locator(`[data-tab="${id}"]`).click();
      await expect(page.locator(`[aria-labelledby="canvas-tab-${id}"]`)).toBeVisible();
      await expectFit(page, contentType, '#canvas-document');
    }

    const [plan] = documents;
    await page.locator(`[data-tab="${plan!.id}"]`).click();
    await ask(server, scribe, 'POST', plan!, { editing: true }, '/editing');
    await expect(lock(page)).toBeVisible();
    await expectFit(page, 'lock card');
    await ask(server, scribe, 'POST', plan!, { editing: false }, '/editing');
    await shown(page).getByRole('button', { name: 'Edit', exact: true }).click();
    await textbox(page).fill('mine');
    await expectFit(page, 'editor');
    await shown(page).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Keep it for later' }).click();
    await expect.poll(async () => (await one(server, plan!)).editingBy).toBeUndefined();
    await ask(server, scribe, 'PATCH', plan!, { content: { type: 'markdown', title: 'Plan', content: 'theirs' } });
    await shown(page).getByRole('button', { name: 'Continue editing' }).click();
    await expect(conflict(page)).toBeVisible();
    await expectFit(page, 'conflict card');

    await page.getByRole('button', { name: 'Open a document' }).click();
    await expectFit(page, 'dialog');
  });
}

async function expectFit(page: Page, where: string, part = 'body'): Promise<void> {
  // The browser's own PDF viewer is not ours to judge.
  const { violations } = await new AxeBuilder({ page }).include(part).exclude('iframe').analyze();
  expect(violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`)).toEqual([]);
  const { over, small } = await page.evaluate(() => ({
    over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    small: [...document.querySelectorAll('button, a[href], select, textarea, input, summary')]
      .filter((element) => element.closest('.text, .note, .hint') === null && element.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
      .map((element) => ({ box: element.getBoundingClientRect(), words: element.getAttribute('aria-label') ?? element.textContent }))
      .filter(({ box }) => box.width > 1 && (box.height < 43.5 || box.width < 43.5))
      .map(({ box, words }) => `${words?.trim()} ${Math.round(box.width)}×${Math.round(box.height)}`),
  }));
  expect(over, where).toBeLessThanOrEqual(0);
  if (page.viewportSize()!.width <= 360) expect(small, where).toEqual([]);
}

/** How many colours a picture has. */
function colours(page: Page, png: Buffer): Promise<number> {
  return page.evaluate(async (src) => {
    const picture = new Image();
    picture.src = src;
    await picture.decode();
    const sheet = new OffscreenCanvas(picture.width, picture.height).getContext('2d')!;
    sheet.drawImage(picture, 0, 0);
    return new Set(new Uint32Array(sheet.getImageData(0, 0, picture.width, picture.height).data.buffer)).size;
  }, `data:image/png;base64,${png.toString('base64')}`);
}

/** Both windows in one picture in the folder GUILDHALL_PICTURES, for a person to look at. */
async function sideBySide(name: string, left: Page, right: Page): Promise<void> {
  const folder = process.env.GUILDHALL_PICTURES;
  if (!folder) return;
  const sources = [await left.screenshot(), await right.screenshot()].map((png) => `data:image/png;base64,${png.toString('base64')}`);
  const context = await left.context().browser()!.newContext({ viewport: { width: 2 * left.viewportSize()!.width + 20, height: 800 } });
  const sheet = await context.newPage();
  await sheet.setContent(`<body style="margin:0;display:flex;gap:20px;background:#777">${sources.map((src) => `<img src="${src}">`).join('')}`);
  await sheet.screenshot({ path: `${folder}/${name}.png` });
  await context.close();
}
