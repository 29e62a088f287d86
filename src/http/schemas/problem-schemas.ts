// The body of every error answer of version 2 (RFC 9457, contract 1). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'Identifies the kind of problem.', examples: ['urn:dundun:problem:not-found'] }),
    title: Type.String({ description: 'The kind of problem in words.', examples: ['Not Found'] }),
    status: Type.Integer({ description: 'The HTTP status.', examples: [404] }),
    detail: Type.String({
      description: 'What was wrong with the request, and what would be right.',
      examples: ['There is no device field-4.'],
    }),
    instance: Type.String({ description: 'The path of the request.', examples: ['/api/v2/devices/field-4'] }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            pointer: Type.String({ description: 'The field, as a JSON pointer.', examples: ['/sensors/0/id'] }),
            detail: Type.String({ description: 'What is wrong with the field.', examples: ['is missing'] }),
            code: Type.String({
              description:
                'The same as a code, for clients with words of their own: `missing`, `long`, `id`, …; `wrong` for what has none.',
              examples: ['missing'],
            }),
            params: Type.Optional(
              Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
                description: 'What the sentence of that code names, such as `max`.',
                examples: [{ max: 64 }],
              }),
            ),
          },
          { title: 'FieldFault', description: 'A field that is not valid.' },
        ),
        { description: 'The fields that are not valid.' },
      ),
    ),
    quota: Type.Optional(
      Type.Object(
        {
          kind: Type.String({
            description:
              'Name of the quota: a member of `GET /users/me/quota`; for handovers with `handed_over_` or `received_` before it.',
            examples: ['devices'],
          }),
          used: Type.Integer({ description: 'The amount that is used.', examples: [1000] }),
          limit: Type.Integer({ description: 'The amount that is allowed.', examples: [1000] }),
        },
        {
          title: 'QuotaBreach',
          description: 'The quota that refused the request; present where `type` is `urn:dundun:problem:quota`.',
        },
      ),
    ),
  },
  { title: 'Problem', description: 'Problem details (RFC 9457): what was wrong and what would be right.' },
);
