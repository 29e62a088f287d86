// The route that removes a record: DELETE on its path. Used by every noun whose removal needs no more than its path.
import type { Static, TSchema } from 'typebox';
import type { Actor } from '../../domain/users/user.ts';
import { answerDone } from './preference.ts';
import { type TypedApp, writes } from './routes.ts';

/** Adds the route; it answers 204 once the record is removed. */
export function registerRemoval<Params extends TSchema>(
  app: TypedApp,
  route: {
    readonly tags: readonly string[];
    readonly path: string;
    readonly operationId: string;
    readonly summary: string;
    readonly description?: string;
    readonly params: Params;
    readonly remove: (actor: Actor, params: Static<Params>) => Promise<unknown>;
  },
): void {
  const { path, remove, ...schema } = route;
  app.delete(path, { schema: { ...schema, response: writes } }, async (request, reply) => {
    await remove(request.actor, request.params as Static<Params>);
    return answerDone(reply as never) as never;
  });
}
