/** The one error type of the page: what the server refused, or that it could not be reached. */

export class ApiError extends Error {
  /** Stable `UPPER_SNAKE` code; `UNREACHABLE` when no answer came at all. */
  readonly code: string;
  /** The server's own sentence; the page shows the catalogue's where it has one. */
  readonly sentence: string;
  /** Finds the log line; `""` when no answer came. */
  readonly requestId: string;
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly details: unknown;
  /** What a refusal says beside the envelope's own members, such as the content that stands in the way; empty when nothing. */
  readonly members: Record<string, unknown>;

  constructor(
    code: string,
    sentence: string,
    requestId: string,
    status: number,
    details: unknown = null,
    members: Record<string, unknown> = {},
  ) {
    super(sentence);
    this.name = 'ApiError';
    this.code = code;
    this.sentence = sentence;
    this.requestId = requestId;
    this.status = status;
    this.details = details;
    this.members = members;
  }

  static unreachable(): ApiError {
    return new ApiError('UNREACHABLE', 'The server did not answer.', '', 0);
  }

  /** Sentences per field of a `VALIDATION_FAILED`, by field path; empty for every other code. */
  get fieldErrors(): Record<string, string> {
    const fields = (this.details as { fieldErrors?: Record<string, string[]> } | null)?.fieldErrors ?? {};
    return Object.fromEntries(Object.entries(fields).map(([name, texts]) => [name, texts.join(' ')]));
  }

  /** The same as sentences that stand alone at their field: `must be 1 to 10` → `Must be 1 to 10.` */
  get fieldSentences(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.fieldErrors).map(([name, text]) => [name, asSentence(text)]));
  }
}

function asSentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new ApiError('PAGE_ERROR', text, '', 0);
}
