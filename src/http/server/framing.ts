// Answers what fails before a route is found, in the form of every refusal (contract 1): no HTTP, heads and bodies that
// are too large or too slow, missing Host, unsupported Expect, CONNECT. Called by http-server.ts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { SecurityHeaders } from '../../base/network/security-headers.ts';
import { sendAndClose } from '../../base/network/sockets.ts';
import type { Problem } from './errors.ts';
import { olderVersionAt } from './older-versions.ts';
import type { RequestOrder } from './request-order.ts';

interface FramingFault {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

interface BrokenRequest extends Error {
  readonly code?: string;
  /** The bytes received before the fault. */
  readonly rawPacket?: unknown;
}

const malformed: FramingFault = {
  code: 'malformed',
  status: 400,
  title: 'Bad Request',
  detail: 'This is no HTTP/1.1 request.',
};
const noHost: FramingFault = {
  ...malformed,
  detail: 'A request of HTTP/1.1 names the host that it is for in a Host header, and in one alone.',
};
const unknownMethod: FramingFault = {
  code: 'unknown-method',
  status: 501,
  title: 'Not Implemented',
  detail: 'There is no such method here. The reference of all paths and their methods is at /docs.',
};
const unmetExpectation: FramingFault = {
  code: 'unmet-expectation',
  status: 417,
  title: 'Expectation Failed',
  detail: 'The only expectation that is met is 100-continue. Send the request without the Expect header.',
};

/** By Node.js's error code. */
const faults: Readonly<Record<string, FramingFault>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'too-large',
    status: 431,
    title: 'Request Header Fields Too Large',
    detail: 'The address and the headers together are larger than 16 KiB.',
  },
  HPE_INVALID_URL: {
    ...malformed,
    detail: 'The address holds what no address may. Characters beyond ASCII are percent-encoded there: ä is %C3%A4.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'too-slow',
    status: 408,
    title: 'Request Timeout',
    detail: 'The request took too long to arrive.',
  },
};

/** Answers a request that cannot be routed, after the requests before it, and ends the connection. */
export function answerBrokenRequest(
  app: FastifyInstance,
  {
    requestOrder,
    securityHeaders,
    error,
    socket,
  }: {
    readonly requestOrder: RequestOrder;
    readonly securityHeaders: SecurityHeaders;
    readonly error: BrokenRequest;
    readonly socket: Socket;
  },
): void {
  // A reset connection cannot be answered.
  if (error.code === 'ECONNRESET' || socket.destroyed) {
    socket.destroy();
    return;
  }
  // The parser has failed: nothing more is read.
  socket.removeAllListeners('data');
  socket.pause();
  const { path, isHttp, forwardedProto } = beginningOf(error.rawPacket);
  const isUnknown = error.code === 'HPE_INVALID_METHOD' && isHttp;
  const fault = isUnknown ? unknownMethod : (faults[error.code ?? ''] ?? malformed);
  requestOrder.onceAnswered(socket, () => {
    // The answer has begun already: nothing can be added.
    const isAmidAnswer = (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true;
    const { lines } = securityHeaders.of(socket, forwardedProto);
    sendAndClose(socket, isAmidAnswer ? '' : textOf(app, { path, fault, lines }));
  });
}

/** Answers CONNECT, which Node.js takes out of HTTP. */
export function answerConnect(
  app: FastifyInstance,
  { request, socket, lines }: { readonly request: IncomingMessage; readonly socket: Duplex; readonly lines: string },
): void {
  sendAndClose(socket, textOf(app, { path: request.url ?? '', fault: unknownMethod, lines }));
}

/** Answers an unsupported Expect header. */
export function answerUnmetExpectation(app: FastifyInstance, request: IncomingMessage, response: ServerResponse): void {
  answer(app, { request, response, fault: unmetExpectation });
}

/** Refuses requests with no Host header or several (RFC 9112 section 3.2); passes others to `handle`. */
export function requireHost(
  app: FastifyInstance,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): typeof handle {
  return (request, response) => {
    const hosts = hostsOf(request);
    if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) {
      answer(app, { request, response, fault: noHost });
    } else handle(request, response);
  };
}

/** Number of Host headers: of several, Node.js uses the first, while a proxy may have used the last. */
function hostsOf({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

function answer(
  app: FastifyInstance,
  { request, response, fault }: { request: IncomingMessage; response: ServerResponse; fault: FramingFault },
): void {
  const { body, type } = bodyOf(app, request.url ?? '', fault);
  const length = Buffer.byteLength(body);
  response.writeHead(fault.status, fault.title, {
    'content-type': type,
    'content-length': length,
    connection: 'close',
  });
  response.end(body);
}

function textOf(
  app: FastifyInstance,
  { path, fault, lines }: { readonly path: string; readonly fault: FramingFault; readonly lines: string },
): string {
  const { body, type } = bodyOf(app, path, fault);
  const head = [
    `HTTP/1.1 ${fault.status} ${fault.title}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n${lines}\r\n${body}`;
}

function bodyOf(
  app: FastifyInstance,
  url: string,
  fault: FramingFault,
): { readonly body: string; readonly type: string } {
  const { code, status, title, detail } = fault;
  const path = url.split('?', 1)[0] ?? '';
  const older = olderVersionAt(app, [path]);
  if (older !== undefined) {
    return { body: JSON.stringify(older.errorBody({ title, detail })), type: 'application/json; charset=utf-8' };
  }
  const problem: Problem = { type: `urn:dundun:problem:${code}`, title, status, detail, instance: path };
  return { body: JSON.stringify(problem), type: 'application/problem+json; charset=utf-8' };
}

/**
 * The path in the first line, where it looks like one, whether the line is HTTP, and X-Forwarded-Proto: a proxy that
 * speaks TLS passes some malformed requests on.
 */
function beginningOf(packet: unknown): {
  readonly path: string;
  readonly isHttp: boolean;
  readonly forwardedProto: string | undefined;
} {
  const start = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, 4096) : '';
  const [, path = '', protocol] = /^[A-Za-z][A-Za-z-]{0,31} ([!-~]+)( HTTP\/1\.[01]\r?\n)?/.exec(start) ?? [];
  const [, forwardedProto] = /^x-forwarded-proto:([^\r\n]*)$/im.exec(start) ?? [];
  return { path, isHttp: protocol !== undefined, forwardedProto };
}
