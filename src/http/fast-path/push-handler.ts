// What a connection asks of the fast path: to find pushes in its bytes, and to store them. push-fast-path.ts implements it
// for push-connection.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { SecurityHeaderSet } from '../../base/network/security-headers.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import type { AppendCallback } from '../../domain/datapoints/ingest/append.ts';
import type { Push } from '../../domain/datapoints/ingest/push.ts';
import type { ReadingTurns } from './reading-turns.ts';
import type { HeaderCache } from './request-head.ts';
import type { UnknownPushes } from './unknown-pushes.ts';

/** Pushes of one caller that are stored together, and whose answers are the same. */
export class PushGroup {
  readonly pushes: Push[] = [];
  /** How many it may have. */
  readonly pushesMax: number;
  caller: Caller | undefined;
  securityHeaders: SecurityHeaderSet | undefined;
  /** The address of the first push where it looks usual, but its sender or sensor is not in memory. */
  unknownOf: Caller | undefined;

  constructor(pushesMax: number) {
    this.pushesMax = pushesMax;
  }
}

/** A connection whose pushes wait for room. */
export interface WaitingConnection {
  /** Since when, by the clock of the event loop; NaN while none wait. */
  waitingSinceMs: number;
  /** There may be room: tries again. */
  goOn(): void;
  /** There was no room in time. */
  giveUp(): void;
}

/** Finds and stores pushes for connections. */
export interface PushHandler {
  readonly headers: HeaderCache;
  readonly unknownPushes: UnknownPushes;
  readonly readingTurns: ReadingTurns;
  /** True once the service is closing and takes nothing more. */
  readonly isClosing: boolean;
  /** Adds the usual pushes of one caller at the beginning of the bytes to `into`; returns the index after the last. */
  takeFrom(bytes: Buffer, socket: Socket, into: PushGroup): number;
  /** Whether the bytes come from a trusted proxy, which never writes bare line feeds by itself. */
  isOfProxy(socket: Socket): boolean;
  /** The caller in whose turns the connection's bytes are looked at, before its sender is known. */
  callerOf(socket: Socket, forwardedFor?: string): Caller;
  /** Stores them, all or none. `busy`: there is no room for them, nothing of them was taken, and `done` is not called. */
  store(group: PushGroup, done: AppendCallback): 'busy' | undefined;
  /** Whether pushes of the caller may find room. Asked before anything is made of them. */
  mayHaveCapacity(caller: Caller): boolean;
  /** Has a connection wait for room: it is called with `goOn`, or with `giveUp` where that takes too long. */
  wait(connection: WaitingConnection, caller: Caller): void;
  /** The same for a push that only the framework knows, until that may have one more of the caller (unknown-pushes.ts). */
  waitUnknown(connection: WaitingConnection, caller: Caller): void;
  /** The answers to stored pushes. */
  answerOf(group: PushGroup): string;
  /** Answers a stored push that Node.js has parsed. */
  answerFirst(group: PushGroup, response: ServerResponse): void;
}
