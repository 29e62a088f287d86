// The address under which other machines reach the service, for codes, links and lines that are copied: who looks at the
// dashboard on the machine itself sees `localhost`, which says nothing to a phone or a gateway. Told to that machine
// alone, because addresses of the inner network are nobody else's business.
import { networkInterfaces } from 'node:os';
import type { FastifyRequest } from 'fastify';

/** How the dashboard names the service to others. */
export interface ReachableOrigin {
  /** Such as https://fields.example or http://192.168.1.7:8080. */
  readonly origin: string;
  /** True for an address of the machine: whether it is the one that others use is not certain. */
  readonly isGuess: boolean;
}

export interface Listening {
  /** DUNDUN_BASE_URL, or empty. */
  readonly baseUrl: string;
  /** The address that the service listens at. */
  readonly host: string;
}

/** @returns undefined where the browser's own address is as good as any. */
export function reachableOrigin(request: FastifyRequest, { baseUrl, host }: Listening): ReachableOrigin | undefined {
  if (baseUrl !== '') return { origin: new URL(baseUrl).origin, isGuess: false };
  const asked = hostOf(request.headers.host);
  // The name in the request as well: behind a proxy on this machine every client comes from it.
  if (asked === undefined || !isOfThisMachine(asked.hostname) || !isOfThisMachine(request.ip)) return undefined;
  // Who listens at one address is reached there; at that of the machine itself, by nobody else.
  if (host !== '0.0.0.0' && host !== '::') return undefined;
  const address = ownAddress();
  if (address === undefined) return undefined;
  const port = asked.port === '' ? '' : `:${asked.port}`;
  return { origin: `${request.protocol}://${address}${port}`, isGuess: true };
}

function hostOf(host: string | undefined): URL | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
}

function isOfThisMachine(name: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?|::ffff:127(\.\d{1,3}){3})$/i.test(name);
}

/** Networks of containers and tunnels, which other machines do not reach. */
const inner = /^(docker|br-|veth|virbr|cni|flannel|tun|tap|wg|tailscale|lxc|podman)/;

function ownAddress(): string | undefined {
  for (const [name, addresses = []] of Object.entries(networkInterfaces())) {
    if (inner.test(name)) continue;
    const outer = addresses.find(({ family, internal, address }) => {
      return family === 'IPv4' && !internal && !address.startsWith('169.254.');
    });
    if (outer !== undefined) return outer.address;
  }
  return undefined;
}
