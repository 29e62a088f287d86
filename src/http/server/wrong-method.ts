// 405 with `Allow`: every path with a route answers the methods it lacks (contract 1). The common methods get routes;
// all others (TRACE, PROPFIND and some thirty more) match no route, and the path is looked up here. OPTIONS (cors.ts)
// asks here for a path's methods.
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { answerWrongMethod } from './errors.ts';

const usualMethods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods of a path for `Allow`; undefined where the path does not exist. */
    methodsAt(url: string): string | undefined;
  }
}

type AnswerUnknown = (request: FastifyRequest, reply: FastifyReply) => void;

/** Observes routes being added; returns a function that adds the missing refusals, and the answer to unknown paths. */
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
    // A wildcard path (a folder of files) has no methods of its own. Copies the list, because the refusals add to it.
    const paths = [...taken].filter(([url]) => !url.includes('*')).map(([url, known]) => new Path(url, [...known]));
    // A literal path takes precedence over one with a parameter.
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

  /** The value of `Allow`. */
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
    // Refused before the body is parsed.
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
    // Before Fastify reports a faulty or missing body that is not needed.
    if (request.is404) answer(request, reply);
    else done();
  });
}
