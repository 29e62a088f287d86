// The words of the mails that the service writes to its users. The first line is the subject.
import type { AccountMailKind, MailLanguage } from './account-mail.ts';

export interface MailFacts {
  readonly username: string;
  /** The address of the service. */
  readonly service: string;
  /** The link with its secret; empty where the mail has none. */
  readonly link: string;
  readonly minutes: number;
}

type Words = Readonly<Record<AccountMailKind, (facts: MailFacts) => readonly string[]>>;

const en: Words = {
  reset: ({ username, service, link, minutes }) => [
    `A new password for ${username}`,
    '',
    `Somebody, probably you, asked for a new password for the account ${username} on ${service}.`,
    'To set one, open this link:',
    '',
    link,
    '',
    `It is good for ${minutes} minutes, and once. If it was not you, leave it: the password stays as it is.`,
  ],
  confirm: ({ username, service, link, minutes }) => [
    `Is this the address of ${username}?`,
    '',
    `The account ${username} on ${service} has this e-mail address. To confirm it, open this link:`,
    '',
    link,
    '',
    `It is good for ${minutes} minutes, and once. If you know nothing of it, leave it.`,
  ],
  'email-changed': ({ username, service }) => [
    `The address of ${username} was changed`,
    '',
    `The account ${username} on ${service} has another e-mail address now; mail comes to this one no more.`,
    'If it was not you, tell whoever runs the service.',
  ],
  'password-set': ({ username, service }) => [
    `${username} has a new password`,
    '',
    `A new password was set for the account ${username} on ${service}, by a link that was mailed to this address.`,
    'Whoever was signed in has been signed out. If it was not you, tell whoever runs the service.',
  ],
};

const fr: Words = {
  reset: ({ username, service, link, minutes }) => [
    `Un nouveau mot de passe pour ${username}`,
    '',
    `Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour le compte ${username} sur ${service}.`,
    'Pour le choisir, ouvrez ce lien :',
    '',
    link,
    '',
    `Il est valable ${minutes} minutes, et une seule fois. Si ce n’était pas vous, ne faites rien : le mot de passe reste le même.`,
  ],
  confirm: ({ username, service, link, minutes }) => [
    `Est-ce l’adresse de ${username} ?`,
    '',
    `Le compte ${username} sur ${service} a cette adresse e-mail. Pour la confirmer, ouvrez ce lien :`,
    '',
    link,
    '',
    `Il est valable ${minutes} minutes, et une seule fois. Si cela ne vous dit rien, ne faites rien.`,
  ],
  'email-changed': ({ username, service }) => [
    `L’adresse de ${username} a changé`,
    '',
    `Le compte ${username} sur ${service} a maintenant une autre adresse e-mail ; plus rien n’arrive à celle-ci.`,
    'Si ce n’était pas vous, prévenez la personne qui gère le service.',
  ],
  'password-set': ({ username, service }) => [
    `${username} a un nouveau mot de passe`,
    '',
    `Un nouveau mot de passe a été choisi pour le compte ${username} sur ${service}, par un lien envoyé à cette adresse.`,
    'Toutes les connexions ont été fermées. Si ce n’était pas vous, prévenez la personne qui gère le service.',
  ],
};

const words: Readonly<Record<MailLanguage, Words>> = { en, fr };

/** The whole text of a mail. */
export function accountMailText(kind: AccountMailKind, language: MailLanguage, facts: MailFacts): string {
  return words[language][kind](facts).join('\n');
}
