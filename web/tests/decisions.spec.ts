/** A call and what was decided about it are one card, now and after a reload. */

import type { Page } from '@playwright/test';
import { answer, call, cards, openSession, pending, prompt, send } from './session-actions';
import { expect, live, test, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

const write = call('write_file', { path: 'asked.txt', content: 'yes' });

/** The card says it now, and says the same to who comes later. */
async function expectKept(page: Page, ...words: (string | RegExp)[]): Promise<void> {
  for (const word of words) await expect(cards(page)).toContainText(word);
  // What the call came to follows the decision.
  await expect(cards(page).getByText(/pending|needs you|running/)).toHaveCount(0);
  const now = await cards(page).innerText();
  await page.reload();
  await live(page);
  await expect(cards(page)).toHaveCount(1);
  await expect.poll(() => cards(page).innerText()).toBe(now);
}

async function asked(server: TestServer, ...lines: string[]): Promise<string> {
  const session = await openSession(server, 'project');
  await send(server, session, ...lines);
  return `/sessions/${session.id}`;
}

test('a call and its decision are one card with one change, before and after', async ({ server, windows }) => {
  const page = await windows.open(await asked(server, write));
  await expect(pending(page)).toBeVisible();
  const change = page.getByRole('region', { name: /^Change of/ });
  const calls = page.locator('details.tool');
  await expect(change).toHaveCount(1);
  await expect(calls).toHaveCount(0);
  await answer(pending(page), /^Approve/);
  await expectKept(page, 'Approved by you at', 'exactly this, once', 'done');
  await expect(change).toHaveCount(1);
  await expect(calls).toHaveCount(1);
});

test('words of a refusal stand on its card', async ({ server, windows }) => {
  const page = await windows.open(await asked(server, write));
  await pending(page).getByRole('button', { name: 'Deny with words' }).click();
  await page.getByRole('textbox', { name: 'Why not?' }).fill('Use the staging database');
  await page.getByRole('checkbox', { name: /Tell the agent/ }).uncheck();
  await page.getByRole('button', { name: 'Deny with these words' }).click();
  await expectKept(page, 'Denied by you at', 'Use the staging database', 'denied');
  await expect(page.getByRole('region', { name: /^Change of/ })).toHaveCount(1);
});

test('a standing permission is shown as one', async ({ server, windows }) => {
  const page = await windows.open(await asked(server, write));
  await pending(page).getByRole('button', { name: 'Allow more than this once' }).click();
  await page.getByRole('menuitem').first().click();
  const offered = await page.getByRole('dialog').locator('blockquote').innerText();
  await page.getByRole('dialog').getByRole('button', { name: 'Always allow' }).click();
  await expect(prompt(page)).toBeFocused();
  await expectKept(page, 'Always allowed by you at', offered);
});

test('an answered question shows the answers, and one that was left says so', async ({ server, windows }) => {
  const form = {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'What is the service called?' },
      sure: { type: 'boolean', title: 'Is it ready?' },
    },
    required: ['name'],
  };
  const ask = `#ask ${JSON.stringify(form)}`;
  const page = await windows.open(await asked(server, 'Ask me', ask));
  await pending(page).getByLabel(/What is the service called/).fill('billing');
  await pending(page).getByRole('radio', { name: 'No' }).check();
  await pending(page).getByRole('button', { name: 'Send answers' }).click();
  await expectKept(page, 'Answered by you at', /What is the service called\?\s*billing/, /Is it ready\?\s*No/);

  await page.goto(server.url + (await asked(server, 'Ask me', ask)));
  await pending(page).getByRole('button', { name: 'Do not answer' }).click();
  await expectKept(page, 'Not answered by you at');
});

test('what was decided long ago is no news on the page of approvals', async ({ server, windows }) => {
  const path = await asked(server, write);
  const page = await windows.open(path);
  await answer(pending(page), /^Approve/);
  await expect(cards(page)).toContainText('Approved by you');
  await page.reload();
  await expect(cards(page)).toContainText('Approved by you');
  await page.getByRole('link', { name: 'Approvals' }).first().click();
  await expect(page.getByText('Nothing waits for you')).toBeVisible();
  await expect(cards(page)).toHaveCount(0);
});

test('at 360 px the way to the newest message covers nothing of a card', async ({ server, windows }) => {
  const thoughts = Array.from({ length: 12 }, (_, at) => `#say Step ${at + 1}.\n\nIt goes on.`);
  const page = await windows.open(await asked(server, ...thoughts, write), { width: 360, height: 640 });
  await pending(page).getByRole('button', { name: 'Deny with words' }).click();
  const tells = page.getByRole('checkbox', { name: /Tell the agent/ });
  const newest = page.getByRole('button', { name: 'Newest' });
  await page.getByRole('region', { name: 'Transcript' }).evaluate((list) => (list.scrollTop -= 140));
  await expect(newest).toBeVisible();
  const list = (await page.getByRole('region', { name: 'Transcript' }).boundingBox())!;
  const button = (await newest.boundingBox())!;
  // What is in sight of the list lies above the button, wherever one scrolls to.
  expect(list.y + list.height).toBeLessThanOrEqual(button.y);
  await tells.uncheck();
  await expect(tells).not.toBeChecked();
});

for (const look of viewports) {
  test(`decided cards are accessible: ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const page = await windows.open(await asked(server, write, call('write_file', { path: 'denied.txt', content: 'no' })), look);
    await expect(pending(page)).toBeVisible();
    await expectAccessible(page, 'a card that waits');
    await answer(pending(page), /^Approve/);
    const second = pending(page).filter({ hasText: 'denied.txt' });
    await second.getByRole('button', { name: 'Deny with words' }).click();
    await page.getByRole('textbox', { name: 'Why not?' }).fill('Not this one');
    await expectAccessible(page, 'words of a refusal');
    await page.getByRole('button', { name: 'Deny with these words' }).click();
    await expect(cards(page).filter({ hasText: 'Denied by you' })).toBeVisible();
    await expectAccessible(page, 'decided cards');
  });
}
