// What the scripts of a page weigh on their way: the bytes of the bodies as the server sends them.
import { request } from 'node:http';
import type { Page } from 'playwright-core';

/** Gathers the addresses of all scripts a page loads from now on. */
export function gatherScripts(page: Page): ReadonlySet<string> {
  const urls = new Set<string>();
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') urls.add(response.url());
  });
  return urls;
}

/** Bytes of all of them in this encoding. @throws Error where the server does not send it. */
export async function weigh(urls: Iterable<string>, encoding: 'gzip' | 'br'): Promise<number> {
  let bytes = 0;
  for (const url of urls) bytes += await bytesOf(url, encoding);
  return bytes;
}

function bytesOf(url: string, encoding: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { 'accept-encoding': encoding } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () => {
        if (response.headers['content-encoding'] === encoding) resolve(bytes);
        else reject(new Error(`${url} does not come with ${encoding}.`));
      });
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}
