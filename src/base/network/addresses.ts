// Canonical network addresses as keys: the same client has the same key, however its address is written. Used wherever
// something is counted by address. A key has at most 45 characters, whatever the text.
import { isIPv4, isIPv6 } from 'node:net';

/** The key of everything that is not an address. */
const unknownAddress = 'unknown';

const groupsOfNetwork = 4;

/**
 * An IPv4 address, also one mapped into IPv6, as it is; an IPv6 address as its /64 network (`2001:db8:0:1::/64`),
 * because a subscriber usually has a whole /64; zone ids are dropped. Anything else: `unknown`.
 */
export function canonicalAddress(text: string | undefined): string {
  if (text === undefined || text.length > 100) return unknownAddress;
  if (isIPv4(text)) return text;
  const zone = text.indexOf('%');
  const address = zone < 0 ? text : text.slice(0, zone);
  if (!isIPv6(address)) return unknownAddress;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return ipv4Of(groups[6] ?? 0, groups[7] ?? 0);
  const network = groups.slice(0, groupsOfNetwork).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [before = '', after] = address.split('::');
  const head = partsOf(before);
  if (after === undefined) return head;
  const tail = partsOf(after);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

function partsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function ipv4Of(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
