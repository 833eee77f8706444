import { defineConfig } from '@playwright/test';

const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: 'tests',
  testMatch: '*.spec.ts',
  // Every test starts a server of its own; two cores carry one such pair well.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [['list']],
  forbidOnly: true,
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 800 },
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env.GUILDHALL_CHROMIUM ?? '/usr/bin/chromium',
      // Chromium's own sandbox refuses to run as root.
      args: isRoot ? ['--no-sandbox'] : [],
    },
  },
});
