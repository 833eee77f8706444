/** What the page says of the local browser. Pure. */

import type { BrowserFailure, BrowserState, BrowserTab } from '../api/types';
import { escapeHidden } from '../text/entry-pieces';

export type Phase = 'closed' | 'failed' | 'preparing' | 'closing' | 'window' | 'page';

/** Which of its faces the view shows. */
export function phaseOf({ status, mode, preparation: { stage }, lastError }: BrowserState): Phase {
  if (status === 'connected') return mode === 'window' ? 'window' : 'page';
  if (status === 'closing') return 'closing';
  if (status === 'connecting' || steps.some((step) => step.stage === stage)) return 'preparing';
  return status === 'failed' || lastError ? 'failed' : 'closed';
}

/** True while it moves on by itself, so that another state will come. */
export const isTransitioning = (state: BrowserState): boolean => ['preparing', 'closing'].includes(phaseOf(state));

/** The steps that are shown while it is got ready, in their order; those of a download only where there is one. */
const steps: { stage: string; text: string; download?: true }[] = [
  { stage: 'checking', text: 'Looking for it on this computer' },
  { stage: 'downloading', text: 'Downloading it', download: true },
  { stage: 'installing', text: 'Unpacking it', download: true },
  { stage: 'launching', text: 'Starting it' },
];

export type PreparationStep = { text: string; done: boolean; now: boolean };

export function stepsOf(stage: string): PreparationStep[] {
  const downloads = steps.some((step) => step.download && step.stage === stage);
  const shown = steps.filter((step) => downloads || !step.download);
  const at = shown.findIndex((step) => step.stage === stage);
  return shown.map(({ text }, index) => ({ text, done: index < at, now: index === at }));
}

const components: Record<string, string> = { chromium: 'Chromium' };
export const componentName = (component: string): string => components[component] ?? escapeHidden(component);

export type Banner = { sign: string; title: string; text: string; tone: 'plain' | 'accent' | 'warn' };

/** Who has the mouse; `session` names the chat that shares a tab. */
export function bannerOf({ paused, sessionId, control: { holder } }: Pick<BrowserState, 'paused' | 'sessionId' | 'control'>): Banner {
  if (paused) return { sign: '‖', title: 'Paused', text: 'What an agent tries is refused until you go on.', tone: 'warn' };
  if (holder === 'agent') return { sign: '●', title: 'Agent has control', text: 'Click into the page to take over.', tone: 'accent' };
  if (sessionId === '') return { sign: '◆', title: 'You have control', text: 'No chat sees this browser.', tone: 'plain' };
  if (holder === 'person') return { sign: '◆', title: 'You have control', text: 'The agent waits until you are still.', tone: 'plain' };
  return { sign: '◌', title: 'Nobody acts now', text: 'The agent may; you always come first.', tone: 'plain' };
}

export type FailureText = {
  title: string;
  text: string;
  /** What the person can do about it, in words; `""` where the buttons say it. */
  next: string;
  /** The page's own way out: a browser in the page where a window has no screen. */
  embedded: boolean;
  /** True where the server offers to fetch one. */
  download: boolean;
  /** Where was looked. */
  searched: string[];
};

/** What went wrong, what it means, and what to do. */
export function failureText({ code, message, details: of }: BrowserFailure): FailureText {
  const details = (of ?? {}) as { searched?: unknown; canDownload?: unknown; reason?: unknown };
  const plain: FailureText = { title: 'The browser did not open', text: escapeHidden(message), next: '', embedded: false, download: false, searched: [] };
  switch (code) {
    case 'BROWSER_NOT_INSTALLED': {
      const searched = Array.isArray(details.searched) ? details.searched.map((place) => escapeHidden(String(place))) : [];
      return {
        ...plain,
        title: 'There is no Chromium on this computer',
        text: 'The local browser is Chromium, Chrome or Edge as it is installed on the computer of this server. None was found.',
        next: 'Install one and look again, or name its program as browser.executable in the configuration of this server.',
        download: details.canDownload === true,
        searched,
      };
    }
    case 'NO_DISPLAY':
      return { ...plain, title: 'There is no screen for a window', text: 'A window of its own needs a desktop on the computer of this server.', next: 'The browser can be shown in this page instead.', embedded: true };
    case 'LAUNCH_FAILED':
      if (details.reason === 'sandbox') {
        return {
          ...plain,
          text: "Chromium's own sandbox does not work for the user this server runs as, such as root.",
          next: 'Run the server as another user. In a container that is a wall itself, GUILDHALL_BROWSER_NO_SANDBOX=1 lets it run without.',
        };
      }
      return { ...plain, next: "Try again. If it stays like this, start Chromium by hand on that computer: it says there what it lacks. The server's log has more." };
    case 'BROWSER_CRASHED':
      return { ...plain, title: 'The browser ended by itself', text: 'Its tabs are gone; cookies and sign-ins are kept.', next: '' };
    case 'PREPARE_FAILED':
      return { ...plain, title: 'Chromium could not be fetched', text: escapeHidden(message), next: 'What had arrived was thrown away. Look at the network and try again, or install one yourself.', download: true };
    default:
      return plain;
  }
}

const loads: Record<string, string> = {
  'net::ERR_NAME_NOT_RESOLVED': 'No computer of that name was found. Look at the address.',
  'net::ERR_CONNECTION_REFUSED': 'Nobody listens at that address. Start the server it belongs to, then try again.',
  'net::ERR_CONNECTION_RESET': 'The connection broke off.',
  'net::ERR_CONNECTION_TIMED_OUT': 'No answer came in time.',
  'net::ERR_TIMED_OUT': 'No answer came in time.',
  'net::ERR_INTERNET_DISCONNECTED': 'That computer is not connected to a network.',
  'net::ERR_ADDRESS_UNREACHABLE': 'There is no way to that address.',
  'net::ERR_BLOCKED_BY_CLIENT': 'The page wanted to go where this browser does not: only http and https are opened, and nothing of this server.',
  'net::ERR_ABORTED': 'The load was stopped.',
  'net::ERR_TOO_MANY_REDIRECTS': 'The site sends from one address to the next without end.',
  'net::ERR_EMPTY_RESPONSE': 'The site closed the connection without a word.',
  'net::ERR_UNSAFE_PORT': 'Chromium opens no page at this port: it belongs to something that is no web server.',
  'net::ERR_SSL_PROTOCOL_ERROR': 'That site does not speak https. Try the address with http:// before it.',
  crashed: 'This page crashed. Reload it.',
};

/** What a page wanted and does not get, whatever it was loaded from. */
const refusals: Record<string, string> = {
  'file chooser refused': 'The page asked for a file of this computer. It gets none here.',
  'download refused': 'The site offered a file. Nothing is downloaded here.',
};

/** `reloads`: loading the page again may help. */
export type PageError = { text: string; reloads: boolean };

/** What is said of a tab's last mishap; null when there was none. */
export function pageError(error: string | null): PageError | null {
  if (!error) return null;
  if (refusals[error]) return { text: refusals[error], reloads: false };
  if (loads[error]) return { text: loads[error], reloads: true };
  if (error.startsWith('net::ERR_CERT')) return { text: `The certificate of this site is not valid (${escapeHidden(error)}), and there is no way round that here.`, reloads: true };
  return { text: escapeHidden(error), reloads: true };
}

/** What a tab is called. */
export function nameOf({ title, url }: Pick<BrowserTab, 'title' | 'url'>): string {
  if (title !== '') return escapeHidden(title);
  return url === '' || url === 'about:blank' || url === 'chrome://newtab/' ? 'New tab' : escapeHidden(shortened(url));
}

const shortened = (url: string): string => url.replace(/^https?:\/\//, '').replace(/\/$/, '');

/** What an agent does, from the name of its tool. */
export const actionName = (tool: string): string => escapeHidden(tool.replace(/^browser_/, '').replaceAll('_', ' '));

/** What stands in the address field: nothing for an empty page, so that one can type at once. */
export const addressOf = ({ url }: Pick<BrowserTab, 'url'>): string => (url === 'about:blank' || url === 'chrome://newtab/' ? '' : url);

/** True where a password would travel readable by everybody between, whatever the scheme of the asking is. */
export function isUnencrypted(origin: string): boolean {
  try {
    const { protocol, hostname } = new URL(origin);
    const here = hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname);
    return protocol !== 'https:' && !here;
  } catch {
    return true;
  }
}

/** True for refusals that mean: not you, or not from here. */
export const isNotPermittedHere = (code: string): boolean =>
  ['OWNER_HERE_ONLY', 'OWNER_ONLY', 'NOT_THE_OWNER', 'HUMANS_ONLY', 'LOCAL_BROWSER_REFUSED'].includes(code);
