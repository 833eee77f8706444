/** The calls of the local browser, one function an operation; each answers its whole state. */

import { bodyOf, http, readSnapshot } from './client';
import type { TabNavigation } from './types';

const at = (id: string) => ({ path: { id } });

/** In this page, or as a window on the screen of the server's computer. */
export type BrowserMode = 'embedded' | 'window';

export const browser = {
  state: () => readSnapshot(http.GET('/api/local-browser')),
  open: (body: { mode: BrowserMode; sessionId?: string; url?: string }) => bodyOf(http.POST('/api/local-browser/open', { body })),
  /** With `download` it is the person's word that something may be fetched from the network. */
  prepare: (download: boolean) => bodyOf(http.POST('/api/local-browser/prepare', { body: { download } })),
  close: () => bodyOf(http.POST('/api/local-browser/close', { body: {} })),
  /** Null ends sharing; without a tab it is the selected one. */
  share: (sessionId: string | null, tabId?: string) =>
    bodyOf(http.POST('/api/local-browser/share', { body: { sessionId, ...(tabId ? { tabId } : {}) } })),
  pause: (paused: boolean) => bodyOf(http.POST('/api/local-browser/pause', { body: { paused } })),

  tabs: {
    open: (url?: string) => bodyOf(http.POST('/api/local-browser/tabs', { body: url ? { url } : {} })),
    select: (id: string) => bodyOf(http.POST('/api/local-browser/tabs/{id}/select', { params: at(id), body: {} })),
    close: (id: string) => bodyOf(http.DELETE('/api/local-browser/tabs/{id}', { params: at(id) })),
    navigate: (id: string, body: TabNavigation) => bodyOf(http.POST('/api/local-browser/tabs/{id}/navigate', { params: at(id), body })),
    viewport: (id: string, body: { width: number; height: number; scale: number }) =>
      bodyOf(http.POST('/api/local-browser/tabs/{id}/viewport', { params: at(id), body })),
    dialog: (id: string, accept: boolean, text?: string) =>
      bodyOf(http.POST('/api/local-browser/tabs/{id}/dialog', { params: at(id), body: { accept, ...(text === undefined ? {} : { text }) } })),
    signIn: (id: string, username: string, password: string) =>
      bodyOf(http.POST('/api/local-browser/tabs/{id}/auth', { params: at(id), body: { username, password } })),
    cancelSignIn: (id: string) => bodyOf(http.POST('/api/local-browser/tabs/{id}/auth', { params: at(id), body: { cancel: true } })),
    selection: (id: string) => readSnapshot(http.GET('/api/local-browser/tabs/{id}/selection', { params: at(id) })),
  },
};

/** Where a picture of a tab is saved from. */
export const screenshotPath = (id: string): string => `/api/local-browser/tabs/${encodeURIComponent(id)}/screenshot`;

/** Where the pictures come from. */
export const STREAM_PATH = '/api/local-browser/stream';
export const STREAM_PROTOCOL = 'guildhall-browser.v1';
