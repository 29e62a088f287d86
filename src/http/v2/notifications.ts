// Notifications (spec 4.1, contract 7): the rules, for their author and admins.
import { type Static, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { DryRunReport } from '../../domain/notifications/rules/dry-run.ts';
import {
  type JsonObject,
  type Notification,
  type NotificationChange,
  type NotificationFields,
  statuses,
} from '../../domain/notifications/rules/notification.ts';
import { sendRecords } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import {
  DryRunBody,
  DryRunSchema,
  NotificationBody,
  NotificationIdSchema,
  NotificationParams,
  NotificationPatchBody,
  NotificationSchema,
} from '../schemas/notification-schemas.ts';
import { boundedText, textBounds } from '../schemas/text-bounds.ts';
import { textFieldOf } from '../server/bodies.ts';
import { answerDeclared, answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import {
  creates,
  overload,
  PreferHeaders,
  pageOf,
  recordPage,
  refusals,
  type TypedApp,
  writes,
} from '../server/routes.ts';
import type { Services } from '../services.ts';
import { dropNotificationNulls } from './drop-nulls.ts';
import { parseTimeField } from './field-values.ts';
import { textField } from './single-fields.ts';

const tags = ['Notifications'];

const idText = { schema: NotificationIdSchema };
const { 204: _, ...created } = creates(NotificationSchema);
const { 413: tooLarge, 415: otherType } = overload;
const tried = { 413: tooLarge, 415: otherType };

export function registerNotifications(app: TypedApp, services: Services): void {
  const { notifications } = services;
  const toRecord = (notification: Notification) =>
    toNotificationRecord(notification, { isExpired: notifications.isExpired(notification) });

  app.post(
    '/notifications',
    {
      preValidation: dropNotificationNulls,
      schema: {
        tags,
        operationId: 'createNotification',
        summary: 'Make a notification',
        description:
          'A rule: when a value comes in and its condition holds, a message is sent or an actuator set. The answer is the bare id as text, or a JSON string where `Accept` ranks `application/json` above `text/plain`. It belongs to whoever makes it; without a token to guest.',
        headers: PreferHeaders,
        body: NotificationBody,
        response: {
          200: {
            description: 'The id; committed to disk.',
            headers: { Location: { type: 'string', description: 'Path of the record.' } },
            content: { 'text/plain': idText, 'application/json': idText },
          },
          ...created,
        },
      },
    },
    async (request, reply) => {
      const id = await notifications.create(request.actor, toFields(request.body));
      const location = `/api/v2/notifications/${id}`;
      const record = async () => toRecord(await notifications.get(request.actor, id));
      return answerDeclared(request, reply as never, { location, id, record }) as never;
    },
  );

  app.get(
    '/notifications',
    {
      schema: {
        tags,
        operationId: 'listNotifications',
        summary: 'List notifications',
        description: 'Your own, in order of creation; for admins those of everybody.',
        querystring: ListQuery,
        response: {
          200: pageOf(NotificationSchema, { description: 'A page of notifications.', counted: true }),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { q, limit, offset } = request.query;
      const page = await notifications.list(request.actor, { q, limit, offset });
      setPage(request, reply, { limit, offset, total: page.total });
      const records = async function* () {
        for await (const step of page.steps) yield step.map(toRecord);
      };
      return (await sendRecords(request, reply as never, records())) as never;
    },
  );

  app.post(
    '/notifications/test',
    {
      preValidation: dropNotificationNulls,
      schema: {
        tags,
        operationId: 'testNotification',
        summary: 'Try a notification on stored values',
        description: `Says when it would have fired and what it would have sent, had it been there; nothing is sent. Name one that is there by its \`id\`, give the fields of one, or both to try it otherwise. It is tried on the oldest ${limits.dryRunDatapointsMax} datapoints of the range, at the times at which they were measured; \`expires\` and \`status\` do not matter.`,
        body: DryRunBody,
        response: { 200: DryRunSchema, ...refusals, ...tried },
      },
    },
    async (request) => {
      const { id, date_from: from, date_to: to, ...body } = request.body;
      // A dry run also works for an expired or paused rule.
      const patch = { ...toChange(body as never), status: 'active' as const, expiresMs: null };
      const range = {
        fromMs: from === undefined ? undefined : parseTimeField(from, '/date_from'),
        toMs: to === undefined ? undefined : parseTimeField(to, '/date_to'),
      };
      const report = await notifications.dryRun(request.actor, { id, patch, ...range });
      return toReport(report) as never;
    },
  );

  app.get(
    '/notifications/:notification',
    {
      schema: {
        tags,
        operationId: 'getNotification',
        summary: 'Read a notification',
        description: 'For its author and admins.',
        params: NotificationParams,
        response: { 200: NotificationSchema, ...refusals },
      },
    },
    async (request) => toRecord(await notifications.get(request.actor, request.params.notification)) as never,
  );

  app.patch(
    '/notifications/:notification',
    {
      schema: {
        tags,
        operationId: 'updateNotification',
        summary: 'Change a notification',
        description: 'What is not named stays as it is. For its author and admins.',
        params: NotificationParams,
        body: NotificationPatchBody,
        response: writes,
      },
    },
    async (request, reply) => {
      await notifications.update(request.actor, request.params.notification, toChange(request.body));
      return answerDone(reply) as never;
    },
  );

  app.put(
    '/notifications/:notification/status',
    {
      schema: {
        tags,
        operationId: 'setNotificationStatus',
        summary: 'Pause or restart a notification',
        params: NotificationParams,
        body: textField('`active` or `inactive`.', 'inactive', textBounds.word),
        response: writes,
      },
    },
    async (request, reply) => {
      await notifications.setStatus(request.actor, request.params.notification, toStatus(request.body));
      return answerDone(reply) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/notifications/:notification',
    operationId: 'deleteNotification',
    summary: 'Delete a notification',
    params: NotificationParams,
    remove: (actor, { notification }) => notifications.remove(actor, notification),
  });
}

const ListQuery = Type.Object({
  q: Type.Optional(
    boundedText(limits.filterCharsMax, {
      description:
        'Filter as for devices: `status==active`, `condition.devices==field-3`, `times_sent>0`, `expires<2036-01-01T00:00:00Z`.',
    }),
  ),
  ...recordPage('Notifications'),
});

function toFields(body: NotificationBody): NotificationFields {
  const { description, condition, action, status = 'active', throttling: throttlingS = 0, expires } = body;
  return {
    condition: condition as JsonObject,
    action: action as JsonObject,
    status,
    throttlingS,
    ...(description === undefined ? {} : { description }),
    ...(expires === undefined ? {} : { expiresMs: parseTimeField(expires, '/expires') }),
    ...(body.hysteresis === undefined ? {} : { hysteresis: body.hysteresis }),
    ...(body.for === undefined ? {} : { forS: body.for }),
    ...(body.silence === undefined ? {} : { silenceS: body.silence }),
    ...(body.recovery_message === undefined ? {} : { recoveryMessage: body.recovery_message }),
  };
}

function toChange(body: Static<typeof NotificationPatchBody>): NotificationChange {
  const { description, condition, action, status, throttling: throttlingS, expires } = body;
  const expiresMs = typeof expires === 'string' ? parseTimeField(expires, '/expires') : expires;
  const { hysteresis, for: forS, silence: silenceS, recovery_message: recoveryMessage } = body;
  const beyond = { hysteresis, forS, silenceS, recoveryMessage };
  const change = { description, condition, action, status, throttlingS, expiresMs, ...beyond };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function toReport({ firings, datapoints, isCut }: DryRunReport): object {
  return {
    firings: firings.map(({ kind, atMs, device, sensor, message, setting }) => ({
      timestamp: formatTimestamp(atMs),
      ...{ kind, device_id: device, sensor_id: sensor, message, actuation: setting },
    })),
    datapoints,
    complete: !isCut,
  };
}

function toStatus(body: unknown): (typeof statuses)[number] {
  const text = textFieldOf(body, 'status', textBounds.word).trim();
  const status = statuses.find((known) => known === text);
  if (status !== undefined) return status;
  throw new Refusal('malformed', `The status is active or inactive, not ${JSON.stringify(text.slice(0, 40))}.`, {
    faults: [{ pointer: '/status', detail: `must be one of ${statuses.join(', ')}` }],
  });
}

/** A rule as it is read; `isExpired`: whether its time is over. */
export function toNotificationRecord(rule: Notification, { isExpired }: { readonly isExpired: boolean }): object {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : formatTimestamp(ms));
  const lastNotification = time(rule.lastNotificationMs);
  return {
    id: rule.id,
    owner: rule.author,
    description: rule.description,
    condition: rule.condition,
    action: rule.action,
    throttling: rule.throttlingS,
    hysteresis: rule.hysteresis,
    for: rule.forS,
    silence: rule.silenceS,
    recovery_message: rule.recoveryMessage,
    expires: time(rule.expiresMs),
    expired: isExpired || undefined,
    status: rule.status,
    times_sent: rule.timesSent,
    last_notification: lastNotification,
    last_notif: lastNotification,
    last_success: time(rule.lastSuccessMs),
    last_success_code: rule.lastSuccessCode,
    last_failure: time(rule.lastFailureMs),
    last_failure_code: rule.lastFailureCode,
    last_failure_reason: rule.lastFailureReason,
  };
}
