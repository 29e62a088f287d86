// The settings of what operators see of the service: the port of the metrics, and traces. Part of config.ts.
import { headers, httpUrl, nonEmpty, orOff, port, type Setting, share } from './setting.ts';

export interface TelemetryConfig {
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  readonly tracesUrl: string | undefined;
  readonly tracesHeaders: Readonly<Record<string, string>>;
  readonly tracesShare: number;
}

export const telemetrySettings: { readonly [F in keyof TelemetryConfig]: Setting<TelemetryConfig[F]> } = {
  metricsPort: {
    env: 'DUNDUN_METRICS_PORT',
    fallback: 'off',
    reason:
      'Port of /metrics without a token, for Prometheus. 0 takes a free one; off: only on the port of HTTP, for admins and for API keys with the scope metrics:view.',
    parse: orOff(port),
  },
  metricsHost: {
    env: 'DUNDUN_METRICS_HOST',
    fallback: '127.0.0.1',
    reason: 'Address that the port of the figures listens on; whoever reaches it reads them.',
    parse: nonEmpty,
  },
  tracesUrl: {
    env: 'DUNDUN_TRACES_URL',
    fallback: 'off',
    reason:
      'Where traces are sent to as OTLP over HTTP (OpenTelemetry), such as http://collector:4318/v1/traces; off: nothing is traced.',
    parse: orOff(httpUrl),
  },
  tracesHeaders: {
    env: 'DUNDUN_TRACES_HEADERS',
    fallback: '',
    reason: 'Headers that are sent with the traces, such as authorization=Bearer abc,x-team=farm.',
    secret: true,
    parse: headers,
  },
  tracesShare: {
    env: 'DUNDUN_TRACES_SHARE',
    fallback: '0.01',
    reason:
      'Which share of requests, appends to the log and messages is traced, from 0 to 1. A proxy of DUNDUN_TRUST_PROXY that traces a request decides for it.',
    parse: share,
  },
};
