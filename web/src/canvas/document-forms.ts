/** What a person fills in to open a document or to replace what one shows. Pure but for reading a chosen file. */

import { prettyJson, fieldText, type Content, type Kind } from './content';

/** `src` is an address, a path or a chosen file; the others are what they say. */
export type FieldKind = 'text' | 'json' | 'address' | 'src' | 'path';

type Form = { ask: FieldKind; field: string; accept?: string; mime?: string };

const forms: Partial<Record<Kind, Form>> = {
  markdown: { ask: 'text', field: 'content' },
  url: { ask: 'address', field: 'url' },
  browser: { ask: 'address', field: 'url' },
  json: { ask: 'json', field: 'data' },
  csv: { ask: 'src', field: 'src', accept: '.csv,.tsv,text/csv', mime: 'text/csv' },
  image: { ask: 'src', field: 'src', accept: 'image/*' },
  pdf: { ask: 'src', field: 'src', accept: 'application/pdf', mime: 'application/pdf' },
  audio: { ask: 'src', field: 'src', accept: 'audio/*' },
  video: { ask: 'src', field: 'src', accept: 'video/*' },
  model3d: { ask: 'src', field: 'src', accept: '.glb,.gltf', mime: 'model/gltf-binary' },
  file: { ask: 'path', field: 'sourcePath' },
  diff: { ask: 'path', field: 'sourcePath' },
  widget: { ask: 'json', field: 'definition' },
};

/** What a person opens by hand; the other kinds come from agents and their tools. */
export const openable: readonly Kind[] = ['markdown', 'url', 'json', 'csv', 'image', 'pdf', 'audio', 'video', 'model3d', 'file', 'diff'];

/** A chosen file becomes part of the document, so that it fits into one request of 1 MiB. */
export const FILE_BYTES_MAX = 750_000;

export const formOf = (type: string): Form | undefined => (Object.hasOwn(forms, type) ? forms[type as Kind] : undefined);

export const isReplaceable = (content: Content): boolean => formOf(content.type) !== undefined;

/** What stands in the main field when a document is replaced. */
export function valueOf(content: Content): string {
  const form = formOf(content.type);
  if (!form) return '';
  return form.ask === 'json' ? prettyJson(content[form.field]) : fieldText(content, form.field);
}

/**
 * The content the form says; fields the form does not show stay as they were.
 *
 * Throws a `SyntaxError` when what should be JSON is none.
 */
export function contentOf(type: string, value: string, title: string, before?: Content): Content {
  const form = formOf(type);
  if (!form) throw new Error(`Documents of the type ${type} have no form.`);
  const { title: _, ...rest } = before ?? { type };
  const held = form.ask === 'json' ? (JSON.parse(value) as unknown) : form.ask === 'text' ? value : value.trim();
  return { ...rest, type, [form.field]: held, ...(title.trim() === '' ? {} : { title: title.trim() }) };
}

/** A chosen file as a `data:` address. */
export async function dataAddress(type: string, file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  // In steps: one call cannot take this many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return `data:${formOf(type)?.mime ?? (file.type || 'application/octet-stream')};base64,${btoa(text)}`;
}
