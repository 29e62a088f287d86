// Forgotten passwords and the confirmation of e-mail addresses (contract 2). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { type MailLanguage, mailLanguages } from '../../domain/accounts/account-mail.ts';
import { boundedText } from './text-bounds.ts';

const secret = boundedText(limits.linkSecretCharsMax, {
  description: 'What stands behind the `#` of the link that was mailed.',
  examples: ['AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
});

export const PasswordResetBody = Type.Object(
  {
    account: boundedText(limits.profileTextCharsMax, {
      description: 'A username, or an e-mail address that was confirmed.',
      examples: ['awa'],
    }),
    language: Type.Optional(
      Type.Unsafe<MailLanguage>({
        type: 'string',
        enum: [...mailLanguages],
        description: 'The language of the mail. Left out: as `Accept-Language` says.',
        examples: ['fr'],
      }),
    ),
  },
  {
    title: 'PasswordReset',
    description: 'Whose password was forgotten.',
    examples: [{ account: 'awa' }],
  },
);

export const LinkedPasswordBody = Type.Object(
  {
    secret,
    password: boundedText(limits.passwordCharsMax, {
      description: 'The new password; not one of the ten thousand most common ones.',
      examples: ['another drum'],
    }),
    end_keys: Type.Optional(
      Type.Boolean({
        description: 'Whether the API keys of the user end too. Left out: they go on.',
        examples: [false],
      }),
    ),
  },
  {
    title: 'LinkedPassword',
    description: 'A new password, with the secret of a link that was mailed.',
    examples: [{ secret: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', password: 'another drum' }],
  },
);

export const EmailConfirmationBody = Type.Object(
  { secret },
  {
    title: 'EmailConfirmation',
    description: 'The secret of a link that was mailed.',
    examples: [{ secret: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  },
);
