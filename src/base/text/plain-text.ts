// Signs of Unicode that turn the direction of what stands behind them (embeddings, overrides, isolates). In a message they would
// have it read otherwise than it is written: a name that a stranger gave turns the number behind it round.

const signs = /[\u202a-\u202e\u2066-\u2069]/g;

export function plainText(text: string): string {
  return text.replace(signs, '');
}
