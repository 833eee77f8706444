/**
 * The text editor: CodeMirror with what the page needs of it, and nothing else; a file of its own, fetched with the first text.
 * It stands in a shadow root, because only there it brings its styles as a constructed sheet, which the policy of the page lets in.
 */

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
  type LanguageSupport,
} from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { fromEditor, textFormatOf, toEditor, type TextFormat } from './text-format';
import type { ScriptDialect, Language } from './file-types';

export type EditorHandle = {
  /** Puts another text in; what was there can be had back by undoing. */
  put(text: string): void;
  close(): void;
};

export type EditorOptions = {
  /** Null for a plain text. */
  language: Language | null;
  dialect: ScriptDialect;
  text: string;
  label: string;
  readOnly: boolean;
  onchange: (read: () => string) => void;
};

/** Above this many characters a text is shown plain: reading its grammar would hold up every key. */
const GRAMMAR_CHARS_MAX = 1_500_000;

/** Opens the editor in `host`; it lives until it is closed. */
export function openEditor(host: HTMLElement, { language: named, dialect, text, label, readOnly, onchange }: EditorOptions): EditorHandle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  let shape = textFormatOf(text);
  let quiet = false;
  const language = new Compartment();
  const separator = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: toEditor(text),
      extensions: [
        separator.of(separatorOf(shape)),
        lineNumbers(),
        foldGutter({ openText: '▾', closedText: '▸' }),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        EditorState.allowMultipleSelections.of(true),
        indentUnit.of(unitOf(text)),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        search({ top: true }),
        syntaxHighlighting(colours),
        looks,
        language.of([]),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocapitalize: 'off' }),
        EditorState.readOnly.of(readOnly),
        keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
        EditorView.updateListener.of(({ docChanged }) => {
          if (docChanged && !quiet) onchange(() => fromEditor(view.state.doc.toString(), shape));
        }),
      ],
    }),
  });
  if (text.length <= GRAMMAR_CHARS_MAX) {
    // Without its grammar a text is plain, which is no reason to hide it.
    void grammarOf(named, dialect).then(
      (grammar) => grammar && view.dispatch({ effects: language.reconfigure(grammar) }),
      () => {},
    );
  }
  return {
    put(next) {
      shape = textFormatOf(next);
      quiet = true;
      view.dispatch({ effects: separator.reconfigure(separatorOf(shape)) });
      const insert = view.state.toText(toEditor(next));
      if (!insert.eq(view.state.doc)) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert } });
      quiet = false;
    },
    close: () => view.destroy(),
  };
}

/** Mixed line ends are kept by cutting at one kind only. */
const separatorOf = ({ ends }: TextFormat): Extension => (ends === 'mixed' ? EditorState.lineSeparator.of('\n') : []);

/** A tab where the text is indented by tabs, else as many spaces as its first indented line has. */
function unitOf(text: string): string {
  const [, indent = ''] = /^([\t ]+)\S/m.exec(text.slice(0, 20_000)) ?? [];
  if (indent.startsWith('\t')) return '\t';
  return indent.length === 4 || indent.length === 2 ? indent : '  ';
}

/** Each grammar is a file of its own too. */
async function grammarOf(language: Language | null, dialect: ScriptDialect): Promise<LanguageSupport | null> {
  return language === null ? null : grammars[language](dialect);
}

const grammars: Record<Language, (dialect: ScriptDialect) => Promise<LanguageSupport>> = {
  javascript: async (dialect) => (await import('@codemirror/lang-javascript')).javascript(dialect),
  json: async () => (await import('@codemirror/lang-json')).json(),
  markdown: async () => (await import('@codemirror/lang-markdown')).markdown(),
  css: async () => (await import('@codemirror/lang-css')).css(),
  html: async () => (await import('@codemirror/lang-html')).html(),
  python: async () => (await import('@codemirror/lang-python')).python(),
  rust: async () => (await import('@codemirror/lang-rust')).rust(),
};

// The colours of the page, which reach into the shadow; each stands well on the page's surface in light and dark.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--hue-5)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--accent-text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--mention-text)' },
  { tag: [tags.comment, tags.meta], color: 'var(--text-faint)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: 'var(--hue-3)' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.macroName], color: 'var(--hue-4)' },
  { tag: [tags.propertyName, tags.attributeName], color: 'var(--hue-6)' },
  { tag: tags.heading, fontWeight: '650' },
  { tag: tags.strong, fontWeight: '650' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: [tags.link, tags.url], color: 'var(--accent-text)', textDecoration: 'underline' },
  { tag: tags.invalid, color: 'var(--danger-text)' },
]);

const looks = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: 'var(--size-s)' },
  // The ring of the focus is drawn around the whole of it, outside.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--text-faint)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--accent-soft)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--mention-soft)' },
  '.cm-searchMatch': { backgroundColor: 'var(--mention-soft)', outline: '1px solid var(--line-strong)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--accent-soft)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--active)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', borderColor: 'var(--line)', color: 'var(--text-soft)' },
  '.cm-specialChar': { color: 'var(--danger-text)' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-panel input, .cm-panel button': { font: 'inherit', color: 'inherit' },
  '.cm-textfield': { backgroundColor: 'var(--surface)', border: '1px solid var(--line-strong)', borderRadius: '4px' },
  '.cm-panel.cm-search [name=close]': { minWidth: '24px', minHeight: '24px' },
  '.cm-panel.cm-search label': { fontSize: 'var(--size-xs)' },
  // Fingers need more room than a pointer.
  '@media (max-width: 720px)': {
    '.cm-panel .cm-textfield, .cm-panel .cm-button, .cm-panel label': { minHeight: '44px', fontSize: 'var(--size)' },
    '.cm-panel label': { display: 'inline-flex', alignItems: 'center' },
    '.cm-panel.cm-search [name=close]': { minWidth: '44px', minHeight: '44px', position: 'static' },
  },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--raised)', border: '1px solid var(--line)', borderRadius: '4px' },
});
