// Writes dashboard/src/api/schema.generated.ts: the types of version 2 from the document that the server gives at
// /openapi.json. Committed, so that building the dashboard needs no server; `--check` (part of `npm run check`) fails
// when it is not what the server says today.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import openapiTS from 'openapi-typescript';
import pino from 'pino';
import ts from 'typescript';
import { parseConfig } from '../src/config/config.ts';
import { startServer } from '../src/server.ts';

const file = new URL('../dashboard/src/api/schema.generated.ts', import.meta.url);

const types = await render(await readDocument());
if (process.argv.includes('--check')) {
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed !== types) {
    console.error('The API has changed since its types were made: run `node scripts/update-api-types.ts`.');
    process.exitCode = 1;
  }
} else {
  await writeFile(file, types);
}

async function readDocument(): Promise<{ paths: Record<string, unknown> }> {
  const folder = await mkdtemp(join(tmpdir(), 'dundun-types-'));
  const env = { DUNDUN_HTTP_HOST: '127.0.0.1', DUNDUN_HTTP_PORT: '0', DUNDUN_MQTT_PORT: '0', DUNDUN_DATA_DIR: folder };
  const server = await startServer(parseConfig(env), { log: pino({ level: 'silent' }) });
  try {
    const answer = await fetch(`http://127.0.0.1:${server.ports.http}/openapi.json`);
    return (await answer.json()) as { paths: Record<string, unknown> };
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Without the older version, which the dashboard does not speak, and without descriptions, which only /docs shows. */
async function render(document: { paths: Record<string, unknown> }): Promise<string> {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => !path.startsWith('/api/v1/')));
  const nodes = await openapiTS({ ...document, paths } as never);
  const printer = ts.createPrinter({ removeComments: true });
  const source = ts.createSourceFile('schema.ts', '', ts.ScriptTarget.Latest);
  const text = nodes.map((node) => printer.printNode(ts.EmitHint.Unspecified, node, source)).join('\n');
  return `// Written by scripts/update-api-types.ts from the server's /openapi.json; not edited by hand.\n${text}\n`;
}
