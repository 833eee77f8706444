/** What people do with agents at work, as the specs do it. */

import type { Session } from '../src/api/types';
import { expect, type TestServer } from './test-server';
import type { Locator, Page } from '@playwright/test';

/** Directives of the scripted agent, one a line. */
export const call = (tool: string, input: unknown): string => `#call ${tool} ${JSON.stringify(input)}`;
export const plan = (...steps: [string, 'pending' | 'in_progress' | 'completed'][]): string =>
  `#plan ${JSON.stringify({ entries: steps.map(([content, status]) => ({ content, status })) })}`;

export const prompt = (page: Page): Locator => page.getByRole('textbox', { name: 'Message to the agent' });

export async function tell(page: Page, ...lines: string[]): Promise<void> {
  await prompt(page).fill(lines.join('\n'));
  await prompt(page).press('Enter');
}

/** Opens a session of the scripted agent over HTTP. */
export function openSession(server: TestServer, folder: string, more: Record<string, unknown> = {}): Promise<Session> {
  return server.post('/api/sessions', { cwd: server.folder(folder), runtime: 'rehearsal', ...more });
}

export const send = (server: TestServer, session: Session, ...lines: string[]): Promise<unknown> =>
  server.post(`/api/sessions/${session.id}/messages`, { content: lines.join('\n') });

export const cards = (page: Page): Locator => page.locator('[data-ask]');
/** The one card that waits. */
export const pending = (page: Page): Locator => cards(page).filter({ has: page.getByText(/^asks for/) });

/** Chooses the card by a press in it, as a person does who wants to answer by a letter, and waits until letters count. */
export async function choose(card: Locator): Promise<void> {
  await card.getByRole('heading').first().click();
  await lettersCount(card);
}

export const lettersCount = (card: Locator): Promise<void> => expect(card).toHaveClass(/\blettered\b/);

/** One press, once the button has come alive by itself. */
export async function answer(card: Locator, name: RegExp): Promise<void> {
  await card.getByRole('button', { name }).click();
}

/** From the next address on: presses a button in the very moment in which it is first drawn, and not again. */
export async function pressAtOnce(page: Page, name: string, within = '[data-ask]'): Promise<void> {
  await page.addInitScript(
    ({ name, within }) => {
      const watch = new MutationObserver(() => {
        const button = [...document.querySelectorAll<HTMLElement>(`${within} button`)].find((one) => one.innerText.startsWith(name));
        if (!button) return;
        watch.disconnect();
        button.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
        button.click();
      });
      watch.observe(document, { childList: true, subtree: true });
    },
    { name, within },
  );
}

export const status = (page: Page, word: string): Promise<void> => expect(page.getByRole('main').locator('header').getByText(word)).toBeVisible();
