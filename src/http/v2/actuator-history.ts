// The last value of an actuator, the history of its settings, and the device's answers to them (contract 4).
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { setLinks } from '../lists/paging.ts';
import { SettingSchema } from '../schemas/actuator-setting-schemas.ts';
import { ActuatorParams } from '../schemas/device-schemas.ts';
import { anyJson } from '../schemas/field-schemas.ts';
import { toSettingRecord } from '../schemas/records.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { jsonFieldOf } from '../server/bodies.ts';
import { answerDone } from '../server/preference.ts';
import { conflict, offsetParameter, pageOf, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { timestampOf } from './datapoints/query-times.ts';
import { jsonField } from './single-fields.ts';

const tags = ['Actuators'];
const path = '/devices/:device/actuators/:actuator';

const time = (description: string) => Type.Optional(boundedText(limits.headerTextCharsMax, { description }));
const count = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: limits.settingsPerActuatorMax, description }));

const SettingsQueryString = Type.Object({
  lastN: count('The last N settings within the bounds, newest first; `limit` and `offset` then page inside those.'),
  limit: count(`Maximum number of settings; ${limits.datapointListDefault} by default, or as many as \`lastN\`.`),
  offset: offsetParameter('Settings'),
  dateFrom: time('Earliest time, inclusive, such as `2016-06-08T18:20:27Z`; of a date alone its first moment.'),
  dateTo: time('Latest time, inclusive, such as `2016-06-08T18:20:27Z`; of a date alone its last moment.'),
  sort: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc'), Type.Literal('dsc')], {
      description: 'The order of the settings; `asc`, the oldest first, by default.',
    }),
  ),
});

export function registerActuatorHistory(app: TypedApp, { actuatorHistory }: Services): void {
  app.get(
    `${path}/value`,
    {
      schema: {
        tags,
        operationId: 'getActuatorValue',
        summary: 'Read the last value of an actuator',
        description: 'The value alone, as JSON. 404 where none was set.',
        params: ActuatorParams,
        response: { 200: Type.Unsafe<unknown>(anyJson('The value that was set last.', true)), ...refusals },
      },
    },
    async (request, reply) => {
      const { device, actuator } = request.params;
      const valueJson = await actuatorHistory.last(request.actor, device, actuator);
      return reply.type('application/json; charset=utf-8').send(valueJson) as never;
    },
  );

  app.get(
    `${path}/values`,
    {
      schema: {
        tags,
        operationId: 'listSettings',
        summary: 'Read the history of an actuator',
        description: `Who set what, when, by which door, whether it was delivered, and whether the device confirmed it. Kept are the last ${limits.settingsPerActuatorMax} settings of each actuator, and of all actuators of a device ${limits.settingHistoryBytesMax / 1024} KiB.`,
        params: ActuatorParams,
        querystring: SettingsQueryString,
        response: { 200: pageOf(SettingSchema, { description: 'The settings.', counted: false }), ...refusals },
      },
    },
    async (request, reply) => {
      const { device, actuator } = request.params;
      const { lastN, offset, dateFrom, dateTo, sort } = request.query;
      const span = { fromMs: timestampOf(dateFrom, 'dateFrom'), toMs: timestampOf(dateTo, 'dateTo', { isEnd: true }) };
      const all = await actuatorHistory.list(request.actor, device, actuator, span);
      const isNewestFirst = lastN !== undefined || (sort !== undefined && sort !== 'asc');
      const ordered = isNewestFirst ? all.slice(0, lastN) : all.reverse();
      const limit = request.query.limit ?? lastN ?? limits.datapointListDefault;
      setLinks(request, reply, { limit, offset, hasNext: offset + limit < ordered.length });
      return ordered.slice(offset, offset + limit).map(toSettingRecord) as never;
    },
  );

  app.post(
    `${path}/ack`,
    {
      schema: {
        tags,
        operationId: 'acknowledgeSetting',
        summary: 'Confirm a setting of an actuator',
        description:
          'What the device, or its gateway, answers when it has taken a setting; over MQTT the topic `devices/{device}/actuators/{actuator}/ack`, with the same JSON or nothing as payload. An object with a field `value` confirms the newest setting of that value, any other answer the newest setting that was delivered. Repeats change nothing. Needs `devices-data:create` as the owner, an admin or by a share: not the one that a public device gives everyone.',
        params: ActuatorParams,
        body: Type.Optional(
          jsonField(
            { description: 'The answer of the device: any JSON, or no body.' },
            { value: true },
            limits.settingAckBytesMax,
          ),
        ),
        response: { ...writes, ...conflict('There is no setting that this could confirm.') },
      },
    },
    async (request, reply) => {
      const { device, actuator } = request.params;
      const { body } = request;
      const answer =
        body === undefined || body === null
          ? undefined
          : jsonFieldOf(body, 'ack', { bytesMax: limits.settingAckBytesMax });
      await actuatorHistory.acknowledge(request.actor, device, actuator, answer);
      return answerDone(reply) as never;
    },
  );
}
