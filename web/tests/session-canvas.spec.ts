import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { filesPath } from '../src/files/paths';
import type { CanvasDocument } from '../src/api/types';
import { openSession } from './session-actions';
import { canvas, open, shown, tab } from './canvas-steps';
import { expect, test, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const text = (page: Page) => page.getByRole('textbox', { name: /^Text of/ });
const save = (page: Page) => shown(page).getByRole('button', { name: 'Save', exact: true });

/** A session, and a file in its folder. */
async function stage(server: TestServer, content: string) {
  const session = await openSession(server, 'project');
  const file = join(server.folder('project'), 'notes.md');
  writeFileSync(file, content);
  return { session, file, read: () => readFileSync(file, 'utf8') };
}

test('a file is opened on the canvas of a session, written, replaced by somebody, and written again', async ({ server, windows }) => {
  const { session, file, read } = await stage(server, '# Notes\n');
  const page = await windows.open(filesPath(server.folder('project'), 'notes.md'));
  await page.getByRole('button', { name: 'More about this file' }).click();
  await page.getByRole('menuitem', { name: 'Open on a canvas' }).click();
  await page.getByLabel('Session or room').selectOption(session.id);
  await page.getByRole('button', { name: 'Open it there' }).click();
  await expect(page).toHaveURL(new RegExp(`/sessions/${session.id}\\?doc=`));
  await expect(canvas(page).getByRole('heading', { name: 'notes.md' })).toBeVisible();

  await text(page).click();
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.type('written in a session');
  await save(page).click();
  await expect(shown(page).getByText(/^Saved (now|\d)/)).toBeVisible();
  expect(read()).toBe('# Notes\nwritten in a session');

  // Another file takes its place: the document is bound anew, and saved again.
  writeFileSync(`${file}.other`, '# Theirs\n');
  renameSync(`${file}.other`, file);
  await text(page).click();
  await page.keyboard.type('!');
  await save(page).click();
  await shown(page).getByRole('button', { name: /^Reload/ }).click();
  await expect(text(page)).toContainText('Theirs');
  await text(page).click();
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.type('and mine');
  await save(page).click();
  await expect.poll(read).toBe('# Theirs\nand mine');

  // A reload shows the same document of the same session, and the plan stands beside it as before.
  await page.reload();
  await expect(text(page)).toContainText('and mine');
  await page.getByRole('button', { name: 'Plan and changes', exact: true }).click();
  await expect(page.getByRole('complementary', { name: 'Plan and changes' })).toBeVisible();
});

test('what an agent opens on the canvas of its session appears there, and a discussion is not offered', async ({ server, windows }) => {
  const { session } = await stage(server, '');
  const page = await windows.open(`/sessions/${session.id}`);
  await page.getByRole('button', { name: 'Canvas', exact: true }).click();
  await expect(canvas(page).getByText('Documents you or an agent open appear here')).toBeVisible();
  const token = await server.post<{ token: string }>(`/api/agents/${session.agentId}/tokens`, { label: 'spec' });
  const headers = { 'x-service-agent': token.token };
  await server.post(`/api/sessions/${session.id}/canvas`, { content: { type: 'markdown', title: 'Plan', content: 'one' } }, headers);
  await expect(shown(page).getByText('one', { exact: true })).toBeVisible();
  await shown(page).getByRole('button', { name: 'More about this document' }).click();
  await expect(page.getByRole('menuitem', { name: 'Move to the front' })).toBeVisible();
  await expect(page.getByRole('menuitem', { name: 'Discuss in a thread' })).toHaveCount(0);
});

test('boxes of a text are ticked on a canvas and in a file, and every other character stays', async ({ server, windows }) => {
  const { session, file, read } = await stage(server, '# Chores\r\n\r\n- [ ] water\r\n- [x] feed\r\n');
  const plan = await server.post<CanvasDocument>(`/api/sessions/${session.id}/canvas`, {
    content: { type: 'markdown', title: 'Plan', content: '- [ ] keystone\n  - [ ] mortar' },
  });
  const page = await windows.open(`/sessions/${session.id}?doc=${plan.id}`);
  await shown(page).getByRole('checkbox', { name: 'mortar' }).click();
  await expect(shown(page).getByRole('checkbox', { name: 'mortar' })).toBeChecked();
  await expect(shown(page).getByRole('checkbox', { name: 'keystone' })).not.toBeChecked();
  const now = await server.get<CanvasDocument>(`/api/sessions/${session.id}/canvas/${plan.id}`);
  expect(now.content['content']).toBe('- [ ] keystone\n  - [x] mortar');

  await page.goto(server.url + filesPath(server.folder('project'), 'notes.md'));
  await page.getByRole('button', { name: 'Shown' }).click();
  await page.getByRole('checkbox', { name: 'water' }).focus();
  await page.keyboard.press('Space');
  await expect(page.getByRole('checkbox', { name: 'water' })).toBeChecked();
  await page.getByRole('checkbox', { name: 'feed' }).click();
  await expect(page.getByRole('checkbox', { name: 'feed' })).not.toBeChecked();
  expect(read()).toBe('# Chores\r\n\r\n- [x] water\r\n- [ ] feed\r\n');

  // Somebody was quicker with that line: nothing is set, and it is said.
  writeFileSync(file, read().replace('feed', 'feed the cat'));
  await page.getByRole('checkbox', { name: 'feed' }).click();
  await expect(page.getByText('changed this file after you opened it.')).toBeVisible();
  expect(read()).toContain('- [ ] feed the cat');

  // On a canvas the file is saved as its document.
  const chores = await server.post<CanvasDocument>(`/api/sessions/${session.id}/canvas`, { content: { type: 'file', sourcePath: file } });
  await page.goto(`${server.url}/sessions/${session.id}?doc=${chores.id}`);
  await shown(page).getByRole('button', { name: 'Shown' }).click();
  await shown(page).getByRole('checkbox', { name: 'water' }).click();
  await expect.poll(read).toContain('- [ ] water');
  await expect(shown(page).getByRole('checkbox', { name: 'water' })).not.toBeChecked();
  await shown(page).getByRole('checkbox', { name: 'feed the cat' }).click();
  await expect(shown(page).getByRole('checkbox', { name: 'feed the cat' })).toBeChecked();
  await expect.poll(read).toContain('- [x] feed the cat');
});

test('a picture on a canvas is read anew when it was saved', async ({ server, windows }) => {
  const folder = server.folder('project');
  const draw = (width: number) => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="4"></svg>`;
  writeFileSync(join(folder, 'dot.svg'), draw(4));
  const room = await server.team();
  const { id } = await open(server, room.id, { type: 'image', title: 'Dot', src: join(folder, 'dot.svg') });
  const page = await windows.open(`/rooms/${room.id}?doc=${id}`);
  const width = () => shown(page).getByRole('img', { name: 'Dot' }).evaluate((image: HTMLImageElement) => image.naturalWidth);
  await expect.poll(width).toBe(4);
  const saved = await fetch(`${server.url}/api/files/content`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cwd: folder, path: 'dot.svg', content: draw(9) }),
  });
  expect(saved.status).toBe(200);
  await expect.poll(width).toBe(9);
  await expect(tab(page, /Dot$/)).toBeVisible();
});

for (const look of viewports) {
  test(`the canvas of a session is for everybody: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const { session } = await stage(server, '');
    const { id } = await server.post<CanvasDocument>(`/api/sessions/${session.id}/canvas`, {
      content: { type: 'markdown', title: 'Plan', content: '- [ ] keystone\n- [x] arch' },
    });
    const page = await windows.open(`/sessions/${session.id}?doc=${id}`, look);
    await expect(shown(page).getByRole('checkbox', { name: 'arch' })).toBeChecked();
    await expectAccessible(page, 'the canvas of a session');
  });
}
