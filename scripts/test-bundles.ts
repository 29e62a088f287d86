// Puts test files together that can share a process, one after the other, so that the service is loaded once for many of
// them. Used by test.ts for `npm test -- fast`; `npm test` gives every file a process of its own.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const bundleFiles = 8;

/** Writes the bundles into the folder. @returns the bundles, and the files that need a process of their own. */
export function inBundles(files: readonly string[], folder: string): string[] {
  const shared = files.filter(canShare);
  const bundles: string[] = [];
  for (let at = 0; at < shared.length; at += bundleFiles) {
    const bundle = join(folder, `bundle-${bundles.length + 1}.test.mjs`);
    writeFileSync(bundle, textOf(shared.slice(at, at + bundleFiles)));
    bundles.push(bundle);
  }
  return [...bundles, ...files.filter((file) => !canShare(file))];
}

/** Whether the file is about a whole server, and changes nothing that those behind it in the process would meet. */
function canShare(file: string): boolean {
  const text = readFileSync(file, 'utf8');
  return text.includes("/test-server.ts'") && !/Object\.assign\(limits|\bmock\b|process\.env\b/.test(text);
}

/** Each file is a suite, so that its hooks are its own; node:test runs suites in turn. */
function textOf(files: readonly string[]): string {
  const suites = files.map(
    (file) => `suite(${JSON.stringify(file)}, () => import(${JSON.stringify(pathToFileURL(resolve(file)).href)}));`,
  );
  return `import { suite } from 'node:test';\n${suites.join('\n')}\n`;
}
