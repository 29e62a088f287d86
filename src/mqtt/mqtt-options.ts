// Options of the MQTT server, and its counters for the metrics.
import type { TlsOptions } from 'node:tls';

export interface MqttOptions {
  readonly host: string;
  /** Undefined: no plain MQTT. */
  readonly port: number | undefined;
  /** True where connections of plain MQTT begin with a header of the PROXY protocol. */
  readonly proxyProtocol: boolean;
  /** Where clients of version 5 are to go when the service stops; empty: they are told none. */
  readonly serverReference: string;
  readonly tls:
    | {
        readonly port: number;
        readonly options: TlsOptions;
        /** Whether clients are asked for a certificate (decision 50), and cut without one. */
        readonly certificates: 'none' | 'optional' | 'required';
      }
    | undefined;
}

/** The ports that are open. */
export interface MqttPorts {
  readonly mqtt?: number;
  readonly mqtts?: number;
}

/** Counters for the metrics. */
export interface MqttCounts {
  connections: number;
  slowCut: number;
  /** Messages encoded for subscribers: once for each QoS in which anybody gets it. */
  encoded: number;
}
