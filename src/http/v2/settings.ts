// Settings that admins change while the service runs.
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { ClockBody, ClockSchema, GuestAccessBody, GuestAccessSchema } from '../schemas/settings-schemas.ts';
import { answerDone } from '../server/preference.ts';
import { conflict, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { parseTimeField } from './field-values.ts';

const tags = ['Settings'];

export function registerSettings(app: TypedApp, { guestAccess, clockConfirmation }: Services): void {
  registerClock(app, clockConfirmation);
  app.get(
    '/settings/guest-access',
    {
      schema: {
        tags,
        operationId: 'getGuestAccess',
        summary: 'Read what callers without a token may do',
        description: 'For admins, with a token.',
        response: { 200: GuestAccessSchema, ...refusals },
      },
    },
    (request) => {
      const { access, isFixed, isAnswered } = guestAccess.get(request.actor);
      return { guest_access: access, fixed: isFixed, answered: isAnswered };
    },
  );

  app.put(
    '/settings/guest-access',
    {
      schema: {
        tags,
        operationId: 'setGuestAccess',
        summary: 'Choose what callers without a token may do',
        description:
          'For admins, with a token. It applies at once to HTTP and MQTT and is stored. With `none`, MQTT connections of guests are closed.',
        body: GuestAccessBody,
        response: { ...writes, ...conflict('The operator has fixed it by `DUNDUN_GUEST_ACCESS`.') },
      },
    },
    async (request, reply) => {
      await guestAccess.set(request.actor, request.body.guest_access);
      return answerDone(reply) as never;
    },
  );
}

function registerClock(app: TypedApp, clock: Services['clockConfirmation']): void {
  app.get(
    '/settings/clock',
    {
      schema: {
        tags,
        operationId: 'getClock',
        summary: 'Read the clock of the service, and whether it is in doubt',
        description: 'For admins, with a token.',
        response: { 200: ClockSchema, ...refusals },
      },
    },
    (request) => {
      const { nowMs, isInDoubt, reason } = clock.get(request.actor);
      const state = { time: formatTimestamp(nowMs), in_doubt: isInDoubt };
      return reason === undefined ? state : { ...state, reason };
    },
  );

  app.put(
    '/settings/clock',
    {
      schema: {
        tags,
        operationId: 'confirmClock',
        summary: 'Confirm that the clock of the service is right',
        description:
          'For admins, with a token. Sets nothing: where the clock shows the time that you tell, within a minute, it is trusted at once, and what waited for it goes on.',
        body: ClockBody,
        response: { ...writes, ...conflict('The clock shows another time. Set that of the machine right first.') },
      },
    },
    async (request, reply) => {
      clock.confirm(request.actor, parseTimeField(request.body.time, '/time'));
      return answerDone(reply) as never;
    },
  );
}
