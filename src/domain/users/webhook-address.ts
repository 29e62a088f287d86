// Parses webhook addresses. Where an address leads, and whether that is allowed, is checked when a message is sent
// (delivery/address-guard.ts).

/** The normalized address; undefined where it is no http(s) address, contains a name or password, or has a fragment. */
export function parseWebhookAddress(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' && url.hash === '' ? url : undefined;
}
