// Getting a token (contract 2): the body that asks for it, and the answer, for every version. How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { boundedText } from './text-bounds.ts';

export const LoginBody = Type.Object(
  {
    username: boundedText(limits.knownUsernameCharsMax, { description: 'The name of the user.', examples: ['admin'] }),
    password: boundedText(limits.knownPasswordCharsMax, {
      description: 'The password of the user.',
      examples: ['talking drum'],
    }),
  },
  {
    title: 'Login',
    description: 'Who asks for a token.',
    examples: [{ username: 'admin', password: 'talking drum' }],
  },
);

export const tokenAnswer = {
  description: 'The token.',
  content: {
    'text/plain': { schema: Type.String({ description: 'The bare token.' }) },
    'application/json': { schema: Type.String({ description: 'The token as a JSON string.' }) },
  },
};
