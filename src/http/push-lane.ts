// The lane of usual pushes: one plain reading as JSON to a sensor whose device is in memory, by somebody who may push to
// it and was seen a moment ago. It goes from the connection to the writer without the framework, and is answered after
// its commit (I1). Everything else, and every request that is not as usual in the least or cannot be stored, goes to the
// framework as it came: so what is refused, and how that is said, stands in one place (docs/decisions/0006-quick-lane.md).
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { limits } from '../config/limits.ts';
import type { Ingest } from '../domain/datapoints/ingest.ts';
import { parsePlainReading } from '../domain/datapoints/plain-reading.ts';
import { Push } from '../domain/datapoints/push.ts';
import type { Authentication } from './auth.ts';
import { DeferredRequest } from './deferred-request.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export interface PushLaneParts {
  readonly ingest: Ingest;
  readonly authentication: Authentication;
  readonly clock: Clock;
  /** True from the moment at which new requests are refused. */
  readonly isClosing: () => boolean;
}

const devices = '/api/v2/devices/';
const sensors = '/sensors/';
const nobodyTellsOfIt = {};

export class PushLane {
  readonly #parts: PushLaneParts;
  readonly #framework: Listener;

  private constructor(parts: PushLaneParts, framework: Listener) {
    this.#parts = parts;
    this.#framework = framework;
  }

  /** Has all requests of the server pass by here first. */
  static open(server: Server, parts: PushLaneParts): void {
    const listeners = server.listeners('request') as Listener[];
    const lane = new PushLane(parts, (request, response) => {
      for (const listener of listeners) listener.call(server, request, response);
    });
    server.removeAllListeners('request');
    server.on('request', (request, response) => lane.#look(request, response));
  }

  #look(request: IncomingMessage, response: ServerResponse): void {
    // One that waits behind another of its connection, which may still read its body, must not overtake it (I3).
    const isFirst = response.socket !== null;
    if (isFirst && request.method === 'POST' && request instanceof DeferredRequest && this.#isUsual(request)) {
      request.takeBody((body) => this.#take(request, response, body));
    } else this.#framework(request, response);
  }

  /** True when the headers ask for nothing that a usual push does not. */
  #isUsual(request: IncomingMessage): boolean {
    const { headers } = request;
    const length = headers['content-length'];
    return (
      length !== undefined &&
      Number(length) <= limits.quickBodyBytesMax &&
      isJson(headers['content-type']) &&
      headers['idempotency-key'] === undefined &&
      headers['prefer'] === undefined &&
      headers.origin === undefined &&
      headers['content-encoding'] === undefined &&
      headers.expect === undefined &&
      !this.#parts.isClosing()
    );
  }

  #take(request: DeferredRequest, response: ServerResponse, body: Buffer): void {
    const push = this.#pushOf(request, body);
    if (push === undefined) {
      this.#handOver(request, response);
      return;
    }
    this.#parts.ingest.submitAll([push], (error) => {
      if (error !== undefined) this.#handOver(request, response);
      else {
        response.writeHead(204);
        response.end();
      }
    });
  }

  /** The push that a request is, if nothing is unusual about it. */
  #pushOf(request: DeferredRequest, body: Buffer): Push | undefined {
    const actor = this.#parts.authentication.peek(request.socket, request.headers.authorization);
    if (actor === undefined) return undefined;
    const path = request.url ?? '';
    if (!path.startsWith(devices) || !path.endsWith('/values') || path.includes('%')) return undefined;
    const middle = path.indexOf('/', devices.length);
    if (!path.startsWith(sensors, middle)) return undefined;
    // What has another slash or a query in it is no id of a sensor in memory; one may hold what another has escaped.
    const device = path.slice(devices.length, middle);
    const sensor = path.slice(middle + sensors.length, -'/values'.length);
    const place = this.#parts.ingest.peekPlace(actor, device, sensor);
    if (place === undefined) return undefined;
    const reading = parsePlainReading(body, 0, body.length);
    return reading && new Push(place, [reading], this.#parts.clock.now(), nobodyTellsOfIt);
  }

  /** Nothing was stored: the framework has its turn, which says why or succeeds. */
  #handOver(request: DeferredRequest, response: ServerResponse): void {
    if (request.destroyed) return;
    this.#framework(request, response);
    request.giveBack();
  }
}

function isJson(type: string | undefined): boolean {
  return type === 'application/json' || type === 'application/json; charset=utf-8';
}
