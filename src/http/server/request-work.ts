// Tells the event loop monitor (base/time/event-loop-monitor.ts) which request is being worked on: when it begins, when
// its body is parsed, and when its handler begins. Pushes in the fast path take microseconds and are not noted.
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

/** Notes the request as the one that is being worked on. */
export function trackRequest(request: FastifyRequest): void {
  setCurrentWork(describe, request);
}

/** The method and the route's pattern, which contain nothing that was sent. */
function describe(request: FastifyRequest): string {
  return `${request.method} ${request.routeOptions.url ?? 'an unknown path'}`;
}
