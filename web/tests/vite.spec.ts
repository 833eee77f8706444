/** A real dev server in the preview panel: what is changed on the disk is on the page without a reload. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'vite';
import { expect, test } from './test-server';

test('Vite reloads a module in the preview panel, through the preview and without the page', async ({ server, browser }) => {
  const folder = server.folder('site');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>site</title><input aria-label="Kept" /><p></p><script type="module" src="/main.js"></script>');
  writeFileSync(join(folder, 'words.js'), "export const words = 'the first words';\n");
  writeFileSync(
    join(folder, 'main.js'),
    "import { words } from './words.js';\nconst show = (it) => (document.querySelector('p').textContent = it);\nshow(words);\nimport.meta.hot.accept('./words.js', (it) => show(it.words));\n",
  );
  const vite = await createServer({ root: folder, configFile: false, logLevel: 'silent', cacheDir: join(folder, '.vite'), server: { host: '127.0.0.1' } });
  await vite.listen();
  const port = vite.config.server.port!;

  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/files?preview=${port}`);
  const inside = page.getByRole('complementary', { name: 'Preview' }).frameLocator('iframe');
  await expect(inside.getByText('the first words')).toBeVisible();
  await inside.getByLabel('Kept').fill('typed before');
  // The page hears of changes over a WebSocket of the preview, and not beside it.
  const sockets = async () => {
    const { previews } = await server.get<{ previews: { port: number; openSockets: number }[] }>('/api/workbench/previews');
    return previews.find((preview) => preview.port === port)?.openSockets ?? 0;
  };
  await expect.poll(sockets).toBeGreaterThan(0);
  for (const words of ['other words', 'the last words']) {
    writeFileSync(join(folder, 'words.js'), `export const words = '${words}';\n`);
    await expect(inside.getByText(words)).toBeVisible();
  }
  await expect(inside.getByLabel('Kept')).toHaveValue('typed before');
  await context.close();
  await vite.close();
});
