// Converts refusals to HTTP answers: one table from code to status, one form of body (RFC 9457 problem details).
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../base/log.ts';
import { type FieldFault, type QuotaBreach, Refusal, type RefusalCode, type Said } from '../../base/refusal.ts';
import { escapePointer } from '../../base/text/json.ts';
import { idRule } from '../schemas/ids.ts';
import { bytesMaxKeyword, tooLargeKeyword } from '../schemas/text-bounds.ts';
import { codeOfFault } from './fault-codes.ts';
import { olderVersionOf } from './older-versions.ts';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

const kinds: Readonly<Record<RefusalCode, ProblemKind>> = {
  malformed: { status: 400, title: 'Bad Request' },
  unauthenticated: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  quota: { status: 403, title: 'Quota Exceeded' },
  'not-found': { status: 404, title: 'Not Found' },
  exists: { status: 422, title: 'Already Exists' },
  conflict: { status: 422, title: 'Unprocessable Content' },
  'too-large': { status: 413, title: 'Content Too Large' },
  unsupported: { status: 415, title: 'Unsupported Media Type' },
  'too-many': { status: 429, title: 'Too Many Requests' },
  busy: { status: 503, title: 'Service Unavailable' },
  full: { status: 507, title: 'Insufficient Storage' },
  storage: { status: 503, title: 'Service Unavailable' },
  damaged: { status: 500, title: 'Internal Server Error' },
};

/** The body of every error, except in older versions of the API. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly errors?: readonly (FieldFault & Said)[];
  readonly quota?: QuotaBreach;
}

/** Answers a refusal or a fault found by Fastify; anything else is a 500 without its cause. */
export function makeErrorHandler(
  log: Log,
  /** Called with each refusal that is a 403; returns what is answered instead, if anything. */
  onForbidden: (request: FastifyRequest, refusal: Refusal) => Refusal | undefined = () => undefined,
) {
  return (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void => {
    const found = refusalOf(error);
    const isForbidden = found !== undefined && kinds[found.code].status === 403;
    const refusal = (isForbidden ? onForbidden(request, found) : undefined) ?? found;
    if (refusal === undefined) {
      log.error({ err: error, method: request.method, path: pathOf(request) }, 'a request failed');
      sendProblem(request, reply, {
        code: 'internal',
        kind: { status: 500, title: 'Internal Server Error' },
        detail: 'Something went wrong here. The fault is in the log of the service.',
      });
      return;
    }
    if (refusal.code === 'storage') log.error({ err: refusal.cause }, 'the storage refused');
    if (refusal.code === 'damaged') log.error({ err: refusal }, 'the storage is damaged');
    const kind = kinds[refusal.code];
    if (refusal.code === 'unauthenticated') reply.header('www-authenticate', challengesOf(request));
    if (refusal.retryAfterS !== undefined) reply.header('retry-after', String(refusal.retryAfterS));
    // Closes the connection: reading the rest of a body that was refused for want of memory would cost others time.
    if (refusal.code === 'busy' && !request.raw.complete) reply.header('connection', 'close');
    const { code, message: detail, faults: errors, quota } = refusal;
    sendProblem(request, reply, { code, kind, detail, errors, quota });
  };
}

/** The ways to sign in; some clients wait for this challenge before they send a password by HTTP Basic (RFC 7617). */
function challengesOf(request: FastifyRequest): string[] {
  const takesBasic = request.routeOptions?.config?.takesBasic === true;
  return ['Bearer realm="dundun"', ...(takesBasic ? ['Basic realm="dundun", charset="UTF-8"'] : [])];
}

export function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): void {
  sendProblem(request, reply, {
    code: 'not-found',
    kind: kinds['not-found'],
    detail: `There is nothing at ${pathOf(request)}. The reference of all paths is at /docs.`,
  });
}

export function answerWrongMethod(request: FastifyRequest, reply: FastifyReply, allowed: string): void {
  reply.header('allow', allowed);
  sendProblem(request, reply, {
    code: 'wrong-method',
    kind: { status: 405, title: 'Method Not Allowed' },
    detail: `${pathOf(request)} takes ${allowed}, not ${request.method}.`,
  });
}

/** Answers a plain request to the path of MQTT over WebSocket. */
export function answerUpgradeRequired(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('upgrade', 'websocket').header('connection', 'upgrade');
  sendProblem(request, reply, {
    code: 'upgrade-required',
    kind: { status: 426, title: 'Upgrade Required' },
    detail: 'MQTT over WebSocket is spoken here. Connect with an MQTT client, as WebSocket with the subprotocol mqtt.',
  });
}

interface ProblemAnswer {
  readonly code: string;
  readonly kind: ProblemKind;
  readonly detail: string;
  readonly errors?: readonly FieldFault[];
  readonly quota?: QuotaBreach | undefined;
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, answer: ProblemAnswer): void {
  reply.code(answer.kind.status);
  reply.serializer((payload: unknown) => (typeof payload === 'string' ? payload : JSON.stringify(payload)));
  const older = olderVersionOf(request);
  if (older !== undefined) {
    const body = older.errorBody({ title: answer.kind.title, detail: answer.detail });
    reply.header('content-type', 'application/json; charset=utf-8').send(body);
    return;
  }
  const problem: Problem = {
    type: `urn:dundun:problem:${answer.code}`,
    title: answer.kind.title,
    status: answer.kind.status,
    detail: answer.detail,
    instance: pathOf(request),
    ...(answer.errors !== undefined && answer.errors.length > 0 ? { errors: answer.errors.map(withCode) } : {}),
    ...(answer.quota === undefined ? {} : { quota: answer.quota }),
  };
  reply.header('content-type', 'application/problem+json; charset=utf-8').send(problem);
}

function withCode(fault: FieldFault): FieldFault & Said {
  return { ...fault, ...codeOfFault(fault.detail) };
}

function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf('?');
  return end < 0 ? request.url : request.url.slice(0, end);
}

function refusalOf(error: FastifyError | Error): Refusal | undefined {
  if (error instanceof Refusal) return error;
  const { code, statusCode, validation, validationContext } = error as FastifyError;
  if (validation !== undefined) return validationRefusal(validation, validationContext ?? 'body');
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new Refusal(
      'unsupported',
      'The body must be application/json, or text/plain for a single field. Set Content-Type.',
      { cause: error },
    );
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('too-large', bodyTooLarge, { cause: error });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new Refusal('malformed', `${error.message.replace(/\.$/, '')}.`, { cause: error });
  }
  return undefined;
}

const bodyTooLarge =
  'The body is larger than this path takes: 16 MiB where datapoints, devices or projects are sent, else 1 MiB. Send it in parts.';

type ValidationFault = NonNullable<FastifyError['validation']>[number];

function validationRefusal(validation: readonly ValidationFault[], context: string): Refusal {
  // Branches of a union report the same fault several times; each place is named once.
  const places = [...Map.groupBy(validation, pointerOf)].map(([pointer, faults]) => ({
    pointer,
    detail: detailOf(faults),
  }));
  const first = places[0];
  const where = first?.pointer ? first.pointer : `The ${context === 'querystring' ? 'query' : context}`;
  const tooLong = validation.some(isTooLarge);
  const message = `${where} ${first?.detail ?? 'is not as it should be'}.`;
  return new Refusal(tooLong ? 'too-large' : 'malformed', message, { faults: places });
}

/**
 * True where a bound is exceeded that answers 413: one in bytes (which `maxLength` repeats in characters), or one that
 * the schema marks by `tooLargeKeyword`.
 */
function isTooLarge(fault: ValidationFault): boolean {
  const isLength = ['maxLength', 'maxItems', bytesMaxKeyword].includes(fault.keyword);
  return isLength && (bytesMaxOf(fault) !== undefined || schemaOf(fault)?.[tooLargeKeyword] === true);
}

function bytesMaxOf(fault: ValidationFault): unknown {
  return schemaOf(fault)?.[bytesMaxKeyword];
}

/** The schema at the place of a fault. Ajv adds it, which its type does not declare. */
function schemaOf(fault: ValidationFault): Readonly<Record<string, unknown>> | undefined {
  return (fault as { readonly parentSchema?: Readonly<Record<string, unknown>> }).parentSchema;
}

function pointerOf({ instancePath, params }: ValidationFault): string {
  const name = params['missingProperty'] ?? params['additionalProperty'];
  return typeof name === 'string' ? `${instancePath}/${escapePointer(name)}` : instancePath;
}

/** What would be right at one place. */
function detailOf(faults: readonly ValidationFault[]): string {
  const allowed = faults.flatMap(({ keyword, params }) => {
    if (keyword === 'const') return [params['allowedValue']];
    return keyword === 'enum' ? (params['allowedValues'] as unknown[]) : [];
  });
  if (allowed.length > 0) return `must be one of ${allowed.join(', ')}`;
  const [fault] = faults;
  if (fault === undefined) return 'is not as it should be';
  if (fault.params['missingProperty'] !== undefined) return 'is missing';
  if (fault.params['additionalProperty'] !== undefined) return 'is not known here';
  if (bytesMaxOf(fault) !== undefined && isTooLarge(fault)) return `must have at most ${bytesMaxOf(fault)} bytes`;
  if (fault.keyword === 'maxLength') return `must have at most ${fault.params['limit']} characters`;
  return fault.keyword === 'pattern' ? idRule : (fault.message ?? 'is not as it should be');
}
