// What takes time, as spans of a trace: the port through which HTTP, the engine and senders tell of it. Where tracing is off
// there is no object of this kind, so nothing is paid for. tracing/ implements it with OpenTelemetry.

/** Short, and without what users wrote: they leave the service. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

export type SpanKind = 'server' | 'client' | 'internal';

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: SpanAttributes;
}

export interface RequestSpan {
  /** Runs the next part of the request: spans that begin there, also later, belong to this one. */
  run(part: () => void): void;
  end(name: string, attributes: SpanAttributes, isFailed: boolean): void;
}

export interface Tracing {
  /**
   * Begins the span of a request. @param traceparent of the caller (W3C Trace Context), where it is to be believed.
   * @returns undefined where the request is not among those that are traced.
   */
  request(start: SpanStart, traceparent: string | undefined): RequestSpan | undefined;
  /** Runs work as a span of the request that is under way; where none is traced, just runs it. */
  part<T>(start: SpanStart, work: () => T): T;
  /** The same; where no request is traced, it is a trace of its own if its turn has come. */
  work<T>(start: SpanStart, work: () => T): T;
}
