// What the server says when it refuses (RFC 9457), as an error with the server's own words; and what is shown when it
// cannot be reached. Thrown by call() of client.ts; forms show each fault beside the field its pointer names.

import { plainJson } from './plain-text.ts';

export interface FieldFault {
  /** A JSON pointer such as `/sensors/0/id`. */
  readonly pointer: string;
  readonly detail: string;
  /** The same as a code, and what its sentence names; absent where a page found the fault. */
  readonly code?: string;
  readonly params?: Readonly<Record<string, string | number>>;
}

export interface QuotaBreach {
  readonly kind: string;
  readonly used: number;
  readonly limit: number;
}

interface Problem {
  readonly type?: string;
  readonly title?: string;
  readonly status?: number;
  readonly detail?: string;
  readonly errors?: readonly FieldFault[];
  readonly quota?: QuotaBreach;
}

/** Before the code of a fault that is the whole refusal, said of a field. */
export const ofKind = 'kind:';

export class ApiProblem extends Error {
  readonly status: number;
  /** The last part of the problem's type: `not-found`, `exists`, `forbidden`, …; `unreachable` where nobody answered. */
  readonly code: string;
  readonly faults: readonly FieldFault[];
  readonly retryAfterS: number | undefined;
  readonly quota: QuotaBreach | undefined;

  constructor(problem: Problem, options: { readonly retryAfterS?: number | undefined; readonly cause?: unknown } = {}) {
    super(problem.detail ?? problem.title ?? '', { cause: options.cause });
    this.name = 'ApiProblem';
    this.status = problem.status ?? 0;
    this.code = problem.type?.split(':').at(-1) ?? 'unknown';
    this.faults = problem.errors ?? [];
    this.quota = problem.quota;
    this.retryAfterS = options.retryAfterS;
  }

  /** Whether what was shown before may be shown no longer: it is deleted, or not for who asks. */
  get isGone(): boolean {
    return this.status === 403 || this.status === 404;
  }

  /** Nobody answered: no network, or the service is down. */
  static unreachable(cause: unknown): ApiProblem {
    return new ApiProblem({ type: 'urn:dundun:problem:unreachable', status: 0 }, { cause });
  }

  /** The same as what is wrong with one field, where it is a refusal that names none. */
  at(pointer: string): ApiProblem {
    if (this.faults.length > 0 || this.status < 400 || this.status > 499) return this;
    const errors = [{ pointer, detail: this.message, code: `${ofKind}${this.code}` }];
    return new ApiProblem({ type: this.code, status: this.status, detail: this.message, errors }, { cause: this });
  }

  static async of(response: Response): Promise<ApiProblem> {
    const text = await response.text().catch(() => '');
    return ApiProblem.from(response, parse(plainJson(text)));
  }

  static from(response: Response, body: unknown): ApiProblem {
    const problem = typeof body === 'object' && body !== null ? (body as Problem) : {};
    const retryAfterS = Number(response.headers.get('retry-after')) || undefined;
    return new ApiProblem({ status: response.status, title: response.statusText, ...problem }, { retryAfterS });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What was answered before, unless the newest answer says that it may be shown no longer. */
export function unlessGone<T>(data: T | undefined, error: unknown): T | undefined {
  return error instanceof ApiProblem && error.isGone ? undefined : data;
}
