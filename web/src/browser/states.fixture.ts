/** A state for tests: a browser that runs in the page, with one tab. */

import type { BrowserState, BrowserTab } from '../api/types';

export const tab = (id: string, more: Partial<BrowserTab> = {}): BrowserTab => ({
  id,
  url: 'https://example.org/',
  title: 'Example',
  loading: false,
  canGoBack: false,
  canGoForward: false,
  shared: false,
  dialog: null,
  auth: null,
  error: null,
  ...more,
});

export const state = (more: Partial<BrowserState> = {}): BrowserState => ({
  mode: 'embedded',
  status: 'connected',
  preparation: { stage: 'ready', component: 'chromium', percent: 100 },
  connectionId: 'c1',
  sessionId: '',
  paused: false,
  tabs: [tab('t1')],
  selectedTabId: 't1',
  revision: 7,
  control: { holder: 'none', since: null },
  viewport: { width: 1_280, height: 800, scale: 1 },
  sandboxed: true,
  lastError: null,
  ...more,
});
