// Devices handed over to the caller (contract 3), which can be given back, or shared again, as they were.
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { Handover } from '../../domain/devices/handover-store.ts';
import { grantNamesOfScopes } from '../../domain/scopes.ts';
import { pageFrom } from '../lists/paging.ts';
import { DeviceParams } from '../schemas/device-schemas.ts';
import { KeepBody, ReceivedSchema } from '../schemas/permission-schemas.ts';
import { answerDone } from '../server/preference.ts';
import { AllOrPage, conflict, pageOf, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';

const tags = ['Sharing'];

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
      return pageFrom(request, reply as never, all, request.query).map(toReceivedRecord) as never;
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

/** A device that was handed over, as it is read. */
export function toReceivedRecord({ device, deviceName, former, atMs, shares }: Handover) {
  return {
    device,
    ...(deviceName === undefined ? {} : { name: deviceName }),
    ...(former === undefined ? {} : { from: former.username }),
    date_received: formatTimestamp(atMs),
    expires: formatTimestamp(atMs + limits.handoverDays * 24 * 3_600_000),
    shares: shares.map(({ username, scopes }) => ({ username, scopes: grantNamesOfScopes(scopes) })),
  };
}
