// Whether a client takes an encoding of content, by its Accept-Encoding (RFC 9110 section 12.5.3); read entry by entry.
// Called where files are served that were compressed beforehand.

/** True where the header names the encoding, or all by `*`, and does not rule it out by a weight of zero. */
export function takesEncoding(header: string | string[] | undefined, encoding: string): boolean {
  let takesAny = false;
  for (const entry of String(header ?? '').split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    const isTaken = !parameters.some(isZeroWeight);
    if (name === encoding) return isTaken;
    if (name === '*') takesAny = isTaken;
  }
  return takesAny;
}

/** `q=0` with up to three more zeros behind a point. */
function isZeroWeight(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=').map((part) => part.trim());
  return name === 'q' && value !== '' && Number(value) === 0;
}
