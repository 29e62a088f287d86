// Notes for the watch over the event loop (base/time/event-loop-monitor.ts) which request is worked on: where it begins, where its body
// is parsed, and where its handler begins. A push in the fast path takes microseconds and is not noted.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { setCurrentWork } from '../../base/time/event-loop-monitor.ts';

export function trackRequests(app: FastifyInstance): void {
  const note = (request: FastifyRequest, _reply: unknown, done: () => void) => {
    trackRequest(request);
    done();
  };
  app.addHook('onRequest', note);
  app.addHook('preHandler', note);
}

export function trackRequest(request: FastifyRequest): void {
  setCurrentWork(describe, request);
}

/** The method and the pattern of the path, which holds nothing of what was sent. */
function describe(request: FastifyRequest): string {
  return `${request.method} ${request.routeOptions.url ?? 'an unknown path'}`;
}
