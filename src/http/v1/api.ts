// Versions 1.1 and 1.0 of the API (spec 4.3, 5 and 9, contract 9) under /api/v1: the same records under older names.
// This folder and its call in http-server.ts are the whole implementation; removing both removes these versions.
import assert from 'node:assert/strict';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { OlderVersion } from '../server/older-versions.ts';
import type { TypedApp } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { registerAuth } from './auth.ts';
import { domainTag } from './description.ts';
import { inOlderWords } from './routes.ts';
import { toOlderProse } from './words.ts';

const sameThings =
  'Versions 1 and 1.1, for those who speak them already: the same records as in version 2, where a sensor is called a device and a measurement a sensor. Every success answers 200. A path may have `/domains/{domain}` behind `/api/v1`, as in version 1.0: that domain is ignored, and what is created so has the domain `default`.';

const version1: OlderVersion = {
  prefix: '/api/v1',
  tags: [
    { name: 'v1 Authentication', description: 'Tokens that are good for one minute, and what a caller may do.' },
    { name: 'v1 Users', description: 'Accounts, as in version 2.' },
    { name: 'v1 Sensors', description: sameThings },
    { name: 'v1 Measurements', description: 'What a sensor measures; in version 2 these are called sensors.' },
    { name: 'v1 Datapoints', description: 'The values of measurements.' },
    { name: 'v1 Notifications', description: 'Rules; what version 2 calls `action` is `notification` here.' },
    { name: 'v1 Messages', description: 'Messages, as in version 2.' },
    domainTag,
  ],
  securitySchemes: {
    basic: { type: 'http', scheme: 'basic', description: 'Username and password, for `GET /api/v1/auth/token` alone.' },
  },
  errorBody: ({ title, detail }) => ({ error: title, description: toOlderProse(detail) }),
};

/** @param registerNewest registers the routes of version 2, which these translate. */
export async function registerV1(
  root: FastifyInstance,
  services: Services,
  registerNewest: (app: TypedApp, services: Services) => void,
): Promise<void> {
  root.olderVersions.push(version1);
  await root.register(
    (scope, _options, done) => {
      const app = scope.withTypeProvider<TypeBoxTypeProvider>();
      registerAuth(app, services);
      const translated = inOlderWords(app);
      registerNewest(translated.app, services);
      scope.addHook('onReady', async () => {
        assert.deepEqual([...translated.missing], [], 'version 2 has every route that version 1 has');
      });
      done();
    },
    { prefix: version1.prefix },
  );
}
