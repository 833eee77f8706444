/** What a file is shown as, by its name. Pure. */

import type { IconName } from '../ui/icons';
import { fileNameOf } from './paths';

/** Shown by the browser itself, from the bytes as they are. */
export type Media = 'image' | 'pdf' | 'audio' | 'video' | 'model3d';

const media: Record<Media, string> = {
  image: 'apng avif bmp gif ico jpeg jpg png svg webp',
  pdf: 'pdf',
  audio: 'aac flac m4a mp3 oga ogg opus wav weba',
  video: 'm4v mov mp4 ogv webm',
  model3d: 'glb gltf',
};

/** Texts whose meaning can be shown too; which one begins is the second word. */
const texts: Record<string, { shows: RenderedKind; first: FileViewMode }> = {
  csv: { shows: 'table', first: 'text' },
  gltf: { shows: 'model3d', first: 'shown' },
  htm: { shows: 'page', first: 'text' },
  html: { shows: 'page', first: 'text' },
  markdown: { shows: 'markdown', first: 'text' },
  md: { shows: 'markdown', first: 'text' },
  svg: { shows: 'image', first: 'shown' },
  tsv: { shows: 'table', first: 'text' },
};

/** How a text can be read other than as text. */
export type RenderedKind = 'markdown' | 'table' | 'page' | 'image' | 'model3d';
export type FileViewMode = 'text' | 'shown';

export function extensionOf(path: string): string {
  const name = fileNameOf(path);
  const at = name.lastIndexOf('.');
  return at > 0 ? name.slice(at + 1).toLowerCase() : '';
}

/** Null for texts and for what nobody here shows. */
export function mediaOf(path: string): Media | null {
  const extension = extensionOf(path);
  const kinds = Object.keys(media) as Media[];
  return kinds.find((kind) => extension !== '' && media[kind].split(' ').includes(extension)) ?? null;
}

/** True when the file is shown and cannot be written here. */
export const isRenderedOnly = (path: string): boolean => mediaOf(path) !== null && !Object.hasOwn(texts, extensionOf(path));

/** What else than text a text can be shown as; null when nothing. */
export const renderedKindOf = (path: string): RenderedKind | null => texts[extensionOf(path)]?.shows ?? null;

/** How a file is shown first. */
export const initialViewMode = (path: string): FileViewMode => texts[extensionOf(path)]?.first ?? (isRenderedOnly(path) ? 'shown' : 'text');

export function iconOf(path: string): IconName {
  const kind = mediaOf(path);
  if (kind === 'image') return 'picture';
  if (kind === 'audio' || kind === 'video') return 'play';
  if (kind === 'model3d') return 'cube';
  const reading = renderedKindOf(path);
  if (reading === 'table') return 'table';
  if (reading === 'page') return 'globe';
  if (reading === 'markdown') return 'text';
  return extensionOf(path) === 'json' ? 'braces' : 'file';
}

/** The languages the editor knows. */
export type Language = 'javascript' | 'json' | 'markdown' | 'css' | 'html' | 'python' | 'rust';

const languages: Record<Language, string> = {
  javascript: 'cjs cts js jsx mjs mts ts tsx',
  json: 'json jsonc json5 map webmanifest',
  markdown: 'markdown md mdx',
  css: 'css',
  html: 'htm html svelte svg vue xhtml xml',
  python: 'py pyi',
  rust: 'rs',
};

export function languageOf(path: string): Language | null {
  const extension = extensionOf(path);
  return (Object.keys(languages) as Language[]).find((language) => languages[language].split(' ').includes(extension)) ?? null;
}

/** The language of a word such as `rust`, `TypeScript` or `py`; null for one the editor does not know. */
export function languageNamed(word: string): Language | null {
  const name = word.toLowerCase();
  if (name === 'typescript') return 'javascript';
  return Object.hasOwn(languages, name) ? (name as Language) : languageOf(`x.${name}`);
}

export type ScriptDialect = { jsx: boolean; typescript: boolean };

/** Which JavaScript it is, by a path or by the word for the language: the editor reads each by another grammar. */
export function dialectOf(path: string): ScriptDialect {
  const extension = extensionOf(path) || path.toLowerCase();
  return { jsx: /^[jt]sx$/.test(extension) || extension === 'js' || extension === 'javascript', typescript: extension === 'typescript' || /^[cm]?tsx?$/.test(extension) };
}
