// What the routes of version 2 are built from: the services they call, and what their schemas have in common.

import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import { Type } from 'typebox';
import type { Actuators } from '../../domain/actuators/actuators.ts';
import type { History } from '../../domain/datapoints/history.ts';
import type { Ingest } from '../../domain/datapoints/ingest.ts';
import type { Devices } from '../../domain/devices/devices.ts';
import type { DropLog } from '../../domain/devices/drop-log.ts';
import type { Sensors } from '../../domain/sensors/sensors.ts';
import type { Logins } from '../../domain/users/logins.ts';
import type { Tokens } from '../tokens.ts';
import { ProblemSchema } from './schemas.ts';

export interface Services {
  readonly devices: Devices;
  readonly sensors: Sensors;
  readonly actuators: Actuators;
  readonly ingest: Ingest;
  readonly history: History;
  readonly drops: DropLog;
  readonly logins: Logins;
  readonly tokens: Tokens;
}

/** A Fastify instance that takes its types from TypeBox schemas. */
export type TypedApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: ProblemSchema } },
});

/** The answers any route may give when it refuses. */
export const refusals = {
  400: problem('Malformed: `errors` names the fields.'),
  401: problem('The token is not valid.'),
  403: problem('You lack a right.'),
  404: problem('There is no such record.'),
};

export const overload = {
  413: problem('Larger than a bound.'),
  503: problem('The queue is full or the disk refused; nothing was stored. `Retry-After` says when to try again.'),
};

export const noContent = Type.Null({ description: 'Done.' });
