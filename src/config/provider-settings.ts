// The settings of message providers: Twilio, X, a mail server, Telegram, and webhooks. Part of config.ts. A channel
// without settings cannot send; its messages end as undelivered and name the missing setting.
import { networks, type Setting, text, url } from './setting.ts';

export interface ProviderConfig {
  readonly twilioAccountSid: string;
  readonly twilioApiKey: string;
  readonly twilioToken: string;
  readonly twilioFrom: string;
  readonly twilioVoiceFrom: string;
  readonly twilioVoiceLanguage: string;
  readonly twilioUrl: string;
  readonly xAppKey: string;
  readonly xAppSecret: string;
  readonly xAccessToken: string;
  readonly xAccessSecret: string;
  readonly xUrl: string;
  readonly smtpUrl: string;
  readonly smtpFrom: string;
  readonly telegramToken: string;
  readonly telegramUrl: string;
  readonly webhookNetworks: readonly string[];
}

export const providerSettings: { readonly [F in keyof ProviderConfig]: Setting<ProviderConfig[F]> } = {
  twilioAccountSid: {
    env: 'DUNDUN_TWILIO_ACCOUNT_SID',
    fallback: '',
    reason: 'Account at Twilio (AC…) that sms and voice messages go through; empty: they cannot go out.',
    parse: matching(/^AC[0-9a-zA-Z]{2,64}$/, 'must begin with AC, as Twilio shows it'),
  },
  twilioApiKey: {
    env: 'DUNDUN_TWILIO_API_KEY',
    fallback: '',
    reason: 'API key (SK…) to sign in at Twilio with; empty: the account signs in itself.',
    parse: matching(/^SK[0-9a-zA-Z]{2,64}$/, 'must begin with SK, as Twilio shows it'),
  },
  twilioToken: {
    env: 'DUNDUN_TWILIO_TOKEN',
    fallback: '',
    reason: 'Auth token of the account at Twilio, or the secret of the API key where one is set.',
    secret: true,
    parse: text,
  },
  twilioFrom: {
    env: 'DUNDUN_TWILIO_FROM',
    fallback: '',
    reason: 'Who sms messages come from: a number of the account (+…), a sender name, or a messaging service (MG…).',
    parse: text,
  },
  twilioVoiceFrom: {
    env: 'DUNDUN_TWILIO_VOICE_FROM',
    fallback: '',
    reason: 'Number (+…) that calls come from; empty: DUNDUN_TWILIO_FROM where that is a number.',
    parse: matching(/^\+\d{5,15}$/, 'must be a number with country code, such as +15005550006'),
  },
  twilioVoiceLanguage: {
    env: 'DUNDUN_TWILIO_VOICE_LANGUAGE',
    fallback: 'en-US',
    reason: 'Language that messages are read aloud in, such as fr-FR.',
    parse: matching(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{2,8})*$/, 'must be a language such as fr-FR'),
  },
  twilioUrl: {
    env: 'DUNDUN_TWILIO_URL',
    fallback: 'https://api.twilio.com',
    reason: 'Address of the API of Twilio, or of a gateway that speaks like it.',
    parse: url,
  },
  xAppKey: {
    env: 'DUNDUN_X_APP_KEY',
    fallback: '',
    reason: 'API key of the app on X (Twitter) that sends direct messages; empty: they cannot go out.',
    parse: text,
  },
  xAppSecret: {
    env: 'DUNDUN_X_APP_SECRET',
    fallback: '',
    reason: 'API key secret of that app.',
    secret: true,
    parse: text,
  },
  xAccessToken: {
    env: 'DUNDUN_X_ACCESS_TOKEN',
    fallback: '',
    reason: 'Access token of the account on X that the messages come from.',
    secret: true,
    parse: text,
  },
  xAccessSecret: {
    env: 'DUNDUN_X_ACCESS_SECRET',
    fallback: '',
    reason: 'Access token secret of that account.',
    secret: true,
    parse: text,
  },
  xUrl: {
    env: 'DUNDUN_X_URL',
    fallback: 'https://api.x.com',
    reason: 'Address of the API of X.',
    parse: url,
  },
  smtpUrl: {
    env: 'DUNDUN_SMTP_URL',
    fallback: '',
    reason:
      'Mail server that e-mail goes through, smtps://name:password@host:465 or smtp://host:587; empty: it cannot go out.',
    secret: true,
    parse: smtp,
  },
  smtpFrom: {
    env: 'DUNDUN_SMTP_FROM',
    fallback: '',
    reason: 'Address that e-mail comes from, also as Dundun <dundun@farm.example>.',
    parse: matching(/^([^<>\r\n]*<[^\s@<>,;]+@[^\s@<>,;]+>|[^\s@<>,;]+@[^\s@<>,;]+)$/, 'must be an e-mail address'),
  },
  telegramToken: {
    env: 'DUNDUN_TELEGRAM_TOKEN',
    fallback: '',
    reason: 'Token of the Telegram bot that sends messages, as @BotFather gives it; empty: they cannot go out.',
    secret: true,
    parse: matching(/^\d{1,20}:[\w-]{1,100}$/, 'must be a number, a colon and the rest, as @BotFather gives it'),
  },
  telegramUrl: {
    env: 'DUNDUN_TELEGRAM_URL',
    fallback: 'https://api.telegram.org',
    reason: 'Address of the Bot API, or of a server of your own that speaks it.',
    parse: url,
  },
  webhookNetworks: {
    env: 'DUNDUN_WEBHOOK_NETWORKS',
    fallback: '',
    reason:
      'Private addresses (or networks, 192.168.1.0/24) that webhooks may lead to, separated by commas; empty: the internet alone. Never the metadata of a cloud nor this service itself.',
    parse: networks,
  },
};

/** Faults of settings that must be set together, where only some of them are. */
export function providerFaults(config: ProviderConfig): string[] {
  const together: readonly (readonly (keyof ProviderConfig)[])[] = [
    ['twilioAccountSid', 'twilioToken', 'twilioFrom'],
    ['xAppKey', 'xAppSecret', 'xAccessToken', 'xAccessSecret'],
    ['smtpUrl', 'smtpFrom'],
  ];
  return together.flatMap((fields) => {
    // Unreadable settings have been reported already.
    if (fields.some((field) => config[field] === undefined)) return [];
    const set = fields.filter((field) => config[field] !== '');
    if (set.length === 0 || set.length === fields.length) return [];
    return [`${fields.map((field) => providerSettings[field].env).join(', ')}: set all, or none.`];
  });
}

/** Whether the service can mail links to its users: it has a mail server, and knows its own address. */
export function mailsLinks({ smtpUrl, baseUrl }: { readonly smtpUrl: string; readonly baseUrl: string }): boolean {
  return smtpUrl !== '' && baseUrl !== '';
}

/** The settings of each provider; undefined for a provider that is not configured. */
export function providersOf(config: ProviderConfig) {
  const { twilioAccountSid, twilioFrom, xAppKey, smtpUrl, telegramToken } = config;
  const isNumber = twilioFrom.startsWith('+');
  const voiceFrom = config.twilioVoiceFrom === '' && isNumber ? twilioFrom : config.twilioVoiceFrom;
  const twilio = {
    accountSid: twilioAccountSid,
    apiKey: config.twilioApiKey,
    token: config.twilioToken,
    from: twilioFrom,
    voiceFrom,
    voiceLanguage: config.twilioVoiceLanguage,
    url: config.twilioUrl,
  };
  const twitter = {
    appKey: xAppKey,
    appSecret: config.xAppSecret,
    accessToken: config.xAccessToken,
    accessSecret: config.xAccessSecret,
    url: config.xUrl,
  };
  return {
    twilio: twilioAccountSid === '' ? undefined : twilio,
    twitter: xAppKey === '' ? undefined : twitter,
    email: smtpUrl === '' ? undefined : { url: smtpUrl, from: config.smtpFrom },
    telegram: telegramToken === '' ? undefined : { token: telegramToken, url: config.telegramUrl },
  };
}

function matching(pattern: RegExp, right: string): (value: string) => string {
  return (value) => {
    if (value !== '' && !pattern.test(value)) throw new Error(right);
    return value;
  };
}

function smtp(value: string): string {
  const isMail = URL.canParse(value) && /^smtps?:$/.test(new URL(value).protocol) && new URL(value).hostname !== '';
  if (value !== '' && !isMail) throw new Error('must be smtp://… or smtps://…, with name and password percent-encoded');
  return value;
}
