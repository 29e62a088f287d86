// 405 with `Allow` for methods that a path does not have (contract 1). Such a request usually matches no route, and its path is
// looked up here. Only where it would match the route of another path (`/a/:id` beside `/a/b`) the path gets a route of its own
// that refuses the method: such routes for all paths and methods would outnumber the others, and take a tenth of the time to
// start. OPTIONS (cors.ts) asks here for the methods of a path.
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
    // Split as the router splits it, which has already refused paths that cannot be decoded.
    const path = decodeURI(url.replace(/[?#].*/s, ''));
    return ordered.find(({ pattern }) => pattern.test(path))?.allowed;
  });
  app.addHook('onRoute', (route) => {
    const known = taken.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) known.add(method);
    taken.set(route.url, known);
  });
  return (answerUnknown) => {
    // Copies the lists, because the refusals add to them.
    const all = [...taken].map(([url, known]) => new Path(url, [...known]));
    // A wildcard path (a folder of files) has no methods of its own.
    const paths = all.filter(({ url }) => !url.includes('*'));
    // A literal path takes precedence over one with a parameter.
    ordered = paths.toSorted((a, b) => a.parameters - b.parameters);
    const byDepth = Map.groupBy(all, ({ url, depth }) => (url.includes('*') ? 'any' : depth));
    for (const path of paths) {
      // Only these can overlap: to compare all pairs of paths would take a tenth of the time to start.
      const alike = [...(byDepth.get(path.depth) ?? []), ...(byDepth.get('any') ?? [])];
      refuseForOthers(app, path, alike);
    }
    refuseUnmatched(app, answerUnknown);
  };
}

class Path {
  readonly url: string;
  readonly taken: readonly string[];
  readonly pattern: RegExp;
  readonly #steps: readonly string[];

  constructor(url: string, taken: readonly string[]) {
    this.url = url;
    this.taken = taken;
    this.#steps = url.split('/');
    const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    // The router takes an empty segment for a parameter, too.
    const steps = this.#steps.map((step) => (step.startsWith(':') ? '[^/]*' : literal(step)));
    this.pattern = new RegExp(`^${steps.join('/')}/?$`);
  }

  /** The value of `Allow`. */
  get allowed(): string {
    return [...this.taken, 'OPTIONS'].join(', ');
  }

  /** How many steps it has. */
  get depth(): number {
    return this.#steps.length;
  }

  get parameters(): number {
    return this.url.split('/:').length;
  }

  /** Whether one request could match both paths. */
  overlaps(other: Path): boolean {
    const [one, two] = [this.#steps, other.#steps];
    for (let at = 0; ; at += 1) {
      const a = one[at];
      const b = two[at];
      // Most steps are equal, and many pairs of paths are compared at each start.
      if (a === b && a !== undefined && !a.startsWith('*')) continue;
      if (a?.startsWith('*') || b?.startsWith('*')) return true;
      if (a === undefined || b === undefined) return a === b;
      if (!a.startsWith(':') && !b.startsWith(':')) return false;
    }
  }
}

/** Adds a route that refuses the methods which the path lacks and an overlapping path, one of those `alike`, has. */
function refuseForOthers(app: FastifyInstance, path: Path, alike: readonly Path[]): void {
  const lacking = usualMethods.filter((method) => !path.taken.includes(method));
  const others = alike.filter((other) => other !== path && other.overlaps(path));
  const missing = lacking.filter((method) => others.some(({ taken }) => taken.includes(method)));
  if (missing.length === 0) return;
  const { url, allowed } = path;
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

function refuseUnmatched(app: FastifyInstance, answerUnknown: AnswerUnknown): void {
  const answer: AnswerUnknown = (request, reply) => {
    const allowed = app.methodsAt(request.url);
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
