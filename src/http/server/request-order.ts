// Requests of one connection begin one after the other, each when the previous one was answered. Thus a request behind
// an answer with `connection: close` never begins, nothing is stored whose answer cannot be sent, and changes take
// effect in order (RFC 9112 section 9.3.2). In each turn of the event loop requests begin for a bounded time only, by
// address in turns (loop-turns.ts). Used by http-server.ts; pushes in the fast path keep their order by themselves
// (push-connection.ts).
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface QueuedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly handle: Handler;
}

/** The unanswered requests of one connection. */
interface ConnectionRequests {
  current: QueuedRequest | undefined;
  readonly waiting: QueuedRequest[];
  /** Called when all complete requests are answered. */
  whenAnswered: (() => void) | undefined;
}

export class RequestOrder {
  readonly #connections = new WeakMap<Socket, ConnectionRequests>();
  readonly #callerOf: (request: IncomingMessage) => Caller;

  private constructor(callerOf: (request: IncomingMessage) => Caller) {
    this.#callerOf = callerOf;
  }

  /**
   * Inserts itself between the server and its present request listeners.
   * @param options.callerOf the caller for taking turns, before authentication.
   */
  static on(
    server: Server,
    options: {
      readonly wrap: (handle: Handler) => Handler;
      readonly callerOf: (request: IncomingMessage) => Caller;
    },
  ): RequestOrder {
    const requestOrder = new RequestOrder(options.callerOf);
    const handlers = server.listeners('request') as Handler[];
    server.removeAllListeners('request');
    for (const handler of handlers) {
      const handle = options.wrap(handler.bind(server));
      server.on('request', (request, response) => requestOrder.take({ request, response, handle }));
    }
    return requestOrder;
  }

  /** Begins a request, or queues it behind those before it. */
  take(next: QueuedRequest): void {
    const { socket } = next.request;
    const requests = this.#connections.get(socket);
    if (requests === undefined) {
      const begun = { current: undefined, waiting: [], whenAnswered: undefined };
      this.#connections.set(socket, begun);
      this.#begin(begun, next);
    } else if (requests.current === undefined) this.#begin(requests, next);
    else if (requests.waiting.length < limits.pipelinedRequestsMax) {
      requests.waiting.push(next);
      if (requests.waiting.length >= limits.pipelinedRequestsWanted) pause(socket);
    } else socket.destroy();
  }

  /** True while a request of the connection is unanswered. */
  isUnderWay(socket: Socket): boolean {
    return this.#connections.get(socket)?.current !== undefined;
  }

  /** Calls `done` once all complete requests are answered; an incomplete one is not waited for. */
  onceAnswered(socket: Socket, done: () => void): void {
    const requests = this.#connections.get(socket);
    const whole = requests?.waiting.filter(({ request }) => request.complete) ?? [];
    requests?.waiting.splice(0, requests.waiting.length, ...whole);
    if (requests?.current?.request.complete === true) requests.whenAnswered = done;
    else done();
  }

  #begin(requests: ConnectionRequests, next: QueuedRequest): void {
    requests.current = next;
    next.response.once('close', () => this.#end(requests, next.request.socket));
    loopTurns.run(this.#callerOf(next.request), () => {
      // Its connection may have closed meanwhile.
      if (requests.current === next) next.handle(next.request, next.response);
    });
  }

  /** An answer was sent, or its connection closed. */
  #end(requests: ConnectionRequests, socket: Socket): void {
    requests.current = undefined;
    // After an answer with `connection: close` nothing more is accepted.
    if (!socket.writable) requests.waiting.length = 0;
    const next = requests.waiting.shift();
    // The body of the last one may not have come whole.
    if (requests.waiting.length === 0) resume(socket);
    if (next !== undefined) this.#begin(requests, next);
    else {
      requests.whenAnswered?.();
      requests.whenAnswered = undefined;
    }
  }
}

/** A socket of Node.js's server with private fields: whether it is paused, and its HTTP parser. */
type ServedSocket = Socket & { _paused?: boolean; parser?: { resume(): void } | null };

/** Stops reading as Node.js does for unread answers: the parser pauses after the present chunk. */
function pause(socket: ServedSocket): void {
  if (socket._paused === true) return;
  socket._paused = true;
  socket.pause();
}

function resume(socket: ServedSocket): void {
  if (socket._paused !== true || socket.destroyed) return;
  socket._paused = false;
  socket.parser?.resume();
  socket.resume();
}
