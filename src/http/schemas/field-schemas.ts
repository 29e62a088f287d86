// Schemas of fields that records of several kinds have: ids, times, positions, free JSON. As in every file of this folder, one
// schema validates requests, types their handlers and describes the API in the words of version 2. A schema with a
// `title` becomes a component of the OpenAPI document; `x-content` describes a body that may come as several content
// types (../docs/openapi.ts). Unknown fields are ignored; a field that is null counts as absent (../v2/drop-nulls.ts). The examples
// of all schemas together are one story that test/http/server/docs.test.ts runs against a server.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { idPattern } from './ids.ts';
import { boundedText, jsonBytes } from './text-bounds.ts';

/** An id that callers choose (contract 1). Another text is refused with 400. */
export const id = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: limits.idCharsMax,
    pattern: idPattern,
    description,
    examples: [example],
  });

/** An optional field with any JSON, at most `valueBytesMax` bytes (413 beyond). */
export const anyJson = (description: string, example: unknown) =>
  Type.Optional(Type.Unknown({ ...jsonBytes(limits.valueBytesMax), description, examples: [example] }));

/** A time in an answer: RFC 3339 in UTC. */
export const timestamp = (description: string) =>
  Type.String({ description, format: 'date-time', examples: ['2016-06-08T18:20:27.873Z'] });

/** Who sees a record, `public` or `private`. */
export const visibilityOf = (description: string) =>
  Type.Unsafe<'public' | 'private'>({
    type: 'string',
    enum: ['public', 'private'],
    description,
    examples: ['public'],
  });

export const UsernameSchema = boundedText(limits.knownUsernameCharsMax, {
  description: 'The name of the user.',
  examples: ['awa'],
});

export const LocationSchema = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees north (WGS 84).', examples: [16.03] }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees east (WGS 84).', examples: [-16.49] }),
  },
  {
    ...jsonBytes(limits.descriptionBytesMax),
    title: 'Location',
    description: 'GPS position. Reads return it as it was given.',
    examples: [{ latitude: 16.03, longitude: -16.49 }],
  },
);

export const MetaSchema = Type.Object(
  {},
  {
    ...jsonBytes(limits.descriptionBytesMax),
    description: 'Any JSON object of at most 16 KiB. The service stores and returns it unchanged.',
    examples: [{ depth_cm: 30 }],
  },
);
