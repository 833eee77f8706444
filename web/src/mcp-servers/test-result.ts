/** What a test of a tool server tells a person. Pure. */

import type { TestedServer } from '../api/types';

type Told = {
  /** One sentence that starts with a capital. */
  sentence: string;
  /** What the program said last, one line a piece. */
  words: string[];
};

const seconds = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

/** The error's first line is the sentence; the program's own words follow it. */
export function testResultText({ ok, toolCount, error, durationMs }: TestedServer): Told {
  if (ok) {
    const count = toolCount === 1 ? '1 tool' : `${toolCount ?? 0} tools`;
    return { sentence: `Reached in ${seconds(durationMs)}, with ${count}.`, words: [] };
  }
  const [first = '', ...words] = (error ?? 'It failed').split('\n');
  const sentence = first.slice(0, 1).toUpperCase() + first.slice(1);
  return { sentence: words.length > 0 || /[.:!?]$/.test(sentence) ? sentence : `${sentence}.`, words };
}

/** What the server itself says of a tool, in plain words; nothing of it is checked. */
export function testHints({ readOnly, destructive }: Pick<TestedServer['tools'][number], 'readOnly' | 'destructive'>): string {
  if (readOnly) return 'only reads';
  return destructive ? 'may destroy' : 'changes';
}
