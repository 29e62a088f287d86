// Settings that admins change while the service runs.
import { GuestAccessBody, GuestAccessSchema } from '../schemas/settings-schemas.ts';
import { answerDone } from '../server/preference.ts';
import { conflict, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';

const tags = ['Settings'];

export function registerSettings(app: TypedApp, { guestAccess }: Services): void {
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
