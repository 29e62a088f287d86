// Devices handed over to the caller (contract 3), which can be given back, or shared again, as they were.
import { Type } from 'typebox';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { Handover } from '../../domain/devices/handover-store.ts';
import { grantNamesOfScopes } from '../../domain/scopes.ts';
import { pageFrom } from '../lists/paging.ts';
import { DeviceIdSchema, DeviceParams } from '../schemas/device-schemas.ts';
import { UsernameSchema } from '../schemas/field-schemas.ts';
import { ShareSchema } from '../schemas/permission-schemas.ts';
import { answerDone } from '../server/preference.ts';
import { AllOrPage, conflict, pageOf, refusals, type Services, type TypedApp, writes } from '../server/routes.ts';

const tags = ['Sharing'];

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2016-06-08T18:20:27Z'] });

const ReceivedSchema = Type.Object(
  {
    device: DeviceIdSchema,
    name: Type.Optional(Type.String({ description: 'Name of the device.', examples: ['Field 3'] })),
    from: Type.Optional(UsernameSchema),
    date_received: time('When it was handed over, UTC.'),
    expires: time('Until when it can be given back, or its shares brought back, UTC.'),
    shares: Type.Array(ShareSchema, { description: 'The shares that it had before; they have ended.' }),
  },
  {
    title: 'Received',
    description: 'A device that another user has handed over; `from` is absent if that user was removed.',
  },
);

const KeepBody = Type.Object(
  {
    shares: Type.Unsafe<'keep'>({
      type: 'string',
      enum: ['keep'],
      description: 'Restores the shares that the device had.',
      examples: ['keep'],
    }),
  },
  {
    title: 'KeepShares',
    description: 'What to do with a device that was handed over.',
    examples: [{ shares: 'keep' }],
  },
);

export function registerReceived(app: TypedApp, { handovers }: Services): void {
  app.get(
    '/users/me/received',
    {
      schema: {
        tags,
        operationId: 'listReceived',
        summary: 'List devices that you were handed',
        description: `Of the last ${limits.handoverDays} days, newest first. Needs a token.`,
        querystring: AllOrPage,
        response: { 200: pageOf(ReceivedSchema, { description: 'The devices.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const all = await handovers.listReceived(request.actor);
      return pageFrom(request, reply as never, all, request.query).map(toRecord) as never;
    },
  );

  app.put(
    '/users/me/received/:device',
    {
      schema: {
        tags,
        operationId: 'keepReceived',
        summary: 'Share a device again as its former owner did',
        description:
          'Only users who still exist get their share again. Afterwards the device cannot be given back here.',
        params: DeviceParams,
        body: KeepBody,
        response: writes,
      },
    },
    async (request, reply) => {
      await handovers.keepShares(request.actor, request.params.device);
      return answerDone(reply) as never;
    },
  );

  app.delete(
    '/users/me/received/:device',
    {
      schema: {
        tags,
        operationId: 'giveBackReceived',
        summary: 'Give a device back as it was',
        description: 'To its former owner, with the shares it had.',
        params: DeviceParams,
        response: { ...writes, ...conflict('The former owner is no user any more.') },
      },
    },
    async (request, reply) => {
      await handovers.giveBack(request.actor, request.params.device);
      return answerDone(reply) as never;
    },
  );
}

function toRecord({ device, deviceName, former, atMs, shares }: Handover) {
  return {
    device,
    ...(deviceName === undefined ? {} : { name: deviceName }),
    ...(former === undefined ? {} : { from: former.username }),
    date_received: formatTimestamp(atMs),
    expires: formatTimestamp(atMs + limits.handoverDays * 24 * 3_600_000),
    shares: shares.map(({ username, scopes }) => ({ username, scopes: grantNamesOfScopes(scopes) })),
  };
}
