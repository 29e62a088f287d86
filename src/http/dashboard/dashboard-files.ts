// The files of the built dashboard in memory, with their precompressed forms, so that requests need no disk and no
// compression. Read once at start by server.ts; some hundred kilobytes.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Encoding, encodingOf } from '../server/accepted-encoding.ts';

export interface Asset {
  readonly type: string;
  /** Its name changes with its content. */
  readonly isHashed: boolean;
  readonly variants: { readonly identity: Buffer; readonly br?: Buffer; readonly gzip?: Buffer };
}

export interface DashboardFiles {
  /** index.html, with `%NONCE%` in place of the request's nonce. */
  readonly page: string;
  /** By path, such as `/assets/main-Bx3.js`. */
  readonly assets: ReadonlyMap<string, Asset>;
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  json: 'application/json; charset=utf-8',
};

/** Undefined where the dashboard is not built. */
export async function readDashboard(folder: string): Promise<DashboardFiles | undefined> {
  const page = await readFile(join(folder, 'index.html'), 'utf8').catch(() => undefined);
  if (page === undefined) return undefined;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const known = new Set(files);
  const assets = new Map<string, Asset>();
  for (const file of files) {
    const type = types[file.split('.').at(-1) ?? ''];
    if (type === undefined) continue;
    const path = `/${relative(folder, file).split(sep).join('/')}`;
    const read = async (ending: string) => (known.has(file + ending) ? await readFile(file + ending) : undefined);
    const [identity, br, gzip] = await Promise.all([readFile(file), read('.br'), read('.gz')]);
    const variants = { identity, ...(br === undefined ? {} : { br }), ...(gzip === undefined ? {} : { gzip }) };
    assets.set(path, { type, isHashed: path.startsWith('/assets/'), variants });
  }
  return { page, assets };
}

/** The form that the browser prefers; the smallest where it does not say. */
export function encodingFor(header: string | string[] | undefined, variants: Asset['variants']): Encoding {
  return encodingOf(
    header,
    (['br', 'gzip'] as const).filter((encoding) => variants[encoding] !== undefined),
  );
}
