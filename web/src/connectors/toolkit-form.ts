/** The form that makes a toolkit, and what it sends. Pure. */

import type { AccountProbe, ToolkitAuth, AuthKind, Classification, NewProviderType, Overrides, PutToolkit, Toolkit } from './types';

/** Source: contract 5.1. */
const SLUG = /^[a-z0-9][a-z0-9-]{0,63}$/;

export type ToolkitForm = {
  slug: string;
  displayName: string;
  description: string;
  /** Where the document comes from; of an OpenAPI service. */
  from: 'paste' | 'address';
  document: string;
  documentUrl: string;
  baseUrl: string;
  /** Of an MCP server. */
  url: string;
  authKind: AuthKind;
  keyIn: 'header' | 'query';
  keyName: string;
  keyPrefix: string;
  flow: 'authorization_code' | 'device_code';
  issuer: string;
  authorizationUrl: string;
  tokenUrl: string;
  deviceUrl: string;
  clientId: string;
  /** Between spaces or lines. */
  scopes: string;
  accountPath: string;
  accountPointer: string;
  /** One a line: `operation = class`. */
  overrides: string;
};

export const blankForm: ToolkitForm = {
  slug: '',
  displayName: '',
  description: '',
  from: 'paste',
  document: '',
  documentUrl: '',
  baseUrl: '',
  url: '',
  authKind: 'none',
  keyIn: 'header',
  keyName: 'Authorization',
  keyPrefix: 'Bearer ',
  flow: 'authorization_code',
  issuer: '',
  authorizationUrl: '',
  tokenUrl: '',
  deviceUrl: '',
  clientId: '',
  scopes: '',
  accountPath: '',
  accountPointer: '',
  overrides: '',
};

/** The form of a toolkit that is there. Its document is not read back, so a pasted one is pasted again. */
export function formOf(toolkit: Toolkit): ToolkitForm {
  const { auth, account } = toolkit;
  const form: ToolkitForm = {
    ...blankForm,
    slug: toolkit.slug,
    displayName: toolkit.displayName,
    description: toolkit.description,
    from: toolkit.documentUrl ? 'address' : 'paste',
    documentUrl: toolkit.documentUrl ?? '',
    baseUrl: toolkit.baseUrl ?? '',
    url: toolkit.url ?? '',
    authKind: auth.kind,
    accountPath: account?.path ?? '',
    accountPointer: account?.pointer ?? '',
    overrides: Object.entries(toolkit.overrides)
      .filter(([, said]) => said.classification)
      .map(([operation, said]) => `${operation} = ${said.classification}`)
      .join('\n'),
  };
  if (auth.kind === 'api-key') return { ...form, keyIn: auth.in, keyName: auth.name, keyPrefix: auth.prefix ?? '' };
  if (auth.kind !== 'oauth2') return form;
  return {
    ...form,
    flow: auth.flow,
    issuer: auth.issuer ?? '',
    authorizationUrl: auth.authorizationUrl ?? '',
    tokenUrl: auth.tokenUrl ?? '',
    deviceUrl: auth.deviceUrl ?? '',
    clientId: auth.clientId ?? '',
    scopes: (auth.scopes ?? []).join(' '),
  };
}

/** A name for addresses made of the name for people; `""` where nothing of it can stand there. */
export const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');

type Read<Value> = { ok: true; value: Value } | { ok: false; field: keyof ToolkitForm; why: string };

/** What the form says, or the first place where it says nothing that can be sent. */
export function bodyOf(type: NewProviderType, form: ToolkitForm): Read<PutToolkit> {
  if (form.displayName.trim() === '') return wrong('displayName', 'Give it a name.');
  if (!SLUG.test(form.slug)) return wrong('slug', 'Lower-case letters, digits and hyphens; a letter or digit first; 64 at most.');
  const source = type === 'openapi' ? openapiSource(form) : mcpSource(form);
  if (!source.ok) return source;
  const auth = authOf(form, type === 'mcp');
  if (!auth.ok) return auth;
  const overrides = overridesOf(form.overrides);
  if (!overrides.ok) return overrides;
  if ((form.accountPath.trim() === '') !== (form.accountPointer.trim() === '')) {
    return wrong('accountPointer', 'Name both the path and the place in its answer, or neither.');
  }
  const account: AccountProbe | null =
    form.accountPath.trim() === '' ? null : { path: form.accountPath.trim(), pointer: form.accountPointer.trim() };
  return {
    ok: true,
    value: {
      displayName: form.displayName.trim(),
      description: form.description.trim(),
      ...source.value,
      auth: auth.value,
      account,
      overrides: overrides.value,
    },
  };
}

const wrong = (field: keyof ToolkitForm, why: string): { ok: false; field: keyof ToolkitForm; why: string } => ({ ok: false, field, why });

function openapiSource(form: ToolkitForm): Read<Pick<PutToolkit, 'document' | 'documentUrl' | 'baseUrl'>> {
  const base = form.baseUrl.trim() === '' ? {} : { baseUrl: form.baseUrl.trim() };
  if (form.from === 'address') {
    if (form.documentUrl.trim() === '') return wrong('documentUrl', 'Name the address of the document.');
    return { ok: true, value: { documentUrl: form.documentUrl.trim(), ...base } };
  }
  if (form.document.trim() === '') return wrong('document', 'Paste the document, or choose its file.');
  try {
    const document: unknown = JSON.parse(form.document);
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) return { ok: true, value: { document: document as PutToolkit['document'], ...base } };
  } catch {
    // Told below: what is no JSON and what is no object are the same to whoever pasted it.
  }
  return wrong('document', 'This is not an OpenAPI document in JSON. One in YAML can be fetched from an address.');
}

const mcpSource = ({ url }: ToolkitForm): Read<Pick<PutToolkit, 'url'>> =>
  url.trim() === '' ? wrong('url', 'Name the address of the MCP server.') : { ok: true, value: { url: url.trim() } };

function authOf(form: ToolkitForm, isMcp: boolean): Read<ToolkitAuth> {
  if (form.authKind === 'none') return { ok: true, value: { kind: 'none' } };
  if (form.authKind === 'api-key') {
    if (form.keyName.trim() === '') return wrong('keyName', 'Name the header or parameter.');
    return { ok: true, value: { kind: 'api-key', in: form.keyIn, name: form.keyName.trim(), prefix: form.keyPrefix } };
  }
  const address = form.flow === 'device_code' ? form.deviceUrl : form.authorizationUrl;
  const says = [form.issuer, form.tokenUrl, address].map((one) => one.trim() !== '');
  // An MCP server says itself where one signs in.
  const isTold = isMcp && !says.includes(true);
  if (!says[0] && !(says[1] && says[2]) && !isTold) {
    return wrong('issuer', 'Name the issuer, or the addresses below.');
  }
  const named = (value: string, name: string) => (value.trim() === '' ? {} : { [name]: value.trim() });
  return {
    ok: true,
    value: {
      kind: 'oauth2',
      flow: form.flow,
      ...named(form.issuer, 'issuer'),
      ...named(form.authorizationUrl, 'authorizationUrl'),
      ...named(form.tokenUrl, 'tokenUrl'),
      ...named(form.deviceUrl, 'deviceUrl'),
      ...named(form.clientId, 'clientId'),
      scopes: form.scopes.split(/\s+/).filter((scope) => scope !== ''),
    },
  };
}

const CLASSES: readonly string[] = ['read', 'write', 'destructive'] satisfies Classification[];

function overridesOf(text: string): Read<Overrides> {
  const overrides: Overrides = {};
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    const at = line.lastIndexOf('=');
    const [operation, word] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    if (at < 1 || operation === '' || !CLASSES.includes(word)) {
      return wrong('overrides', `“${line}” is not of the form: operation = write, or operation = destructive.`);
    }
    overrides[operation] = { classification: word as Classification };
  }
  return { ok: true, value: overrides };
}
