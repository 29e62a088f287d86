// Parses Accept-Encoding (RFC 9110 section 12.5.3).

/** Whether the header names the encoding, or `*`, with a weight above zero. */
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
