// What the page says before its script is there, which takes seconds on a weak link: a word in the language of the browser, in the
// colours that were chosen. In the page itself, so that it comes with the first packet; the same script fetches at once
// what the first file would ask for when it has come: the catalogue of another language, the session, the facts.
import type { Plugin } from 'vite';
import { shared as ar } from '../src/strings/ar/shared.ts';
import { shared as en } from '../src/strings/en/shared.ts';
import { shared as es } from '../src/strings/es/shared.ts';
import { shared as fr } from '../src/strings/fr/shared.ts';
import { shared as pt } from '../src/strings/pt/shared.ts';
import { shared as sw } from '../src/strings/sw/shared.ts';

const words = Object.entries({ en, fr, es, pt, sw, ar }).map(([language, { loading }]) => [language, loading] as const);

/** Fills in `%FIRST%` of index.html, and has the stylesheet come behind what is said first, which does not wait for it. */
export function firstWords(): Plugin {
  return {
    name: 'dundun-first-words',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle = {} }) => {
        const files = Object.keys(bundle);
        const first = words.map(([language, loading]) => {
          const file = files.find((name) => new RegExp(`^assets/${language}-[^/]+\\.js$`).test(name));
          return [language, file === undefined ? [loading] : [loading, `/${file}`]];
        });
        const json = JSON.stringify(Object.fromEntries(first)).replaceAll('&', '&amp;').replaceAll('"', '&quot;');
        const styles = html.match(/<link rel="stylesheet"[^>]*>/g) ?? [];
        const without = styles.reduce((text, link) => text.replace(link, ''), html);
        return without.replace('%FIRST%', () => json).replace('</body>', () => `${styles.join('')}\n  </body>`);
      },
    },
  };
}
