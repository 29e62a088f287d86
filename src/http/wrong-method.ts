// 405 with `Allow`: every path that has a route answers the methods it does not take (contract 1). The usual ones have
// routes for it; all others (TRACE, PROPFIND and some thirty more) find no route, and the path is looked up here.
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { answerWrongMethod } from './errors.ts';

const usualMethods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

type AnswerUnknown = (request: FastifyRequest, reply: FastifyReply) => void;

/** Watches routes being added; the function given back adds the refusals for what is missing, and for unknown paths. */
export function watchMethods(app: FastifyInstance): (answerUnknown: AnswerUnknown) => void {
  const taken = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    const known = taken.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) known.add(method);
    taken.set(route.url, known);
  });
  return (answerUnknown) => {
    // A path that ends in a wildcard (a folder of files) has no methods of its own. Copies, since refusals are routes.
    const paths = [...taken].filter(([url]) => !url.includes('*')).map(([url, known]) => new Path(url, [...known]));
    for (const path of paths) refuseMissing(app, path);
    refuseUnusual(app, paths, answerUnknown);
  };
}

class Path {
  readonly url: string;
  readonly taken: readonly string[];
  readonly pattern: RegExp;

  constructor(url: string, taken: readonly string[]) {
    this.url = url;
    this.taken = taken;
    const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const steps = url.split('/').map((step) => (step.startsWith(':') ? '[^/]+' : literal(step)));
    this.pattern = new RegExp(`^${steps.join('/')}/?$`);
  }

  /** What `Allow` says. */
  get allowed(): string {
    return [...this.taken, 'OPTIONS'].join(', ');
  }

  get parameters(): number {
    return this.url.split('/:').length;
  }
}

function refuseMissing(app: FastifyInstance, { url, taken, allowed }: Path): void {
  const missing = usualMethods.filter((method) => !taken.includes(method));
  if (missing.length === 0) return;
  app.route({
    method: missing,
    url,
    schema: { hide: true } as never,
    config: { isOpen: true },
    exposeHeadRoute: false,
    // The refusal comes before the body is looked at.
    onRequest: (request, reply) => answerWrongMethod(request, reply, allowed),
    handler: (request, reply) => answerWrongMethod(request, reply, allowed),
  });
}

function refuseUnusual(app: FastifyInstance, paths: readonly Path[], answerUnknown: AnswerUnknown): void {
  // A path spelled out is more to the point than one with a parameter in its place.
  const ordered = paths.toSorted((a, b) => a.parameters - b.parameters);
  app.setNotFoundHandler((request, reply) => {
    const isUsual = usualMethods.some((method) => method === request.method);
    const path = request.url.replace(/\?.*/s, '');
    const found = isUsual ? undefined : ordered.find(({ pattern }) => pattern.test(path));
    if (found === undefined) answerUnknown(request, reply);
    else answerWrongMethod(request, reply, found.allowed);
  });
}
