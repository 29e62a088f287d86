// The headers of pushes: Idempotency-Key (contract 5) and Prefer.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { IdempotencyKey } from '../../domain/datapoints/ingest/idempotency-guard.ts';
import { boundedText } from '../schemas/text-bounds.ts';

export const PushHeaders = Type.Object({
  prefer: Type.Optional(
    boundedText(limits.headerTextCharsMax, {
      description: '`notify=none`: no notification is evaluated for these datapoints.',
      examples: ['notify=none'],
    }),
  ),
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKeyCharsMax,
      description: 'Identifies this push: a repeat within 24 hours stores nothing and gets the first answer.',
    }),
  ),
});

/** Includes the content type in the body, because the same bytes have another meaning with another type. */
export function toIdempotencyKey(
  key: string,
  request: FastifyRequest,
  { endpoint, type }: { readonly endpoint: string; readonly type: string },
): IdempotencyKey {
  if (key === '' || key.length > limits.idempotencyKeyCharsMax) {
    throw new Refusal('malformed', `An Idempotency-Key has 1 to ${limits.idempotencyKeyCharsMax} characters.`, {
      faults: [{ pointer: '/idempotency-key', detail: `must have 1 to ${limits.idempotencyKeyCharsMax} characters` }],
    });
  }
  return { key, endpoint, body: Buffer.concat([Buffer.from(`${type}\n`), request.rawBody ?? Buffer.alloc(0)]) };
}
