// Addresses that messages are posted to. What is an address at all is decided here; where it leads, and whether that is
// allowed, is looked at when a message goes out.

/** The address in its normal spelling; undefined where it is no http(s) address, or holds a name and password. */
export function parseWebhookAddress(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' && url.hash === '' ? url : undefined;
}
