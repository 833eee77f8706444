/** How every view has to look. */

import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect } from './test-server';

/** Both themes and both widths: a colour does not depend on a width, nor what fits on a theme. */
export const viewports = [
  { theme: 'light', width: 1280, height: 800 },
  { theme: 'dark', width: 360, height: 640 },
] as const;

export async function expectAccessible(page: Page, where: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
  expect(found).toEqual([]);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(over, `${where} scrolls sideways`).toBeLessThanOrEqual(0);
}
