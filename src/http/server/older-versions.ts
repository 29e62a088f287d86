// Registers what errors and the reference need to know of older API versions. A version adds itself with its routes;
// errors.ts and openapi.ts read it.
import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface OlderVersion {
  /** The prefix of its paths, such as `/api/v1`. */
  readonly prefix: string;
  /** The groups of its operations in the reference. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Authentication schemes that only it has, as in OpenAPI. */
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

/**
 * The older version that a request belongs to, if any; a request's path may contain escapes, a route's pattern does
 * not.
 */
export function olderVersionOf(request: FastifyRequest): OlderVersion | undefined {
  return olderVersionAt(request.server, [request.url, request.routeOptions?.url ?? '']);
}

/** The older version that one of the paths belongs to. */
export function olderVersionAt(app: FastifyInstance, paths: readonly string[]): OlderVersion | undefined {
  return app.olderVersions.find(({ prefix }) =>
    paths.some((path) => path.startsWith(prefix) && /^([/?]|$)/.test(path.slice(prefix.length))),
  );
}
