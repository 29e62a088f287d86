// Traces with OpenTelemetry, sent as OTLP over HTTP to where DUNDUN_TRACES_URL says. Its packages are loaded only where
// that is set. Spans wait in a queue with a bound; what does not fit, or is not taken, is dropped.
import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import type { Context, Span } from '@opentelemetry/api';
import type { Log } from '../base/log.ts';
import type { RequestSpan, SpanStart, Tracing } from '../base/tracing.ts';
import { limits } from '../config/limits.ts';

export interface TracingSettings {
  /** Where to; undefined: nothing is traced. */
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Share of what is traced, from 0 to 1. */
  readonly share: number;
}

/** Tracing that is on, with what ends it. */
export interface OpenTracing extends Tracing {
  /** Sends what waits, for a moment at most. */
  close(): Promise<void>;
}

/** @returns undefined where DUNDUN_TRACES_URL is not set. */
export async function openTracing(
  { url, headers, share }: TracingSettings,
  log: Log,
): Promise<OpenTracing | undefined> {
  if (url === undefined) return undefined;
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }, { setGlobalErrorHandler, parseTraceParent }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/core'),
    ]);
  setGlobalErrorHandler((err) => log.warn({ err }, 'traces could not be sent'));
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'dundun',
      'service.instance.id': `${hostname()}:${process.pid}`,
    }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(share) }),
    spanLimits: { attributeCountLimit: limits.spanAttributesMax, attributeValueLengthLimit: limits.spanTextCharsMax },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: limits.tracesTimeoutMs }),
        maxQueueSize: limits.waitingSpansMax,
        maxExportBatchSize: limits.sentSpansMax,
        scheduledDelayMillis: limits.tracesIntervalMs,
        exportTimeoutMillis: limits.tracesTimeoutMs,
      }),
    ],
  });
  const tracer = provider.getTracer('dundun');
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL };
  const underWay = new AsyncLocalStorage<Context>();
  const begin = ({ name, kind, attributes }: SpanStart, parent: Context) =>
    tracer.startSpan(name, { kind: kinds[kind], ...(attributes && { attributes: { ...attributes } }) }, parent);
  const fail = (span: Span) => void span.setStatus({ code: api.SpanStatusCode.ERROR });

  const during = <T>(start: SpanStart, parent: Context, work: () => T): T => {
    const span = begin(start, parent);
    if (!span.isRecording()) return work();
    return underWay.run(api.trace.setSpan(parent, span), () => ended(work, span, fail));
  };
  return {
    request(start, traceparent): RequestSpan | undefined {
      const caller = traceparent === undefined ? null : parseTraceParent(traceparent);
      const root = api.ROOT_CONTEXT;
      const parent = caller === null ? root : api.trace.setSpanContext(root, { ...caller, isRemote: true });
      const span = begin(start, parent);
      if (!span.isRecording()) return undefined;
      const context = api.trace.setSpan(parent, span);
      return {
        run: (part) => underWay.run(context, part),
        end: (name, attributes, isFailed) => {
          span.updateName(name).setAttributes({ ...attributes });
          if (isFailed) fail(span);
          span.end();
        },
      };
    },
    part(start, work) {
      const parent = underWay.getStore();
      return parent === undefined ? work() : during(start, parent, work);
    },
    work: (start, work) => during(start, underWay.getStore() ?? api.ROOT_CONTEXT, work),
    async close() {
      await provider.shutdown().catch(() => {});
    },
  };
}

/** Runs `work` and ends its span when it is done, also where it is a promise. */
function ended<T>(work: () => T, span: Span, fail: (span: Span) => void): T {
  try {
    const result = work();
    if (!(result instanceof Promise)) {
      span.end();
      return result;
    }
    // Who called sees a failure; here it is only noted.
    result.then(
      () => span.end(),
      () => {
        fail(span);
        span.end();
      },
    );
    return result;
  } catch (error) {
    fail(span);
    span.end();
    throw error;
  }
}
