// The interactive reference at /docs: Scalar's renderer, served from here, so that the page works offline and calls no
// other host (docs/decisions/0003). Called by http-server. Its headers apply to this page only.
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { encodingOf } from '../server/accepted-encoding.ts';
import { referencePage } from './reference-page.ts';

const hidden = { hide: true } as never;
const config = { isReference: true, takesBasic: true };

/** More than a megabyte, so once for all servers of a process. */
let scriptRead: Promise<{ readonly script: Buffer; readonly scriptPath: string }> | undefined;

async function readScript(): Promise<{ readonly script: Buffer; readonly scriptPath: string }> {
  const script = await readFile(new URL('vendor/scalar/standalone.js.gz', import.meta.url));
  const hash = createHash('sha256').update(script).digest('base64url').slice(0, 16);
  return { script, scriptPath: `/docs/reference-${hash}.js` };
}

export async function registerDocs(app: FastifyInstance): Promise<void> {
  scriptRead ??= readScript();
  const { script, scriptPath } = await scriptRead;
  // Kept from the first request without gzip on: decompressing takes 3 MB and some 30 ms each time.
  let plain: Promise<Buffer> | undefined;
  const page: FastifyPluginAsync = async (scope) => {
    await registerHeaders(scope);
    scope.get('/docs', { schema: hidden, config }, async (_request, reply) => {
      const nonce = randomBytes(16).toString('base64');
      await reply.helmet({ contentSecurityPolicy: contentPolicy(nonce) });
      reply.type('text/html; charset=utf-8').header('cache-control', 'no-store').serializer(String);
      return reply.send(referencePage({ scriptPath, nonce }));
    });
    scope.get(scriptPath, { schema: hidden, config }, async (request, reply) => {
      reply
        .type('text/javascript; charset=utf-8')
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('vary', 'Accept-Encoding');
      if (encodingOf(request.headers['accept-encoding'], ['gzip']) === 'identity') {
        plain ??= promisify(gunzip)(script);
        return reply.send(await plain);
      }
      return reply.header('content-encoding', 'gzip').send(script);
    });
  };
  await app.register(page);
}

async function registerHeaders(scope: FastifyInstance): Promise<void> {
  await scope.register(helmet, {
    global: false,
    // HSTS is up to the operator (DUNDUN_HSTS).
    strictTransportSecurity: false,
    // On plain HTTP browsers ignore these two and log warnings.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
  });
}

/** Allows one script, and connections to this service. Scalar writes styles into the page itself. */
function contentPolicy(nonce: string) {
  return {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: [`'nonce-${nonce}'`],
      styleSrc: ["'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  };
}
