// The fast path of usual pushes: one plain reading as JSON to a sensor whose device is in memory, by an actor who may
// push to it and was authenticated a moment ago. Goes from the connection's bytes to the writer without Node.js's
// server and the framework; answered after its commit (I1). Every other request, and one that cannot be stored, goes to
// them unchanged, so that refusals are decided and phrased in one place (docs/decisions/0006-fast-path.md).
// push-connection.ts splits the connection's bytes.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { SecurityHeaderSet, SecurityHeaders } from '../../base/network/security-headers.ts';
import type { TrustedProxies } from '../../base/network/trusted-proxies.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import type { AppendCallback } from '../../domain/datapoints/ingest/append.ts';
import type { Ingest } from '../../domain/datapoints/ingest/ingest.ts';
import { parsePlainReading } from '../../domain/datapoints/ingest/plain-reading.ts';
import { Push } from '../../domain/datapoints/ingest/push.ts';
import type { Writer } from '../../domain/datapoints/ingest/writer.ts';
import type { RefusedCalls } from '../../domain/gateways/refused-calls.ts';
import type { Actor } from '../../domain/users/user.ts';
import type { Authentication } from '../sign-in/auth.ts';
import { originOf } from '../sign-in/refusal-loops.ts';
import { PushConnection } from './push-connection.ts';
import type { PushGroup, PushHandler, WaitingConnection } from './push-handler.ts';
import { ReadingTurns } from './reading-turns.ts';
import { HeaderCache, type RequestHead, type RequestHeaders, readHead } from './request-head.ts';
import { UnknownPushes } from './unknown-pushes.ts';

export interface PushFastPathParts {
  readonly ingest: Ingest;
  readonly writer: Pick<Writer, 'mayHaveCapacity' | 'onceCapacity'>;
  readonly authentication: Authentication;
  readonly refusedCalls: Pick<RefusedCalls, 'isEmpty' | 'acceptedPush'>;
  readonly securityHeaders: SecurityHeaders;
  readonly proxies: TrustedProxies;
  readonly clock: Clock;
  /** True once new requests are refused. */
  readonly isClosing: () => boolean;
}

const devices = '/api/v2/devices/';
const sensors = '/sensors/';
const values = '/values';
const noExtras = {};

export class PushFastPath implements PushHandler {
  readonly headers = new HeaderCache();
  readonly unknownPushes = new UnknownPushes();
  readonly readingTurns = new ReadingTurns();
  readonly #parts: PushFastPathParts;
  readonly #server: Server;
  readonly #connections = new Map<Socket, PushConnection>();
  #storing = 0;
  #isDraining = false;
  /** Connections that wait for room, with what takes them out of the line. */
  readonly #waiting = new Map<WaitingConnection, () => void>();
  #looks: NodeJS.Timeout | undefined;
  #whenDrained: (() => void) | undefined;
  readonly #answers = new Map<SecurityHeaderSet, string>();
  #answersSecond = Number.NaN;

  private constructor(server: Server, parts: PushFastPathParts) {
    this.#server = server;
    this.#parts = parts;
  }

  /** Puts the fast path in front of all connections of the server. */
  static open(server: Server, parts: PushFastPathParts): PushFastPath {
    const fastPath = new PushFastPath(server, parts);
    // After Node.js's own listener, which sets the connection up for HTTP.
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
      const connection = PushConnection.open(socket, fastPath);
      if (connection === undefined) return;
      fastPath.#connections.set(socket, connection);
      socket.once('close', () => {
        fastPath.#connections.delete(socket);
        fastPath.#leave(connection);
      });
    });
    fastPath.#takeRequests();
    // Node.js does not know of pushes in the fast path, and would close their connection as idle.
    server.on('timeout', (socket: Socket) => {
      if (!fastPath.isStoringOf(socket)) socket.destroy();
    });
    return fastPath;
  }

  /** Stands before the present listeners of requests, which get all but first pushes. */
  #takeRequests(): void {
    const server = this.#server;
    const listeners = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const toFramework = () => {
        for (const listener of listeners) listener.call(server, request, response);
      };
      const connection = this.#connections.get(request.socket);
      if (connection === undefined) toFramework();
      else connection.onRequest(response, toFramework);
    });
  }

  get isClosing(): boolean {
    return this.#parts.isClosing();
  }

  /** False once no push of any connection is, or may be, under way, which is after `drained` alone. */
  get isBusy(): boolean {
    return !this.#isDraining || this.#storing > 0;
  }

  /** True while pushes of this connection wait for their commit. */
  isStoringOf(socket: Socket): boolean {
    return this.#connections.get(socket)?.isStoring === true;
  }

  /** Once closing: gives pushes that wait, or are incomplete, to Node.js, and resolves when all others are answered. */
  drained(): Promise<void> {
    this.#isDraining = true;
    this.#giveUpOld(0);
    for (const connection of this.#connections.values()) {
      // Of one that waits for its turn.
      connection.giveUp();
      connection.giveBegun();
    }
    return new Promise((resolve) => {
      if (this.#storing === 0) resolve();
      else this.#whenDrained = resolve;
    });
  }

  takeFrom(bytes: Buffer, socket: Socket, into: PushGroup): number {
    let end = 0;
    while (end < bytes.length && into.pushes.length < into.pushesMax && !this.isClosing) {
      const head = readHead(bytes, end, this.headers);
      const push =
        head === undefined || head.end > bytes.length ? undefined : this.#pushOf(head, bytes, { socket, into });
      if (head === undefined || push === undefined) break;
      into.pushes.push(push);
      end = head.end;
      // All of them wait as they are, and are read again: the first is enough to know that.
      if (into.pushes.length === 1 && !this.mayHaveCapacity(into.caller as Caller)) break;
    }
    return end;
  }

  isOfProxy({ remoteAddress }: Socket): boolean {
    const { proxies } = this.#parts;
    return !proxies.isEmpty && proxies.trusts(remoteAddress ?? '');
  }

  callerOf(socket: Socket, forwardedFor?: string): Caller {
    return this.#parts.authentication.guestOf(socket, forwardedFor).caller;
  }

  store({ caller, pushes }: PushGroup, done: AppendCallback): 'busy' | undefined {
    this.#storing += 1;
    this.readingTurns.begun(pushes.length);
    // Only a refusal at once means that nothing of it is in the queue.
    let isAtOnce = true;
    let isRefused = false;
    this.#parts.ingest.submitAll(caller as Caller, pushes, (error) => {
      this.#storing -= 1;
      this.readingTurns.ended(pushes.length);
      isRefused = isAtOnce && error instanceof Refusal && error.code === 'busy';
      if (!isRefused) done(error);
      if (this.#storing === 0) this.#whenDrained?.();
    });
    isAtOnce = false;
    return isRefused ? 'busy' : undefined;
  }

  mayHaveCapacity(caller: Caller): boolean {
    return this.#parts.writer.mayHaveCapacity(caller);
  }

  wait(connection: WaitingConnection, caller: Caller): void {
    const wasResumed = !Number.isNaN(connection.waitingSinceMs);
    this.#line(connection, (resume) => this.#parts.writer.onceCapacity(caller, { wasResumed, resume }));
  }

  waitUnknown(connection: WaitingConnection, caller: Caller): void {
    this.#line(connection, (resume) => this.unknownPushes.wait(caller, resume));
  }

  /** Has a connection wait in a line; `enter` gives what takes it out. */
  #line(connection: WaitingConnection, enter: (resume: () => void) => () => void): void {
    if (Number.isNaN(connection.waitingSinceMs)) connection.waitingSinceMs = performance.now();
    const resume = () => {
      this.#waiting.delete(connection);
      connection.goOn();
    };
    this.#waiting.set(connection, enter(resume));
    this.#looks ??= setInterval(() => this.#giveUpOld(limits.pushWaitMsMax), limits.pushWaitLookMs).unref();
  }

  /** Refuses pushes that have waited `waitedMs` or longer: their clients are about to give up. */
  #giveUpOld(waitedMs: number): void {
    const sinceMs = performance.now() - waitedMs;
    for (const [connection, leave] of this.#waiting) {
      if (connection.waitingSinceMs > sinceMs) continue;
      leave();
      this.#waiting.delete(connection);
      connection.giveUp();
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }

  #leave(connection: PushConnection): void {
    this.#waiting.get(connection)?.();
    this.#waiting.delete(connection);
    connection.forget();
  }

  /** The same bytes as Node.js's server would write. */
  answerOf({ pushes, securityHeaders }: PushGroup): string {
    const headers = securityHeaders as SecurityHeaderSet;
    const nowMs = this.#parts.clock.now();
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#answersSecond) {
      this.#answers.clear();
      this.#answersSecond = second;
    }
    let answer = this.#answers.get(headers);
    if (answer === undefined) {
      const date = new Date(nowMs).toUTCString();
      const timeout = Math.floor(this.#server.keepAliveTimeout / 1000);
      answer = `HTTP/1.1 204 No Content\r\n${headers.lines}Date: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${timeout}\r\n\r\n`;
      this.#answers.set(headers, answer);
    }
    return pushes.length === 1 ? answer : answer.repeat(pushes.length);
  }

  answerFirst({ securityHeaders }: PushGroup, response: ServerResponse): void {
    for (const [name, value] of (securityHeaders as SecurityHeaderSet).pairs) response.setHeader(name, value);
    response.writeHead(204).end();
  }

  /** The push in a request, if it is usual. */
  #pushOf(
    { method, target, facts, bodyAt, end }: RequestHead,
    bytes: Buffer,
    { socket, into }: { readonly socket: Socket; readonly into: PushGroup },
  ): Push | undefined {
    if (method !== 'POST' || !facts.isUsual) return undefined;
    if (!target.startsWith(devices) || !target.endsWith(values) || target.includes('%')) return undefined;
    const middle = target.indexOf('/', devices.length);
    if (!target.startsWith(sensors, middle)) return undefined;
    // A name with another slash or a query is not the id of a sensor in memory.
    const device = target.slice(devices.length, middle);
    const sensor = target.slice(middle + sensors.length, -values.length);
    const actor = this.#actorOf(facts, socket);
    const sensorRef = actor && this.#parts.ingest.peekSensor(actor, device, sensor);
    if (actor === undefined || sensorRef === undefined) {
      const { authentication } = this.#parts;
      if (authentication.isSure) into.unknownOf = authentication.guestOf(socket, facts.forwardedFor).caller;
      return undefined;
    }
    const securityHeaders = this.#parts.securityHeaders.of(socket, facts.forwardedProto);
    if (into.caller !== undefined && (into.caller !== actor.caller || into.securityHeaders !== securityHeaders)) {
      return undefined;
    }
    const reading = parsePlainReading(bytes, bodyAt, end);
    if (reading === undefined) return undefined;
    // A push that is taken ends a row of refused calls; nearly always there is none.
    const { refusedCalls, authentication } = this.#parts;
    if (!refusedCalls.isEmpty && !actor.guest) {
      const address = authentication.guestOf(socket, facts.forwardedFor).caller.key;
      refusedCalls.acceptedPush(originOf(actor, address));
    }
    into.caller = actor.caller;
    into.securityHeaders = securityHeaders;
    return new Push(sensorRef, reading, this.#parts.clock.now(), noExtras);
  }

  /** The actor of a request; undefined where that is not known at once. */
  #actorOf({ authorization, forwardedFor }: RequestHeaders, socket: Socket): Actor | undefined {
    const { authentication } = this.#parts;
    if (!authentication.isSure) return undefined;
    if (authorization === undefined) return authentication.guestOf(socket, forwardedFor);
    return authentication.peek(socket, authorization);
  }
}
