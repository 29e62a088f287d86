// 405 with `Allow`: every path that has a route answers the methods it does not take (contract 1). The usual ones have
// routes for it; all others (TRACE, PROPFIND and some thirty more) find no route, and the path is looked up here. OPTIONS
// (cors.ts) asks here what a path takes.
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { answerWrongMethod } from './errors.ts';

const usualMethods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that a path takes, as `Allow` says it; undefined where there is no such path. */
    methodsAt(url: string): string | undefined;
  }
}

type AnswerUnknown = (request: FastifyRequest, reply: FastifyReply) => void;

/** Watches routes being added; the function given back adds the refusals for what is missing, and for unknown paths. */
export function watchMethods(app: FastifyInstance): (answerUnknown: AnswerUnknown) => void {
  const taken = new Map<string, Set<string>>();
  let ordered: readonly Path[] = [];
  app.decorate('methodsAt', (url) => {
    if (url === '*') return [...usualMethods, 'OPTIONS'].join(', ');
    const path = url.replace(/\?.*/s, '');
    return ordered.find(({ pattern }) => pattern.test(path))?.allowed;
  });
  app.addHook('onRoute', (route) => {
    const known = taken.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) known.add(method);
    taken.set(route.url, known);
  });
  return (answerUnknown) => {
    // A path that ends in a wildcard (a folder of files) has no methods of its own. Copies, since refusals are routes.
    const paths = [...taken].filter(([url]) => !url.includes('*')).map(([url, known]) => new Path(url, [...known]));
    // A path spelled out is more to the point than one with a parameter in its place.
    ordered = paths.toSorted((a, b) => a.parameters - b.parameters);
    for (const path of paths) refuseMissing(app, path);
    refuseUnusual(app, answerUnknown);
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

function refuseUnusual(app: FastifyInstance, answerUnknown: AnswerUnknown): void {
  const answer: AnswerUnknown = (request, reply) => {
    const isUsual = usualMethods.some((method) => method === request.method);
    const allowed = isUsual ? undefined : app.methodsAt(request.url);
    if (allowed === undefined) answerUnknown(request, reply);
    else if (request.method === 'OPTIONS') reply.code(204).header('allow', allowed).send();
    else answerWrongMethod(request, reply, allowed);
  };
  app.setNotFoundHandler(answer);
  app.addHook('onRequest', (request, reply, done) => {
    // Before Fastify finds fault with a body, or with its lack, that nobody would read.
    if (request.is404) answer(request, reply);
    else done();
  });
}
