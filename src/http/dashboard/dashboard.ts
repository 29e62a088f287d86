// Serves the built dashboard: its page at `/` and at each of its own addresses that a browser requests as HTML, its
// files below /assets, and at /dashboard.json what it needs before sign-in. Called by http-server. The page may run
// scripts and styles of this service only (docs/decisions/0016); no other answer has these headers.
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Asset, type DashboardFiles, encodingFor } from './dashboard-files.ts';
import { type Listening, reachableOrigin } from './reachable-origin.ts';

const hidden = { hide: true } as never;

/** What the dashboard needs before sign-in; config/dashboard-settings.ts provides most of it. */
export interface DashboardFacts {
  readonly tiles?: { readonly url: string };
}

export interface Dashboard {
  /** Absent where it is not built. */
  readonly files: DashboardFiles | undefined;
  readonly facts: () => DashboardFacts;
  /** Where the service is. */
  readonly listening: Listening;
}

export function registerDashboard(app: FastifyInstance, { files, facts, listening }: Dashboard): void {
  app.get('/dashboard.json', { schema: hidden }, (request, reply) => {
    const reachable = reachableOrigin(request, listening);
    return reply
      .header('cache-control', 'no-store')
      .send({ version: packageJson.version, ...facts(), ...(reachable && { reachable }) });
  });
  if (files === undefined) return;
  const policy = contentPolicy(facts().tiles?.url);
  app.get('/', { schema: hidden }, (_request, reply) => sendPage(reply, files, policy));
  for (const [path, asset] of files.assets) {
    app.get(path, { schema: hidden }, (request, reply) => sendAsset(request, reply, asset));
  }
}

/**
 * Whether an unknown path is a page of the dashboard: a browser navigates to it, and it is not below a path of the API.
 */
function isPageRequest({ method, url, headers }: FastifyRequest): boolean {
  const goes = method === 'GET' || method === 'HEAD';
  return goes && /\btext\/html\b/i.test(headers.accept ?? '') && !reserved.test(url);
}

/** Paths below which an unknown one is an error or a missing file, never a page. */
const reserved = /^\/(api|docs|openapi\.json|health|metrics|mqtt|assets|dashboard\.json)([/?.]|$)/i;

/** Answers an unknown path with the page; false where there is none. */
export function answerWithPage(request: FastifyRequest, reply: FastifyReply, { files, facts }: Dashboard): boolean {
  if (files === undefined || !isPageRequest(request)) return false;
  sendPage(reply.code(200), files, contentPolicy(facts().tiles?.url));
  return true;
}

function sendPage(reply: FastifyReply, files: DashboardFiles, policy: (nonce: string) => string): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  return reply
    .type('text/html; charset=utf-8')
    .headers({
      // The nonce is valid for one page.
      'cache-control': 'no-store',
      'content-security-policy': policy(nonce),
      'referrer-policy': 'same-origin',
      'x-frame-options': 'DENY',
      vary: 'Accept',
    })
    .serializer(String)
    .send(files.page.replaceAll('%NONCE%', nonce));
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, { type, isHashed, variants }: Asset): FastifyReply {
  const encoding = encodingFor(request.headers['accept-encoding'], variants);
  reply.type(type).headers({
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'public, max-age=3600',
    vary: 'Accept-Encoding',
  });
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.send(variants[encoding]);
}

/** Allows scripts and styles of this service or with the page's nonce, and the host of the map's tiles. */
function contentPolicy(tileUrl: string | undefined): (nonce: string) => string {
  const tiles = tileUrl === undefined ? '' : ` ${originOf(tileUrl)}`;
  return (nonce) =>
    [
      "default-src 'none'",
      `script-src 'self' 'nonce-${nonce}'`,
      `style-src 'self' 'nonce-${nonce}'`,
      `img-src 'self' data: blob:${tiles}`,
      "font-src 'self'",
      "connect-src 'self'",
      "manifest-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join('; ');
}

/** `https://{s}.tiles.example/{z}/{x}/{y}.png` stands for any subdomain. */
function originOf(tileUrl: string): string {
  const { origin } = new URL(tileUrl.replace('{s}', 'wildcard-subdomain'));
  return origin.replace('wildcard-subdomain', '*');
}
