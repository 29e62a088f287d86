// The language in which a mail about a request is written: the first of those that `Accept-Language` names and we have.
import type { FastifyRequest } from 'fastify';
import { type MailLanguage, mailLanguages } from '../../domain/accounts/account-mail.ts';

export function languageOf(request: FastifyRequest): MailLanguage {
  const wanted = (request.headers['accept-language'] ?? '').slice(0, 256).toLowerCase().split(',');
  const known = wanted.map((entry) => mailLanguages.find((language) => entry.trim().startsWith(language)));
  return known.find((language) => language !== undefined) ?? 'en';
}
