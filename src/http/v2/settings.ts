// Settings that admins change while the service runs.
import { Type } from 'typebox';
import { answerDone } from '../server/preference.ts';
import { conflict, refusals, type Services, type TypedApp, writes } from '../server/routes.ts';

const tags = ['Settings'];

const accessField = Type.Union([Type.Literal('full'), Type.Literal('push'), Type.Literal('none')], {
  description:
    'What callers without a token may do. `full`: create devices, and change what guest owns. `push`: create devices, push values and read public records, but change nothing. `none`: nothing.',
  examples: ['push'],
});

const GuestAccessBody = Type.Object(
  { guest_access: accessField },
  {
    title: 'GuestAccessChoice',
    description: 'What callers without a token may do.',
    examples: [{ guest_access: 'push' }],
  },
);

const GuestAccessSchema = Type.Object(
  {
    guest_access: accessField,
    fixed: Type.Boolean({
      description: 'True where the operator has set it by `DUNDUN_GUEST_ACCESS`; then it cannot be changed here.',
      examples: [false],
    }),
    answered: Type.Boolean({
      description: 'True once an admin or the operator has chosen; until then it is `full`.',
      examples: [true],
    }),
  },
  {
    title: 'GuestAccess',
    description: 'What callers without a token may do, and who has set it.',
    examples: [{ guest_access: 'push', fixed: false, answered: true }],
  },
);

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
