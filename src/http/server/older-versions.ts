// What an older version of the API says of itself, so that what holds everywhere (errors, the reference) can speak for
// it. A version adds itself when its routes are registered; errors.ts and openapi.ts read it.
import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface OlderVersion {
  /** What its paths begin with, such as `/api/v1`. */
  readonly prefix: string;
  /** The groups of its operations in the reference. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Ways to sign in that no newer version has, as OpenAPI describes them. */
  readonly securitySchemes: { readonly [name: string]: object };
  /** The body of its errors, JSON. */
  errorBody(problem: { readonly title: string; readonly detail: string }): object;
}

declare module 'fastify' {
  interface FastifyInstance {
    olderVersions: OlderVersion[];
  }
}

export function prepareOlderVersions(app: FastifyInstance): void {
  app.decorate('olderVersions', []);
}

/** The older version that a request is made to, if it is; a path may be written with escapes, that of a route is not. */
export function olderVersionOf(request: FastifyRequest): OlderVersion | undefined {
  return olderVersionAt(request.server, [request.url, request.routeOptions?.url ?? '']);
}

/** The older version that one of the paths belongs to. */
export function olderVersionAt(app: FastifyInstance, paths: readonly string[]): OlderVersion | undefined {
  return app.olderVersions.find(({ prefix }) =>
    paths.some((path) => path.startsWith(prefix) && /^([/?]|$)/.test(path.slice(prefix.length))),
  );
}
