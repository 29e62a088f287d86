// What the service says of a field, by its codes (decision 51), and of what it refuses, by the kinds of problems. English shows the
// sentences of the service as they are, because they say more.

interface Params {
  readonly min: number;
  readonly max: number;
  readonly column: number;
  readonly choices: string;
}

interface Quota {
  readonly kind: string;
  readonly used: number;
  readonly limit: number;
}

export const faults = {
  speaksAsService: true as boolean,
  fields: {
    missing: 'is missing',
    'password-needed': 'needs your present password',
    empty: 'must not be empty',
    id: 'must be letters, digits and signs without spaces; not & ? / # + < > " \' = ; ( )',
    bytes: ({ max }: Params) => `must have at most ${max} bytes`,
    long: ({ max }: Params) => `must have at most ${max} characters`,
    short: ({ min }: Params) => `must have at least ${min} characters`,
    username: ({ max }: Params) => `must have 1 to ${max} characters, none of / + # ?`,
    length: ({ min, max }: Params) => `must have ${min} to ${max} characters`,
    many: ({ max }: Params) => `must have at most ${max} entries`,
    few: ({ min }: Params) => `must have at least ${min} entries`,
    whole: ({ min, max }: Params) => `must be a whole number from ${min} to ${max}`,
    most: ({ max }: Params) => `must be at most ${max}`,
    least: ({ min }: Params) => `must be at least ${min}`,
    above: ({ min }: Params) => `must be above ${min}`,
    below: ({ max }: Params) => `must be below ${max}`,
    choice: ({ choices }: Params) => `must be one of ${choices}`,
    timestamp: 'must be a time, such as 2026-06-08T18:20:27Z',
    future: 'must lie in the future',
    order: 'comes in the wrong order',
    zone: 'must be a time zone, such as Africa/Dakar',
    phone: 'must be a phone number with country code, such as +221770000000',
    telegram: 'must be the number of a chat with the bot, or the @name of a channel',
    'web-address': 'must be an http or https address without a name and password in it',
    control: 'must not hold characters that do not show',
    script: 'must keep to one script',
    'common-password': 'is one of the most common passwords, which are guessed first',
    'not-present-password': 'is not the present password',
    fixed: 'cannot be changed',
    twice: 'is there twice',
    expression: ({ column }: Params) => `cannot be read at character ${column}`,
    'equal-points': 'must differ from the other point',
    steep: 'is too steep to be calculated',
    'whole-number': 'must be a whole number',
    number: 'must be a number',
    boolean: 'must be true or false',
    text: 'must be a text',
    list: 'must be a list',
    object: 'must be an object',
    together: 'does not go with the other fields',
    wrong: 'is not right',
  },
  kinds: {
    malformed: 'Something in this is not right. Look at what you have typed.',
    unauthenticated: 'Your sign-in is no longer good, or name and password do not fit. Sign in again.',
    forbidden: 'You may not do this. Its owner or an admin can.',
    quota: ({ kind, used, limit }: Quota) => `Your quota does not allow it: ${used} of ${limit} are used (${kind}).`,
    'not-found': 'This is no longer there.',
    exists: 'That name is taken. Choose another.',
    conflict: 'This is not possible as things are now.',
    'too-large': 'That is too large.',
    unsupported: 'The service does not take this kind of file.',
    'too-many': 'That was too often. Try again in a while.',
    busy: 'The service has too much to do just now. Try again in a while.',
    full: 'The service has no room left. Tell who operates it.',
    storage: 'The disk of the service refused. Nothing was changed; try again later.',
    damaged: 'What is stored there is damaged. Tell who operates the service.',
    internal: 'Something went wrong in the service. Tell who operates it.',
    other: 'That did not work.',
  },
};
