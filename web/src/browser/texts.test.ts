import { expect, test } from 'vitest';
import type { BrowserState } from '../api/types';
import { state, tab } from './states.fixture';
import { addressOf, bannerOf, actionName, failureText, isTransitioning, isUnencrypted, pageError, nameOf, phaseOf, stepsOf } from './texts';

const failed = (code: string, details: Record<string, unknown> | null = null) => ({ code, message: 'It did not work.', details, at: '2026-11-22T08:00:00Z' });
const preparing = (stage: BrowserState['preparation']['stage'], status: BrowserState['status'] = 'disconnected') =>
  state({ status, connectionId: '', tabs: [], selectedTabId: '', preparation: { stage, component: 'chromium', percent: 0 } });

test('every row of the status machine has one face', () => {
  expect(phaseOf(preparing('idle'))).toBe('closed');
  expect(phaseOf(preparing('checking'))).toBe('preparing');
  expect(phaseOf(preparing('downloading'))).toBe('preparing');
  expect(phaseOf(preparing('installing'))).toBe('preparing');
  expect(phaseOf(preparing('launching', 'connecting'))).toBe('preparing');
  expect(phaseOf(state())).toBe('page');
  expect(phaseOf(state({ mode: 'window' }))).toBe('window');
  expect(phaseOf(preparing('idle', 'closing'))).toBe('closing');
  expect(phaseOf(preparing('failed', 'failed'))).toBe('failed');
  expect(phaseOf(preparing('idle', 'failed'))).toBe('failed');
  // A download that failed leaves no browser that failed.
  expect(phaseOf({ ...preparing('failed'), lastError: failed('PREPARE_FAILED') })).toBe('failed');
  // While it is tried again, the old failure is not news.
  expect(phaseOf({ ...preparing('checking'), lastError: failed('NO_DISPLAY') })).toBe('preparing');
});

test('only what moves by itself is asked for again and again', () => {
  expect([preparing('checking'), preparing('idle', 'closing'), state(), preparing('idle')].map(isTransitioning)).toEqual([true, true, false, false]);
});

test('a download is a step only where there is one', () => {
  expect(stepsOf('checking').map(({ text }) => text)).toEqual(['Looking for it on this computer', 'Starting it']);
  expect(stepsOf('launching').map(({ done, now }) => [done, now])).toEqual([
    [true, false],
    [false, true],
  ]);
  const steps = stepsOf('installing');
  expect(steps).toHaveLength(4);
  expect(steps.map(({ done }) => done)).toEqual([true, true, false, false]);
});

test('the banner says who has control', () => {
  const banner = (more: Partial<BrowserState>) => bannerOf(state(more)).title;
  expect(banner({})).toBe('You have control');
  expect(banner({ sessionId: 's1' })).toBe('Nobody acts now');
  expect(banner({ sessionId: 's1', control: { holder: 'person', since: null } })).toBe('You have control');
  expect(banner({ sessionId: 's1', control: { holder: 'agent', since: null } })).toBe('Agent has control');
  expect(banner({ sessionId: 's1', paused: true, control: { holder: 'agent', since: null } })).toBe('Paused');
});

test('every failure says what to do, and offers what helps', () => {
  const missing = failureText(failed('BROWSER_NOT_INSTALLED', { searched: ['/usr/bin/chromium'], canDownload: true }));
  expect(missing).toMatchObject({ searched: ['/usr/bin/chromium'], download: true, embedded: false });
  expect(failureText(failed('BROWSER_NOT_INSTALLED')).download).toBe(false);
  expect(failureText(failed('NO_DISPLAY')).embedded).toBe(true);
  expect(failureText(failed('LAUNCH_FAILED', { reason: 'sandbox' })).next).toContain('another user');
  expect(failureText(failed('LAUNCH_FAILED', { reason: 'deadline' })).text).toBe('It did not work.');
  expect(failureText(failed('BROWSER_CRASHED')).title).toBe('The browser ended by itself');
  expect(failureText(failed('PREPARE_FAILED')).download).toBe(true);
  // One of a newer server says itself what it is.
  expect(failureText(failed('BRAND_NEW'))).toMatchObject({ title: 'The browser did not open', text: 'It did not work.' });
});

test('a load that failed is told in words, and one nobody knows as Chromium names it', () => {
  expect(pageError(null)).toBe(null);
  expect(pageError('net::ERR_CONNECTION_REFUSED')?.text).toContain('Nobody listens');
  expect(pageError('net::ERR_CERT_DATE_INVALID')?.text).toContain('no way round');
  expect(pageError('crashed')).toEqual({ text: 'This page crashed. Reload it.', reloads: true });
  expect(pageError('net::ERR_SOMETHING')?.text).toBe('net::ERR_SOMETHING');
});

test('what a page wanted and did not get is no reason to load it again', () => {
  expect(pageError('download refused')).toEqual({ text: 'The site offered a file. Nothing is downloaded here.', reloads: false });
  expect(pageError('file chooser refused')?.reloads).toBe(false);
});

test('a tab is called by its title, else by its address', () => {
  expect(nameOf(tab('t', { title: 'Docs' }))).toBe('Docs');
  expect(nameOf(tab('t', { title: '', url: 'http://localhost:5173/' }))).toBe('localhost:5173');
  expect(nameOf(tab('t', { title: '', url: 'about:blank' }))).toBe('New tab');
  expect(nameOf(tab('t', { title: 'a\u202eb' }))).not.toContain('\u202e');
  expect(addressOf(tab('t', { url: 'about:blank' }))).toBe('');
  expect(addressOf(tab('t'))).toBe('https://example.org/');
});

test('a password on an open road is warned of, one on this computer is not', () => {
  expect(isUnencrypted('http://example.org')).toBe(true);
  expect(isUnencrypted('what is this')).toBe(true);
  for (const origin of ['https://example.org', 'http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1']) expect(isUnencrypted(origin)).toBe(false);
});

test('what an agent does is said in words', () => {
  expect(actionName('browser_click')).toBe('click');
  expect(actionName('browser_select_option')).toBe('select option');
});
