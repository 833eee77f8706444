import { defineConfig } from '@playwright/test';

const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: 'tests',
  testMatch: '*.spec.ts',
  // Every test starts a server of its own and waits for its page most of the time.
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  // A log may be cut short, so it names what failed, not what held.
  reporter: process.env.CI ? 'dot' : 'list',
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
