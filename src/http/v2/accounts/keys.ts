// API keys (contract 2): each user makes, lists and revokes their own. The key itself is in one answer only, and
// never in a list, an error or a log.
import { Refusal } from '../../../base/refusal.ts';
import { formatTimestamp, parseTimestamp } from '../../../base/time/timestamp.ts';
import type { ApiKey, KeyDraft, KeyScopeName } from '../../../domain/keys/key.ts';
import { pageFrom } from '../../lists/paging.ts';
import { KeyBody, KeyParams, KeySchema, MadeKeySchema } from '../../schemas/key-schemas.ts';
import { registerRemoval } from '../../server/removal-route.ts';
import { AllOrPage, overload, pageOf, refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { dropNulls } from '../drop-nulls.ts';

const tags = ['API keys'];

export function registerKeys(app: TypedApp, { keys }: Services): void {
  app.get(
    '/auth/keys',
    {
      schema: {
        tags,
        operationId: 'listKeys',
        summary: 'List your API keys',
        description: 'In order of creation, without the secret keys.',
        querystring: AllOrPage,
        response: { 200: pageOf(KeySchema, { description: 'The keys.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const all = await keys.list(request.actor);
      return pageFrom(request, reply as never, all, request.query).map(toKeyRecord) as never;
    },
  );

  app.post(
    '/auth/keys',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'createKey',
        summary: 'Make an API key',
        description:
          'For machines, which send it as `Authorization: Bearer <key>`, or over MQTT as the password. The key is shown only in this answer. A key cannot manage keys, users, passwords or shares. Requires a token.',
        body: KeyBody,
        response: {
          200: MadeKeySchema,
          ...refusals,
          ...overload,
        },
      },
    },
    async (request, reply) => {
      const made = await keys.create(request.actor, toKeyDraft(request.body));
      reply.header('cache-control', 'no-store').header('location', `/api/v2/auth/keys/${made.id}`);
      return made as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/auth/keys/:key',
    operationId: 'deleteKey',
    summary: 'Revoke an API key',
    description: 'Takes effect at once: requests with the key are refused, and MQTT connections with it are closed.',
    params: KeyParams,
    remove: (actor, { key }) => keys.remove(actor, key.toLowerCase()),
  });
}

function toKeyDraft({ name, scopes, devices, expires }: KeyBody): KeyDraft {
  return {
    name,
    scopes: scopes === undefined ? undefined : ([...new Set(scopes)] as KeyScopeName[]),
    devices: devices === undefined ? undefined : [...new Set(devices)],
    expiresMs: expires === undefined ? undefined : toTime(expires),
  };
}

function toTime(text: string): number {
  const ms = parseTimestamp(text);
  if (ms !== undefined) return ms;
  const detail = 'must be a timestamp such as 2099-01-01T00:00:00Z';
  throw new Refusal('malformed', `/expires ${detail}.`, { faults: [{ pointer: '/expires', detail }] });
}

export function toKeyRecord(key: ApiKey): object {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : formatTimestamp(ms));
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    devices: key.devices,
    expires: time(key.expiresMs),
    date_created: time(key.dateCreatedMs),
    last_used: time(key.lastUsedMs),
  };
}
