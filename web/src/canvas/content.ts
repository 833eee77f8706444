/** What a canvas document can show, and what the page does with each kind. Pure. */

import type { IconName } from '../ui/icons';

/** The fields depend on `type`; a newer server may send a type this page does not know. */
export type Content = { type: string; title?: string } & Record<string, unknown>;

export const kinds = {
  markdown: { name: 'Text', icon: 'text' },
  url: { name: 'Web page', icon: 'globe' },
  browser: { name: 'Browser page', icon: 'globe' },
  json: { name: 'JSON', icon: 'braces' },
  csv: { name: 'Table', icon: 'table' },
  image: { name: 'Picture', icon: 'picture' },
  pdf: { name: 'PDF', icon: 'page' },
  audio: { name: 'Audio', icon: 'play' },
  video: { name: 'Video', icon: 'play' },
  model3d: { name: '3D model', icon: 'cube' },
  file: { name: 'File', icon: 'page' },
  diff: { name: 'Changes of a file', icon: 'page' },
  widget: { name: 'Widget', icon: 'cube' },
  mcp_app: { name: 'App of a tool server', icon: 'cube' },
} as const satisfies Record<string, { name: string; icon: IconName }>;

export type Kind = keyof typeof kinds;

export const isKind = (type: string): type is Kind => Object.hasOwn(kinds, type);
export const kindName = (type: string): string => (isKind(type) ? kinds[type].name : type);
export const kindIcon = (type: string): IconName => (isKind(type) ? kinds[type].icon : 'page');

/** A field that is a text; `""` when it is absent or something else. */
export function fieldText(content: Content, field: string): string {
  const value = content[field];
  return typeof value === 'string' ? value : '';
}

/** The whole path of the file it shows; `""` for none. */
export function pathOf(content: Content): string {
  const path = fieldText(content, 'sourcePath') || fieldText(content, 'src');
  return path.startsWith('/') ? path : '';
}

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2) ?? '';

/** True where the page has an editor; everything else is replaced as a whole. */
export const isEditable = (content: Content): boolean => content.type === 'markdown' || content.type === 'json';

/** The content as one text: what an editor edits, and what is compared. */
export function textOf(content: Content): string {
  if (content.type === 'markdown') return fieldText(content, 'content');
  if (content.type === 'json') return prettyJson(content.data);
  return prettyJson(content);
}

/**
 * The content with another text in it.
 *
 * Throws a `SyntaxError` when a JSON document's text is no JSON.
 */
export function withText(content: Content, text: string): Content {
  return content.type === 'json' ? { ...content, data: JSON.parse(text) as unknown } : { ...content, content: text };
}

/** True where the same words can stand on the canvas twice; of a page or a file there is one document only. */
export const isCopyable = (content: Content): boolean => ['markdown', 'json', 'widget'].includes(content.type);

/** A document of its own with the same words: without the path that would make it the same document again. */
export function copyOf(content: Content, title: string): Content {
  const { sourcePath: _, ...rest } = content;
  return { ...rest, type: content.type, title: `${title} (copy)`.slice(0, 200) };
}
