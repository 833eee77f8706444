/** The places of a document that the server found wrong, as a refusal names them. Pure. */

import type { ApiError } from '../errors/error';

/** One line a problem; what a newer server says in another shape is left out. */
export function problemsOf(error: Pick<ApiError, 'code' | 'details'> | null): string[] {
  if (error?.code !== 'TOOLKIT_DOCUMENT_INVALID') return [];
  const { details } = error;
  const list = Array.isArray(details) ? details : ((details as { problems?: unknown } | null)?.problems ?? []);
  return (Array.isArray(list) ? list : []).flatMap((one: unknown): string[] => {
    if (typeof one === 'string') return [one];
    const { pointer, message } = (one ?? {}) as { pointer?: unknown; message?: unknown };
    if (typeof message !== 'string') return [];
    return [typeof pointer === 'string' && pointer !== '' ? `${pointer}: ${message}` : message];
  });
}
