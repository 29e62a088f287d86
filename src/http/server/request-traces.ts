// A span for each request that Fastify answers, named by its method and the route's pattern, which contain nothing that was
// sent. What the caller says of its own trace is believed from trusted proxies alone: else a stranger would choose what is traced.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TrustedProxies } from '../../base/network/trusted-proxies.ts';
import type { RequestSpan, Tracing } from '../../base/tracing.ts';

export function traceRequests(
  app: FastifyInstance,
  { tracing, proxies }: { readonly tracing: Tracing | undefined; readonly proxies: TrustedProxies },
): void {
  if (tracing === undefined) return;
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('onRequest', (request, reply, done) => {
    const { socket, headers, method } = request.raw;
    const traceparent = headers['traceparent'];
    const span = tracing.request(
      { name: method ?? 'HTTP', kind: 'server', attributes: { 'http.request.method': request.method } },
      typeof traceparent === 'string' && proxies.trusts(socket.remoteAddress) ? traceparent : undefined,
    );
    if (span === undefined) return done();
    spans.set(request, span);
    // Also where the client goes before it has its answer.
    reply.raw.once('close', () => {
      const route = request.routeOptions.url;
      const { statusCode, writableFinished } = reply.raw;
      span.end(
        route === undefined ? request.method : `${request.method} ${route}`,
        { 'http.response.status_code': statusCode, ...(route !== undefined && { 'http.route': route }) },
        statusCode >= 500 || !writableFinished,
      );
    });
    span.run(done);
  });
  // The body was read on the turn of its connection, which knows nothing of the request.
  app.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined) done();
    else span.run(done);
  });
}
