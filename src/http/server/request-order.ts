// Requests that Node.js's server has read from one connection begin one after the other, each when the one before has been
// answered. So what stands behind an answer with `connection: close` is never begun, and nothing is stored whose answer
// could not be sent; and changes take effect in the order in which they were sent (RFC 9112 section 9.3.2). Requests of all
// connections begin for a bounded time in each turn of the event loop, by address in turns (fair-turns.ts). Used by
// http-server.ts; pushes in the fast path (push-connection.ts) are in order by themselves.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { FairTurns } from '../../domain/callers/fair-turns.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface QueuedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly handle: Handler;
}

/** The requests of one connection that are not answered. */
interface ConnectionRequests {
  current: QueuedRequest | undefined;
  readonly waiting: QueuedRequest[];
  /** Called when all that came whole has been answered. */
  whenAnswered: (() => void) | undefined;
}

export class RequestOrder {
  readonly #connections = new WeakMap<Socket, ConnectionRequests>();
  readonly #fairTurns = new FairTurns({ msMax: limits.turnMsMax });
  readonly #callerOf: (request: IncomingMessage) => Caller;

  private constructor(callerOf: (request: IncomingMessage) => Caller) {
    this.#callerOf = callerOf;
  }

  /**
   * Puts itself between the server and those who answer its requests at this moment.
   * @param options.callerOf among whom requests begin in turns, before it is known who has signed in.
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

  /** Begins a request, or has it wait for those before it. */
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

  /** True while a request of the connection is not answered. */
  isUnderWay(socket: Socket): boolean {
    return this.#connections.get(socket)?.current !== undefined;
  }

  /** Calls back once all requests that have come whole are answered; of one that breaks off nothing more can be expected. */
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
    this.#fairTurns.run(
      () => this.#callerOf(next.request),
      () => {
        // Its connection may have ended meanwhile.
        if (requests.current === next) next.handle(next.request, next.response);
      },
    );
  }

  /** An answer has left, or its connection has ended. */
  #end(requests: ConnectionRequests, socket: Socket): void {
    requests.current = undefined;
    // After an answer that says so the connection takes nothing more.
    if (!socket.writable) requests.waiting.length = 0;
    const next = requests.waiting.shift();
    if (next !== undefined) this.#begin(requests, next);
    else {
      resume(socket);
      requests.whenAnswered?.();
      requests.whenAnswered = undefined;
    }
  }
}

/** A socket as Node.js's server has it: with a mark while it must not be given anything, and the parser of its requests. */
type ServedSocket = Socket & { _paused?: boolean; parser?: { resume(): void } | null };

/** Stops reading as Node.js does where answers are not read: it pauses the parser when it has done with the piece at hand. */
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
