// Decides which addresses a webhook may connect to: those of the internet, and networks allowed by a setting. All
// others are internal (routers, databases, a cloud's metadata service), and users must not reach them through this
// service. The checked address is the one connected to, so a name with changing answers gains nothing.
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';

export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The ports that this service listens on at present. */
export type OwnPorts = () => readonly number[];

/** Code of the error when none of a name's addresses may be connected to. */
export const closedCode = 'ECLOSED';

export class AddressGuard {
  readonly #allowed: BlockList;
  readonly #resolve: Resolve;
  readonly #ownPorts: OwnPorts;

  /**
   * @param networks allowed besides the internet: `10.1.0.0/16`, `fd00::/8`, or a single address. A cloud's metadata
   * service, which hands out credentials, and this service's own ports on this machine (`ownPorts`) stay forbidden.
   */
  constructor(
    networks: readonly string[],
    {
      resolve = systemLookup,
      ownPorts = () => [],
    }: { resolve?: Resolve | undefined; ownPorts?: OwnPorts | undefined } = {},
  ) {
    this.#allowed = toList(networks);
    this.#resolve = resolve;
    this.#ownPorts = ownPorts;
  }

  /** Whether a webhook may connect to this literal address and port. */
  permits(address: string, port: number): boolean {
    const version = isIP(address);
    if (version === 0 || address.includes('%')) return false;
    const hidden = version === 4 ? address : innerV4(address, disguised);
    if (metadata.check(hidden ?? address, hidden === undefined ? 'ipv6' : 'ipv4')) return false;
    const inner = version === 4 ? address : innerV4(address, dressed);
    if (this.#ownPorts().includes(port) && isThisMachine(inner ?? address)) return false;
    if (inner !== undefined) return this.#permitsV4(inner);
    if (this.#allowed.check(address, 'ipv6')) return true;
    return internet.check(address, 'ipv6') && !closed.check(address, 'ipv6');
  }

  /** A lookup function for `net.connect` to this port; it returns only permitted addresses. */
  lookupFor(port: number): LookupFunction {
    return (hostname, options, callback) => {
      const { all: wantsAll, ...rest } = options;
      this.#resolve(hostname, { ...rest, all: true }, (error, addresses) => {
        const permitted = error === null ? addresses.filter(({ address }) => this.permits(address, port)) : [];
        const [first] = permitted;
        if (error !== null) callback(error, '', 4);
        else if (first === undefined) callback(Object.assign(new Error('not allowed'), { code: closedCode }), '', 4);
        else if (wantsAll) callback(null, permitted);
        else callback(null, first.address, first.family);
      });
    };
  }

  #permitsV4(address: string): boolean {
    return this.#allowed.check(address, 'ipv4') || !closed.check(address, 'ipv4');
  }
}

/** The IPv4 address inside an IPv6 address of these networks; undefined where the address is in none of them. */
function innerV4(address: string, networks: BlockList): string | undefined {
  if (!networks.check(address, 'ipv6')) return undefined;
  // URL writes every spelling of an IPv6 address as groups without dots.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':');
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group === '' ? '0' : group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Loopback, the unspecified addresses, and the present addresses of the machine's interfaces. */
function isThisMachine(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (loopback.check(address, family)) return true;
  const own = new BlockList();
  for (const entry of Object.values(networkInterfaces()).flat()) {
    if (entry !== undefined) own.addAddress(entry.address, entry.family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own.check(address, family);
}

function toList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

const loopback = toList(['127.0.0.0/8', '0.0.0.0/8', '::1', '::']);

/**
 * Metadata services of clouds, which give credentials to any client on their machines or containers (AWS, Google, Azure
 * and others; AWS ECS and EKS, Alibaba, Oracle, Google by IPv6; Scaleway, Tencent).
 */
const metadata = toList([
  ...['169.254.169.254', '168.63.129.16', 'fd00:ec2::254'],
  ...['169.254.170.2', '169.254.170.23', 'fd00:ec2::23', '100.100.100.200', '192.0.0.192', 'fd20:ce::254'],
  ...['169.254.42.42', 'fd00:42::42', '169.254.0.23'],
]);

/** IPv6 networks that contain IPv4 addresses of the internet: mapped (RFC 4291) and translated (NAT64, RFC 6052). */
const dressed = toList(['::ffff:0:0/96', '64:ff9b::/96']);

/**
 * The same, and translation within a network (RFC 8215) or a machine (RFC 2765), which does not lead to the internet.
 */
const disguised = toList(['::ffff:0:0/96', '64:ff9b::/96', '64:ff9b:1::/96', '::ffff:0:0:0/96']);

/** The only IPv6 range of the public internet (IANA, IPv6 address space). */
const internet = toList(['2000::/3']);

/** IPv4 ranges that are not on the public internet (IANA, special-purpose address registries). */
const closed = toList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
