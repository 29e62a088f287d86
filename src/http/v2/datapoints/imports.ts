// Importing files of datapoints (contract 10): CSV of loggers, NDJSON, JSON; with preview, dry run and report.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { FairShare } from '../../../domain/callers/fair-share.ts';
import type { Actor } from '../../../domain/users/user.ts';
import { ImportAnswer, toImportRecord } from '../../import/import-answer.ts';
import { ImportBody, registerImportParsers } from '../../import/import-body.ts';
import type { ImportFile } from '../../import/import-plan.ts';
import { ImportQuery } from '../../import/import-query.ts';
import { importFile } from '../../import/import-run.ts';
import { boundedText, jsonBytes } from '../../schemas/text-bounds.ts';
import { conflict, overload, refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const description = `Imports history: a file of a logger, wide (a time and a column for each sensor) or long (a sensor, a time and a value on each line). The format is detected from its first lines and reported in \`file\`; query parameters override what is detected wrongly. Use \`dry_run=true\` first to see what would be stored.

Lines are checked one by one. Accepted lines are stored in the order of the file, in commits of ${limits.importBatchDatapoints} datapoints, and are on disk before the answer, which lists the refused lines. An error (4xx, 5xx) means that nothing was stored. If the import could not continue, the answer is 200, and \`stopped\` says from which line on nothing is stored.

No notification looks at what is imported. The body is read as it comes, up to 1 GiB within two minutes. A larger file goes in parts that end at the end of a line: put its first \`next.head_lines\` lines before each later part, and add \`next\` to the query. Under an \`Idempotency-Key\` a repeat of a file, or of a part, stores nothing twice and goes on where the first was cut off; it is remembered for 24 hours. \`on_duplicate=skip\` looks at what is stored instead.`;

const ImportContent = Type.Unsafe<unknown>({
  'x-content': {
    'text/csv': {
      schema: boundedText(limits.importBodyBytesMax, {
        description:
          'CSV (RFC 4180) with commas, semicolons, tabs or bars, in UTF-8 or the charset that `Content-Type` names: `windows-1252`, `iso-8859-1`, `utf-16le`.',
        examples: ['device_id,sensor_id,timestamp,value\r\nfield-3,TC,2016-06-08T18:20:27Z,21.5\r\n'],
      }),
    },
    'application/x-ndjson': {
      schema: boundedText(limits.importBodyBytesMax, {
        description: 'An object on each line, long or wide; its keys are the columns.',
        examples: ['{"device_id":"field-3","sensor_id":"TC","timestamp":"2016-06-08T18:20:27Z","value":21.5}\n'],
      }),
    },
    'application/json': {
      schema: Type.Array(Type.Object({}), {
        ...jsonBytes(limits.importArrayBytesMax),
        description: 'An array of such objects, at most 16 MiB.',
        examples: [[{ device_id: 'field-3', sensor_id: 'TC', timestamp: '2016-06-08T18:20:27Z', value: 21.5 }]],
      }),
    },
  },
});

const ImportHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKeyCharsMax,
      description: 'Names this import: a repeat within 24 hours stores nothing twice.',
    }),
  ),
});

export function registerImports(app: TypedApp, services: Services): void {
  const underWay = new FairShare('imports', { aloneMax: limits.importsAtOnceMax, reserve: limits.importsReserve });
  app.register((importing, _options, done) => {
    registerImportParsers(importing);
    importing.withTypeProvider<TypeBoxTypeProvider>().post(
      '/import',
      {
        bodyLimit: limits.bodyBytesMax,
        schema: {
          tags: ['Datapoints'],
          operationId: 'importDatapoints',
          summary: 'Import a file',
          description,
          querystring: ImportQuery,
          headers: ImportHeaders,
          body: ImportContent,
          response: {
            200: {
              description: 'What was stored, what was not, and how the file was understood.',
              content: { 'application/json': { schema: ImportAnswer } },
            },
            ...refusals,
            ...overload,
            ...conflict('The `Idempotency-Key` was used for another file.'),
          },
        },
      },
      async (request) => {
        const { query, actor, body } = request;
        if (!(body instanceof ImportBody)) throw new Refusal('malformed', 'Send the file as the body of the request.');
        const { caller } = actor;
        if (!underWay.take(caller, 1)) throw tooManyImports();
        try {
          const run = services.imports.begin(() => request.actorNow(), {
            isDry: query.dry_run,
            makesSensors: query.create_sensors,
            skipsKnown: query.on_duplicate === 'skip',
            key: request.headers['idempotency-key'],
          });
          const knownSensors = await sensorsOf(services, actor, query.device);
          return toImportRecord(await importFile(body, query, { run, knownSensors, caller }), query, run.made) as never;
        } finally {
          underWay.release(caller, 1);
          body.close();
        }
      },
    );
    done();
  });
}

/** The sensors of the device that the actor may see: columns are recognised by their names. */
async function sensorsOf(
  { devices }: Services,
  actor: Actor,
  id: string | undefined,
): Promise<ImportFile['knownSensors']> {
  if (id === undefined) return undefined;
  try {
    const { device } = await devices.get(actor, id);
    return [...device.sensors.values()];
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function tooManyImports(): Refusal {
  return new Refusal('busy', 'Too many imports are under way. Nothing of this one was stored; send it again.', {
    retryAfterS: limits.busyRetryAfterS,
  });
}
