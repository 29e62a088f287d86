// The baseline of REST: a bare Fastify that takes the same body at the same path, checks it against the same schema,
// stores nothing and answers 204. Started by sections/rest.ts in a process of its own.
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { PushBody } from '../../src/http/schemas/datapoint-schemas.ts';

// The schema carries notes for the reference as well, which strict mode would refuse.
const app = Fastify({ logger: false, ajv: { customOptions: { strict: false } } });
app.post('/api/v2/devices/:device/sensors/:sensor/values', { schema: { body: PushBody } }, (_request, reply) => {
  reply.code(204).send();
});
await app.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ msg: 'ready', http: (app.server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
