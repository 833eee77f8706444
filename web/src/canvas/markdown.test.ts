import { expect, test } from 'vitest';
import { markdownOf, MARKDOWN_CHARS_MAX, type Block, type Inline } from './markdown';

const inline = (text: string): Inline[] => {
  const [block] = markdownOf(text);
  return block?.kind === 'paragraph' ? block.children : [];
};
const text = (words: string): Inline => ({ kind: 'text', text: words });

test('marks become nodes', () => {
  expect(inline('a *b* **c** ~~d~~ `e<f>`  \ng')).toEqual([
    text('a '),
    { kind: 'em', children: [text('b')] },
    text(' '),
    { kind: 'strong', children: [text('c')] },
    text(' '),
    { kind: 'del', children: [text('d')] },
    text(' '),
    { kind: 'code', text: 'e<f>' },
    { kind: 'break' },
    text('g'),
  ]);
});

test('raw HTML stays text, inline and as a block', () => {
  expect(inline('a <img src=x onerror=alert(1)> b')).toEqual([text('a '), text('<img src=x onerror=alert(1)>'), text(' b')]);
  expect(markdownOf('<script>alert(1)</script>\n')).toEqual([{ kind: 'paragraph', children: [text('<script>alert(1)</script>')] }]);
});

test('only addresses of the web and of mail become links', () => {
  expect(inline('[a](https://x.example/?a=1&amp;b=2)')).toEqual([
    { kind: 'link', href: 'https://x.example/?a=1&b=2', children: [text('a')] },
  ]);
  expect(inline('[m](mailto:ada@x.example)')).toMatchObject([{ kind: 'link', href: 'mailto:ada@x.example' }]);
  for (const href of ['javascript:alert(1)', 'JaVaScRiPt&#58;alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/api/rooms', '#top']) {
    expect(inline(`[a](${href})`)).toEqual([text('a')]);
  }
});

test('a picture from elsewhere is a link to it, one in the text itself is shown', () => {
  expect(inline('![map](https://x.example/a.png)')).toEqual([
    { kind: 'link', href: 'https://x.example/a.png', children: [text('Picture: map')] },
  ]);
  expect(inline('![dot](data:image/png;base64,AAAA)')).toEqual([{ kind: 'picture', src: 'data:image/png;base64,AAAA', alt: 'dot' }]);
  expect(inline('![x](data:text/html,hi)')).toEqual([text('Picture: x')]);
});

test('headings nest without gaps', () => {
  const levels = markdownOf('## a\n#### b\n# c\n### d\n### e').map((block) => block.kind === 'heading' && [block.depth, block.level]);
  expect(levels).toEqual([[2, 1], [4, 2], [1, 1], [3, 2], [3, 2]]);
});

test('lists, tasks, quotes, tables, code and rules', () => {
  const paragraph = (words: string): Block => ({ kind: 'paragraph', children: [text(words)] });
  expect(markdownOf('- [x] done\n- plain')).toEqual([
    { kind: 'list', start: null, items: [{ done: true, line: 1, children: [paragraph('done')] }, { done: null, line: null, children: [paragraph('plain')] }] },
  ]);
  expect(markdownOf('3. three')).toMatchObject([{ kind: 'list', start: 3 }]);
  expect(markdownOf('> said')).toEqual([{ kind: 'quote', children: [paragraph('said')] }]);
  expect(markdownOf('| a | b |\n|--:|---|\n| 1 | 2 |')).toEqual([
    { kind: 'table', header: [[text('a')], [text('b')]], rows: [[[text('1')], [text('2')]]], align: ['right', null] },
  ]);
  expect(markdownOf('```rs title\nfn a() {}\n```\n\n---')).toEqual([{ kind: 'code', language: 'rs', text: 'fn a() {}' }, { kind: 'rule' }]);
});

test('the box of a task is known by its line, in lists, quotes and behind code', () => {
  const source = `# T

- [ ] a
  more

  - [x] b
  - c

    - [ ] deep


- [x] z

\`\`\`
- [ ] in code
\`\`\`
1. [ ] in code
> - [ ] q
>   - [X] r

| a |
|---|
| 1 |

- - [ ] twice
`;
  const boxes = (blocks: Block[]): (number | null)[] =>
    blocks.flatMap((block) => {
      if (block.kind === 'quote') return boxes(block.children);
      return block.kind === 'list' ? block.items.flatMap(({ done, line, children }) => [...(done === null ? [] : [line]), ...boxes(children)]) : [];
    });
  for (const text of [source, source.replaceAll('\n', '\r\n')]) expect(boxes(markdownOf(text))).toEqual([3, 6, 9, 12, 17, 18, 19, 25]);
});

test('entities are read, and what hides is made visible', () => {
  expect(inline('a &amp; b &#x41; &nosuch; \u202Ec')).toEqual([text('a & b A &nosuch; ⟨U+202E⟩c')]);
  expect(inline('&#x202E;x')).toEqual([text('⟨U+202E⟩x')]);
});

test('a text too large or too nested is shown as it is', () => {
  const large = 'a'.repeat(MARKDOWN_CHARS_MAX + 1);
  expect(markdownOf(large)).toEqual([{ kind: 'code', language: '', text: large }]);
  const depth = (blocks: Block[]): number => 1 + Math.max(0, ...blocks.map((block) => (block.kind === 'quote' ? depth(block.children) : 0)));
  expect(depth(markdownOf(`${'> '.repeat(200)}deep`))).toBeLessThan(40);
});
