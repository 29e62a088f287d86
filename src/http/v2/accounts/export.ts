// Everything a user has in one archive (contract 2, decision 41): what the lists of the API show them of their own, as JSON,
// and all datapoints of their devices as CSV. It is made while it is sent, in turns with the work of others. What others
// own, and secrets, are never in it.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Refusal } from '../../../base/refusal.ts';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import { assertThere } from '../../../domain/callers/asker.ts';
import type { Actor, UserKey } from '../../../domain/users/user.ts';
import { nothing, unlessStalled } from '../../lists/row-streams.ts';
import { zipped } from '../../lists/zip.ts';
import { refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { actorWhileConnected } from '../../sign-in/connected-actor.ts';
import { filesOf } from './archived-files.ts';

const zipType = 'application/zip';
/** Beside the piece that is sent: the step that is read, as rows and as text, and what is being compressed. */
const heldBytes = 2 * limits.answerStepBytes;

export function registerExport(app: TypedApp, services: Services): void {
  const underWay = new Archives();
  app.get(
    '/users/me/export',
    {
      schema: {
        tags: ['Users'],
        operationId: 'exportOwnData',
        summary: 'Download everything you have',
        description:
          'A ZIP archive that is made while it is sent: your profile, devices with sensors and actuators, settings of actuators, gateways, projects, rules, alarms, messages, shares, sessions and the names of your API keys as JSON, and all datapoints of your devices as CSV, a file for each device (`device_id,sensor_id,timestamp,date_received,value`, as they were stored, without calibration). An archive that was cut off has no list of files and cannot be opened. It ends when you change your password or end the session. For a token got with username and password; one at a time.',
        response: {
          200: {
            description: 'The archive.',
            content: { [zipType]: { schema: Type.String({ description: 'A ZIP archive.' }) } },
          },
          ...refusals,
          429: { ...refusals[429], description: 'You are being sent an archive already.' },
          503: { ...refusals[429], description: 'Too many long answers wait for their readers.' },
        },
      },
    },
    async (request, reply) => (await send(request as never, reply as never, { services, underWay })) as never,
  );
}

/** Who is being sent an archive now. */
class Archives {
  readonly #of = new Map<UserKey, number>();

  /** Counts an archive until the connection of the answer ends. @throws Refusal `too-many` */
  begin({ key }: Actor, reply: FastifyReply): void {
    const count = this.#of.get(key) ?? 0;
    if (count >= limits.archivesPerUserMax) {
      throw new Refusal('too-many', 'You are being sent an archive already. Wait for it, or end it.', {
        retryAfterS: limits.archiveRetryAfterS,
      });
    }
    this.#of.set(key, count + 1);
    // 'close' also follows a complete answer.
    reply.raw.once('close', () => {
      const left = (this.#of.get(key) ?? 1) - 1;
      if (left === 0) this.#of.delete(key);
      else this.#of.set(key, left);
    });
  }
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { services, underWay }: { readonly services: Services; readonly underWay: Archives },
): Promise<FastifyReply> {
  const { guest, keyScopes } = request.actor;
  if (guest || keyScopes !== undefined)
    throw new Refusal('forbidden', 'Sign in with username and password to download what you have.');
  // As a user among users: an admin's archive has what is theirs, not what they may see.
  const actor = { ...actorWhileConnected(request, reply), admin: false };
  const requireSignedIn = await signInOf(actor, services);
  const nowMs = services.clock.now();
  const day = formatTimestamp(nowMs).slice(0, 10);
  reply.type(zipType).header('cache-control', 'no-store').serializer(String);
  reply.header('content-disposition', `attachment; filename="dundun-${fileNameOf(actor.username)}-${day}.zip"`);
  if (request.method === 'HEAD') return reply.send(nothing());
  // One whose connection has ended meanwhile would count for ever.
  assertThere(actor);
  underWay.begin(actor, reply);
  await request.server.answerBudget.reserve(request, reply, heldBytes + limits.answerStepBytes);
  const chunks = unlessStalled(zipped(filesOf(actor, services, requireSignedIn), nowMs), reply, {
    stallMs: limits.streamStallMs,
    reservation: request.answerReservation,
    heldBytes,
  });
  return reply.send(Readable.from(chunks, { objectMode: false }));
}

/**
 * A check that the sign-in of the request still holds, because an archive may take hours: longer than its token, but not
 * longer than the password, the session or the account.
 */
async function signInOf(actor: Actor, { accounts, refreshSessions }: Services): Promise<() => Promise<void>> {
  const { passwordVersion } = await accounts.get(actor, actor.userId);
  return async () => {
    const user = await accounts.get(actor, actor.userId);
    const isOn = actor.sessionId === undefined || (await refreshSessions.isOn(actor.sessionId));
    if (user.passwordVersion !== passwordVersion || !isOn)
      throw new Refusal('unauthenticated', 'The sign-in for which the archive was made has ended.');
  };
}

/** The username as a part of a file's name. */
function fileNameOf(username: string): string {
  return username.replace(/[^\w.-]/g, '_').slice(0, 64);
}
