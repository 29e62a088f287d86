// Decides which requests are upgraded: MQTT over WebSocket at `/mqtt`, and only with a valid handshake (RFC 6455
// section 4.2.1). Any other Upgrade header is ignored, so that no upgraded socket is left without an owner. Called by
// Node.js's server for each such request (http-server.ts).
import type { IncomingMessage } from 'node:http';

const path = /^\/mqtt\/?(\?|$)/;
/** Sixteen bytes in base64. */
const key = /^[+/0-9A-Za-z]{22}==$/;
const versions = new Set(['13', '8']);
/** A token (RFC 9110 section 5.6.2). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export function isUpgrade({ method, url = '', headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    path.test(url) &&
    key.test(headers['sec-websocket-key'] ?? '') &&
    versions.has(headers['sec-websocket-version'] ?? '') &&
    namesProtocols(headers['sec-websocket-protocol'])
  );
}

/** A list of distinct tokens, if present. */
function namesProtocols(header: string | undefined): boolean {
  if (header === undefined) return true;
  const names = header.split(',').map((name) => name.trim());
  return names.every((name) => token.test(name)) && new Set(names).size === names.length;
}
