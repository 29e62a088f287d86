// Parses webhook addresses. Where an address leads, and whether that is allowed, is checked when a message is sent.

/** The normalized address; undefined where it is no http(s) address, or contains a name and password. */
export function parseWebhookAddress(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' && url.hash === '' ? url : undefined;
}
