// The settings of how clients reach the service: ports and addresses of HTTP and MQTT, TLS, certificates of clients, and the
// address that links name. Part of config.ts.
import {
  durationOrOff,
  integerBetween,
  nonEmpty,
  oneOf,
  onOff,
  orOff,
  port,
  type Setting,
  text,
  url,
} from './setting.ts';

export interface ListenerConfig {
  readonly httpPort: number;
  readonly httpHost: string;
  readonly mqttPort: number | undefined;
  readonly mqttProxyProtocol: boolean;
  readonly mqttTlsPort: number;
  readonly mqttSessionExpiryMs: number | undefined;
  readonly mqttServerReference: string;
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly mqttClientCa: string;
  readonly mqttClientCrl: string;
  readonly mqttClientCert: 'optional' | 'required';
  readonly hstsS: number | undefined;
  readonly baseUrl: string;
}

export const listenerSettings: { readonly [F in keyof ListenerConfig]: Setting<ListenerConfig[F]> } = {
  httpPort: {
    env: 'DUNDUN_HTTP_PORT',
    fallback: '8080',
    reason:
      'Port of HTTP (HTTPS where a certificate is set), of the reference at /docs and of MQTT over WebSocket. 0 takes a free one.',
    parse: port,
  },
  httpHost: {
    env: 'DUNDUN_HTTP_HOST',
    fallback: '0.0.0.0',
    reason: 'Address that HTTP and MQTT listen on; 127.0.0.1 for this machine alone.',
    parse: nonEmpty,
  },
  mqttPort: {
    env: 'DUNDUN_MQTT_PORT',
    fallback: '1883',
    reason: 'Port of plain MQTT, which is not encrypted. 0 takes a free one; off: none.',
    parse: orOff(port),
  },
  mqttProxyProtocol: {
    env: 'DUNDUN_MQTT_PROXY_PROTOCOL',
    fallback: 'off',
    reason:
      'Whether every connection of plain MQTT begins with a header of the PROXY protocol (version 1 or 2) that names the client; on: those that do not, or do not come from DUNDUN_TRUST_PROXY, are cut.',
    parse: onOff,
  },
  mqttTlsPort: {
    env: 'DUNDUN_MQTT_TLS_PORT',
    fallback: '8883',
    reason: 'Port of MQTT over TLS; open where a certificate is set. 0 takes a free one.',
    parse: port,
  },
  mqttSessionExpiryMs: {
    env: 'DUNDUN_MQTT_SESSION_EXPIRY',
    fallback: '30d',
    reason:
      'How long the service keeps a persistent MQTT session, with its subscriptions and messages, after its client went away (30d, 12h, 90m); off: for ever. Those of guests end after an hour.',
    parse: durationOrOff,
  },
  mqttServerReference: {
    env: 'DUNDUN_MQTT_SERVER_REFERENCE',
    fallback: '',
    reason:
      'Where clients of MQTT 5 are to go when the service stops, such as other.example.org:1883: DISCONNECT names it, with the code 0x9C (use another server). Empty: it says 0x8B (server shutting down).',
    parse: text,
  },
  tlsCert: {
    env: 'DUNDUN_TLS_CERT',
    fallback: '',
    reason:
      'File with the TLS certificate chain (PEM). With DUNDUN_TLS_KEY it switches HTTPS and MQTT over TLS on. Both are read anew when they change, and on SIGHUP.',
    parse: text,
  },
  tlsKey: {
    env: 'DUNDUN_TLS_KEY',
    fallback: '',
    reason: 'File with the private key of the certificate (PEM).',
    parse: text,
  },
  mqttClientCa: {
    env: 'DUNDUN_MQTT_CLIENT_CA',
    fallback: '',
    reason:
      'File with the certificates (PEM) of the authority, up to its root, that signs those of clients of MQTT over TLS: who brings one is signed in as its common name says, <username> or <username>/<name of an API key>, never as admin. Empty: clients are asked for none. Read anew like DUNDUN_TLS_CERT.',
    parse: text,
  },
  mqttClientCrl: {
    env: 'DUNDUN_MQTT_CLIENT_CRL',
    fallback: '',
    reason:
      'File with the revocation lists (PEM) of each authority in DUNDUN_MQTT_CLIENT_CA; empty: none of its certificates is revoked. Read anew like DUNDUN_TLS_CERT: clients who came by a certificate are then cut, and come back if theirs is good. A list past its date lets nobody in by a certificate.',
    parse: text,
  },
  mqttClientCert: {
    env: 'DUNDUN_MQTT_CLIENT_CERT',
    fallback: 'optional',
    reason:
      'Whether clients of MQTT over TLS may come without a certificate, by password or as guests (optional), or not (required), where DUNDUN_MQTT_CLIENT_CA is set.',
    parse: oneOf('optional', 'required'),
  },
  hstsS: {
    env: 'DUNDUN_HSTS',
    fallback: 'off',
    reason:
      'Seconds for which browsers that came by HTTPS come by nothing else (Strict-Transport-Security), such as 31536000; off: they are told nothing. A host that speaks HTTPS no more cannot be reached by them for as long.',
    parse: orOff(integerBetween(1, 63_072_000)),
  },
  baseUrl: {
    env: 'DUNDUN_BASE_URL',
    fallback: '',
    reason:
      'Address under which users reach the service, for links; empty: the address of the request, and no links are mailed (forgotten passwords, confirmed addresses).',
    parse: url,
  },
};

/** Faults of settings that must be set together. */
export function listenerFaults(config: ListenerConfig): string[] {
  const faults: string[] = [];
  if ((config.tlsCert === '') !== (config.tlsKey === ''))
    faults.push('DUNDUN_TLS_CERT and DUNDUN_TLS_KEY: set both, or none.');
  if (config.mqttClientCa !== '' && config.tlsCert === '')
    faults.push('DUNDUN_MQTT_CLIENT_CA: needs DUNDUN_TLS_CERT, because certificates of clients are a part of TLS.');
  if (config.mqttClientCa === '' && (config.mqttClientCrl !== '' || config.mqttClientCert === 'required'))
    faults.push('DUNDUN_MQTT_CLIENT_CRL and DUNDUN_MQTT_CLIENT_CERT: need DUNDUN_MQTT_CLIENT_CA.');
  return faults;
}
