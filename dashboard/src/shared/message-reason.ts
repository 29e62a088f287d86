// Why a message did not go, in the language of the page. The service stores its reasons as English sentences, with which they
// stay readable in its lists and logs; here each is known by its form. One that is not known is shown as it is.
import type { Strings } from '../strings/catalogue.ts';

type Words = Strings['reasons'];
type Say = (words: Words, parts: readonly string[]) => string;

/** A provider as sentences name it. */
const who = '(Twilio|X|Telegram|the mail server|the webhook)';

const known: readonly (readonly [form: RegExp, say: Say])[] = [
  [
    /^no provider is set up for (\w+) \((.+)\)$/,
    (words, [channel = '', settings = '']) => words.noProvider(channelOf(words, channel), settings),
  ],
  [/^(.+) has no phone number\b/, (words, [user = '']) => words.noPhone(user)],
  [/^(.+) has no e-mail address\b/, (words, [user = '']) => words.noEmail(user)],
  [/^(.+) has no chat with the Telegram bot$/, (words, [user = '']) => words.noTelegram(user)],
  [/^(.+) has no account on X$/, (words, [user = '']) => words.noTwitter(user)],
  [/^(.+) has no webhook address$/, (words, [user = '']) => words.noWebhook(user)],
  [/^no such user$/, (words) => words.noUser],
  [/^no such user: who had this name was removed/, (words) => words.userChanged],
  [/^its author has gone$/, (words) => words.authorGone],
  [/^sign in to send$/, (words) => words.signIn],
  [/^(.+) takes no messages of others$/, (words, [user = '']) => words.notFromOthers(user)],
  [
    /^(.+) takes messages only of those they share a device with$/,
    (words, [user = '']) => words.notFromStrangers(user),
  ],
  [
    /^(.+) has reached the cap of (\d+) paid messages a day$/,
    (words, [user = '', count = '']) => words.cap(user, count),
  ],
  [/^nothing sends by (\w+)$/, (words, [channel = '']) => words.nothingSends(channelOf(words, channel))],
  [about('takes no more just now'), (words, [name = '']) => words.busy(whoOf(words, name))],
  [
    about(String.raw`asks to try again later \((.+)\)`),
    (words, [name = '', code = '']) => words.later(whoOf(words, name), code),
  ],
  [
    about(String.raw`has a fault of its own \((.+)\)`),
    (words, [name = '', code = '']) => words.fault(whoOf(words, name), code),
  ],
  [about('refuses the credentials of this service'), (words, [name = '']) => words.credentials(whoOf(words, name))],
  [
    about(String.raw`points elsewhere \((.+)\), which is not followed`),
    (words, [name = '', code = '']) => words.elsewhere(whoOf(words, name), code),
  ],
  [
    about(String.raw`refuses the message \((.+)\)`),
    (words, [name = '', code = '']) => words.refused(whoOf(words, name), code),
  ],
  [
    about(String.raw`refuses the address \((.+)\)`),
    (words, [name = '', code = '']) => words.refusedAddress(whoOf(words, name), code),
  ],
  [
    new RegExp(`^the answer of ${who} cannot be understood$`),
    (words, [name = '']) => words.unclear(whoOf(words, name)),
  ],
  [about('gave an answer that cannot be understood'), (words, [name = '']) => words.unclear(whoOf(words, name))],
  [
    about(String.raw`did not answer within (\d+) s`),
    (words, [name = '', seconds = '']) => words.silent(whoOf(words, name), seconds),
  ],
  [about('did not answer in time'), (words, [name = '']) => words.silentAtAll(whoOf(words, name))],
  [about('has an address that cannot be looked up'), (words, [name = '']) => words.unknownAddress(whoOf(words, name))],
  [about('cannot be reached'), (words, [name = '']) => words.unreachable(whoOf(words, name))],
  [about('has a certificate that is not trusted'), (words, [name = '']) => words.certificate(whoOf(words, name))],
  [about('cut the connection'), (words, [name = '']) => words.cut(whoOf(words, name))],
  [/^the service was stopped meanwhile$/, (words) => words.stopped],
  [/^an error in the service$/, (words) => words.ownFault],
  [/^the webhook address is none$/, (words) => words.webhookNone],
  [/^the webhook address leads into a private network/, (words) => words.webhookPrivate],
  [/^the webhook address leads to this service itself$/, (words) => words.webhookOwn],
  [/^the account on X takes no direct messages from this service$/, (words) => words.twitterClosed],
  [/^there is no such account on X$/, (words) => words.twitterUnknown],
  [/^the phone number is not valid$/, (words) => words.numberWrong],
  [/^the phone number cannot be reached/, (words) => words.numberUnreachable],
  [/^the phone number (takes no text messages|is a short code)/, (words) => words.numberNoTexts],
  [/^the recipient has asked to get no more messages/, (words) => words.numberStopped],
  [/^too many messages of its author wait$/, (words) => words.tooMany],
  [/^the messages of its author take too much room$/, (words) => words.tooMuch],
  [
    /^more messages than an author may send in a minute; (\d+) were not made$/,
    (words, [count = '']) => words.perMinute(count),
  ],
  [/^more text than one firing may send; (\d+) were not made$/, (words, [count = '']) => words.perFiring(count)],
];

export function reasonWords(reason: string, { reasons: words }: Pick<Strings, 'reasons'>): string {
  const [, first = reason, count] = /^(.*) \((\d+) times\)$/.exec(reason) ?? [];
  const said = onceWords(first, words);
  return count === undefined ? said : words.times(said, count);
}

function onceWords(reason: string, words: Words): string {
  for (const [form, say] of known) {
    const found = form.exec(reason);
    if (found !== null) return say(words, found.slice(1));
  }
  return reason;
}

function about(what: string): RegExp {
  return new RegExp(`^${who} ${what}$`);
}

function whoOf(words: Words, name: string): string {
  if (name === 'the mail server') return words.theMailServer;
  return name === 'the webhook' ? words.theWebhook : name;
}

function channelOf({ channel }: Words, name: string): string {
  return Object.hasOwn(channel, name) ? channel[name as keyof typeof channel] : name;
}
