// From a refusal to an HTTP answer: one table from code to status, one shape of body (RFC 9457 problem details).
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { escapePointer } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { type FieldFault, Refusal, type RefusalCode } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import { idRule } from './ids.ts';
import { olderVersionAt, olderVersionOf } from './older-versions.ts';

interface Kind {
  readonly status: number;
  readonly title: string;
}

const kinds: Readonly<Record<RefusalCode, Kind>> = {
  malformed: { status: 400, title: 'Bad Request' },
  unauthenticated: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
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

/** The body of every error, but for older versions of the API. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly errors?: readonly FieldFault[];
}

/** Answers a refusal, a fault of Fastify's own checks, or, where neither, 500 without a word of the cause. */
export function makeErrorHandler(log: Log) {
  return (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void => {
    const refusal = refusalOf(error);
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
    sendProblem(request, reply, { code: refusal.code, kind, detail: refusal.message, errors: refusal.faults });
  };
}

/** How to sign in here; a client may wait for the challenge before it sends a password by HTTP Basic (RFC 7617). */
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

/** Answers a plain request where MQTT over WebSocket is spoken. */
export function answerUpgradeRequired(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('upgrade', 'websocket').header('connection', 'upgrade');
  sendProblem(request, reply, {
    code: 'upgrade-required',
    kind: { status: 426, title: 'Upgrade Required' },
    detail: 'MQTT over WebSocket is spoken here. Connect with an MQTT client, as WebSocket with the subprotocol mqtt.',
  });
}

/** Answers what is no HTTP request that could be routed, and ends the connection. */
export function answerBrokenRequest(app: FastifyInstance, error: BrokenRequest, socket: Socket): void {
  // On a connection that was reset there is nobody to tell.
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const { status, title, detail } = brokenRequests[error.code ?? ''] ?? brokenRequest;
  const older = olderVersionAt(app, [pathBegun(error.rawPacket)]);
  const problem = { type: 'urn:dundun:problem:malformed', title, status, detail, instance: '' };
  const body = JSON.stringify(older?.errorBody({ title, detail }) ?? problem);
  const type = older === undefined ? 'application/problem+json' : 'application/json';
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${type}; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
  socket.destroySoon();
}

interface BrokenRequest extends Error {
  readonly code?: string;
  /** What had arrived when it broke. */
  readonly rawPacket?: unknown;
}

/** The path in the first line of what arrived, as far as it looks like one. */
function pathBegun(packet: unknown): string {
  const start = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, 256) : '';
  return /^[A-Z]+ (\S+)/.exec(start)?.[1] ?? '';
}

const brokenRequest = { status: 400, title: 'Bad Request', detail: 'This is no HTTP/1.1 request.' };
const brokenRequests: Readonly<Record<string, typeof brokenRequest>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    title: 'Request Header Fields Too Large',
    detail: 'The address and the headers together are larger than 16 KiB.',
  },
  HPE_INVALID_URL: {
    status: 400,
    title: 'Bad Request',
    detail: 'The address holds what no address may. Characters beyond ASCII are percent-encoded there: ä is %C3%A4.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, title: 'Request Timeout', detail: 'The request took too long to arrive.' },
};

interface Answer {
  readonly code: string;
  readonly kind: Kind;
  readonly detail: string;
  readonly errors?: readonly FieldFault[];
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, answer: Answer): void {
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
    ...(answer.errors !== undefined && answer.errors.length > 0 ? { errors: answer.errors } : {}),
  };
  reply.header('content-type', 'application/problem+json; charset=utf-8').send(problem);
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
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new Refusal('too-large', 'The body is larger than 16 MiB. Send it in parts.', { cause: error });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new Refusal('malformed', `${error.message.replace(/\.$/, '')}.`, { cause: error });
  }
  return undefined;
}

type ValidationFault = NonNullable<FastifyError['validation']>[number];

function validationRefusal(validation: readonly ValidationFault[], context: string): Refusal {
  // The faults of the branches of a union say the same thing several times; each place is named once.
  const places = [...Map.groupBy(validation, pointerOf)].map(([pointer, faults]) => ({
    pointer,
    detail: detailOf(faults),
  }));
  const first = places[0];
  const where = first?.pointer ? first.pointer : `The ${context === 'querystring' ? 'query' : context}`;
  const tooLong = validation.some(
    ({ keyword, params }) => keyword === 'maxLength' && params['limit'] === limits.textCharsMax,
  );
  const message = `${where} ${first?.detail ?? 'is not as it should be'}.`;
  return new Refusal(tooLong ? 'too-large' : 'malformed', message, { faults: places });
}

function pointerOf({ instancePath, params }: ValidationFault): string {
  const missing = params['missingProperty'];
  return typeof missing === 'string' ? `${instancePath}/${escapePointer(missing)}` : instancePath;
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
  return fault.keyword === 'pattern' ? idRule : (fault.message ?? 'is not as it should be');
}
