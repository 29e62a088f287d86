/** A text that no other has, of 128 random bits. crypto.randomUUID is missing on plain addresses of a local network. */
export function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
