// Parses Accept-Encoding (RFC 9110 section 12.5.3).

export type Encoding = 'br' | 'gzip' | 'identity';

/**
 * The encoding with the highest weight among those that are offered and among none (`identity`); where weights are equal, the
 * first that is offered. Who sends no header gets the answer as it is; so does who takes nothing that there is, because an answer
 * is more use than a refusal.
 */
export function encodingOf<Offered extends Encoding>(
  header: string | string[] | undefined,
  offered: readonly Offered[],
): Offered | 'identity' {
  const weights = weightsOf(header);
  let best: Offered | 'identity' = 'identity';
  // Compressed or not is the same to whoever does not say, so it is compressed.
  let bestWeight = weights.get('identity') ?? 0;
  for (const encoding of offered) {
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0;
    if (weight > bestWeight || (weight === bestWeight && weight > 0 && best === 'identity')) {
      best = encoding;
      bestWeight = weight;
    }
  }
  return best;
}

/** Weights by name, in lower case; the first mention of a name counts. */
function weightsOf(header: string | string[] | undefined): Map<string, number> {
  const weights = new Map<string, number>();
  for (const entry of String(header ?? '').split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    if (name !== '' && !weights.has(name)) weights.set(name, weightOf(parameters));
  }
  return weights;
}

/** The weight `q`; 1 where there is none, or none that can be read. */
function weightOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=').map((part) => part.trim());
    if (name === 'q' && /^[01](\.\d{0,3})?$/.test(value)) return Math.min(1, Number(value));
  }
  return 1;
}
