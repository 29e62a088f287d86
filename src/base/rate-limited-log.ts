// Bounds what the log writes, whatever outsiders or a failing disk bring about: each kind of line, which is a level and a
// message, has so many lines in a window of time. The rest is counted, and the count is written as one line when the window
// ends. server.ts puts it before pino, so that every part of the service logs through it. Ensures that lines written and
// lines suppressed add up to what was logged, and that the memory for kinds is bounded (I4).
import { limits } from '../config/limits.ts';
import type { Log } from './log.ts';
import type { Clock } from './time/clock.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** What writes the lines: pino. */
export interface LogSink extends Omit<Log, 'audit'> {
  isLevelEnabled(level: string): boolean;
}

interface Kind {
  readonly level: Level;
  readonly message: string;
  windowStartMs: number;
  written: number;
  suppressed: number;
}

/** The message of all kinds together that are beyond `limits.logKindsMax`. */
const otherKinds = 'lines of other kinds were suppressed';

export class RateLimitedLog implements Log {
  readonly #sink: LogSink;
  readonly #clock: Clock;
  readonly #kinds: Readonly<Record<Level, Map<string, Kind>>> = {
    debug: new Map(),
    info: new Map(),
    warn: new Map(),
    error: new Map(),
  };
  /** Lines suppressed since the start, by level, for the metrics. */
  readonly suppressedLines: Record<Level, number> = { debug: 0, info: 0, warn: 0, error: 0 };
  /** Runs only while a kind has suppressed lines to report. */
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: { readonly sink: LogSink; readonly clock: Clock }) {
    this.#sink = parts.sink;
    this.#clock = parts.clock;
  }

  debug(fields: object, message: string): void {
    if (this.#takes('debug', message)) this.#sink.debug(fields, message);
  }

  info(fields: object, message: string): void {
    if (this.#takes('info', message)) this.#sink.info(fields, message);
  }

  warn(fields: object, message: string): void {
    if (this.#takes('warn', message)) this.#sink.warn(fields, message);
  }

  error(fields: object, message: string): void {
    if (this.#takes('error', message)) this.#sink.error(fields, message);
  }

  fatal(fields: object, message: string): void {
    this.#sink.fatal(fields, message);
  }

  audit(fields: object, message: string): void {
    this.#sink.info(fields, message);
  }

  /** Writes the remaining counts. Lines logged after this call are not bounded. */
  close(): void {
    this.#isClosed = true;
    this.#report(() => true);
  }

  /** Whether the line may be written now; else it is counted. */
  #takes(level: Level, message: string): boolean {
    if (this.#isClosed) return true;
    // A level that is switched off has no lines, thus none to count.
    if (!this.#sink.isLevelEnabled(level)) return false;
    const nowMs = this.#clock.now();
    const kind = this.#kinds[level].get(message) ?? this.#add(level, message, nowMs);
    if (isOver(kind, nowMs)) {
      this.#reportKind(kind, nowMs);
      kind.windowStartMs = nowMs;
      kind.written = 0;
    }
    if (kind.written < (level === 'debug' ? limits.logDebugLinesMax : limits.logLinesMax)) {
      kind.written += 1;
      return true;
    }
    kind.suppressed += 1;
    this.suppressedLines[level] += 1;
    this.#timer ??= setInterval(() => this.#report(isOver), limits.logLookMs).unref();
    return false;
  }

  #add(level: Level, message: string, nowMs: number): Kind {
    const kinds = this.#kinds[level];
    if (kinds.size >= limits.logKindsMax) {
      for (const kind of kinds.values()) if (kind.suppressed === 0 && isOver(kind, nowMs)) kinds.delete(kind.message);
    }
    // All that have no room share one kind, which is one more than the bound.
    const name = kinds.size >= limits.logKindsMax ? otherKinds : message;
    let kind = kinds.get(name);
    if (kind === undefined) {
      kind = { level, message: name, windowStartMs: nowMs, written: 0, suppressed: 0 };
      kinds.set(name, kind);
    }
    return kind;
  }

  /** Writes the counts of the kinds that are due, and stops the timer where none is left. */
  #report(isDue: (kind: Kind, nowMs: number) => boolean): void {
    const nowMs = this.#clock.now();
    let isPending = false;
    for (const kinds of Object.values(this.#kinds)) {
      for (const kind of kinds.values()) {
        if (isDue(kind, nowMs)) this.#reportKind(kind, nowMs);
        isPending ||= kind.suppressed > 0;
      }
    }
    if (isPending) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #reportKind(kind: Kind, nowMs: number): void {
    const { level, message, suppressed, windowStartMs } = kind;
    if (suppressed === 0) return;
    kind.suppressed = 0;
    this.#sink[level]({ suppressed, withinS: Math.max(0, Math.round((nowMs - windowStartMs) / 1000)) }, message);
  }
}

/** True also where the clock was set back: otherwise nothing would be logged until it reaches its earlier time again. */
function isOver({ windowStartMs }: Kind, nowMs: number): boolean {
  return nowMs >= windowStartMs + limits.logWindowMs || nowMs < windowStartMs;
}
