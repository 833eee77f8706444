import { expect, test, vi } from 'vitest';
import { state, tab } from './states.fixture';

/** A socket whose other end is the test. */
class Line {
  static OPEN = 1;
  static last: Line;
  readyState = 1;
  binaryType = '';
  said: unknown[] = [];
  onopen = () => {};
  onclose = () => {};
  onmessage = (_: { data: string }) => {};
  constructor() {
    Line.last = this;
  }
  send(text: string) {
    this.said.push(JSON.parse(text));
  }
  close() {}
  hears(message: object) {
    this.onmessage({ data: JSON.stringify(message) });
  }
}

vi.stubGlobal('location', { origin: 'http://127.0.0.1:1' });
vi.stubGlobal('window', { addEventListener: () => {}, removeEventListener: () => {} });
vi.stubGlobal('WebSocket', Line);
const { tick } = await import('svelte');
const { localBrowser } = await import('./local-browser.svelte');
const { ScreencastViewer } = await import('./screencast-viewer.svelte');

const opened = () => {
  const viewing = new ScreencastViewer({ state: localBrowser.take, lost: () => {} });
  return { viewing, line: Line.last };
};
const size = { width: 800, height: 600 };
const view = (tabId: string) => ({ type: 'view', tabId, maxWidth: 800, maxHeight: 600 });

test('the first word of a connection that is older than an answer takes nothing back', () => {
  localBrowser.take(state({ revision: 4 }));
  const { viewing, line } = opened();
  line.onopen();
  // What a press on "New tab" was answered overtakes what the stream said before it.
  localBrowser.take(state({ revision: 5, tabs: [tab('t1'), tab('t2')], selectedTabId: 't2' }));
  line.hears({ type: 'state', ...state({ revision: 4 }) });
  expect(localBrowser.state).toMatchObject({ revision: 5, selectedTabId: 't2' });
  viewing.close();
});

test('after a reset the first state counts also with a lower revision, and none that was asked for before it', async () => {
  localBrowser.take(state({ revision: 90 }));
  let answer = (_: ReturnType<typeof state>) => {};
  const act = localBrowser.run('new tab', () => new Promise((resolve) => (answer = resolve)));
  localBrowser.reload();
  answer(state({ revision: 91 }));
  await act;
  expect(localBrowser.state?.revision).toBe(90);
  localBrowser.take(state({ revision: 2 }));
  localBrowser.take(state({ revision: 1 }));
  expect(localBrowser.state?.revision).toBe(2);
});

test('a tab is looked at once the page shows what the server said first, and after a break again', async () => {
  const { viewing, line } = opened();
  viewing.look('t1', size);
  line.onopen();
  await tick();
  expect(line.said).toEqual([]);
  line.hears({ type: 'state', ...state({ revision: 100, selectedTabId: 't2' }) });
  // The page shows it and looks at another tab.
  viewing.look('t2', size);
  await tick();
  expect(line.said).toEqual([view('t2')]);
  viewing.look('t1', size);
  expect(line.said).toEqual([view('t2'), view('t1')]);
  line.onclose();
  viewing.connect();
  Line.last.onopen();
  Line.last.hears({ type: 'state', ...state({ revision: 101 }) });
  await tick();
  expect(Line.last.said).toEqual([view('t1')]);
  viewing.close();
});
