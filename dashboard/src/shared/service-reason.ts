// Why a message over MQTT was dropped, and why the storage refuses, in the language of the page. The service keeps both as English
// sentences, which its lists and logs have as well; English shows them as they are, because they say more. The other languages
// know each by its form, and say of one that is not known that something is wrong, never a sentence in English.
import type { Strings } from '../strings/catalogue.ts';

type Words = Pick<Strings, 'faults' | 'reasons'>;
type Say = (words: Words, parts: readonly string[]) => string;
type Forms = readonly (readonly [form: RegExp, say: Say])[];

const drops: Forms = [
  [/ has no sensor (.+)\.$/, ({ reasons }, [sensor = '']) => reasons.drops.noSensor(sensor)],
  [
    /^The quota (\S+) .*: (\d+) of (\d+) are used/,
    ({ faults }, [kind = '', used, limit]) => faults.kinds.quota({ kind, used: Number(used), limit: Number(limit) }),
  ],
  [/ takes (\d+) datapoints, not (\d+)\./, ({ reasons }, [max = '', count = '']) => reasons.drops.tooMany(max, count)],
  [/^An array goes to the topic/, ({ reasons }) => reasons.drops.arrayTopic],
  [/\/value is missing/, ({ reasons }) => reasons.drops.noValue],
  [/\/timestamp (is no timestamp|must be)/, ({ faults }) => `timestamp: ${faults.fields.timestamp}`],
  [/^No (value was set|setting of actuator)/, ({ reasons }) => reasons.drops.noSetting],
  [/ is not (valid JSON|UTF-8)/, ({ reasons }) => reasons.drops.notJson],
  [/\bbytes\b|^The JSON (has more than|is nested deeper)/, ({ faults }) => faults.kinds['too-large']],
  [/\b(right|share|owner|scope|login|sign in)\b/i, ({ faults }) => faults.kinds.forbidden],
  [/^(There is no|The record was removed|No device)|does not exist/, ({ faults }) => faults.kinds['not-found']],
];

const storage: Forms = [
  [/^the disk refuses to write/, ({ reasons }) => reasons.storage.disk],
  [/^the disk (has .* left|is full)/, ({ reasons }) => reasons.storage.diskFull],
  [/^the data takes/, ({ reasons }) => reasons.storage.dataFull],
  [/^no more datapoints are taken until/, ({ reasons }) => reasons.storage.sealing],
  [/^the database (cannot be reached|refuses)/, ({ reasons }) => reasons.storage.database],
  [/^(another process|the writer has ended)/, ({ reasons }) => reasons.storage.stopped],
];

export function dropWords(reason: string, words: Words): string {
  return said(reason, { words, forms: drops, other: words.reasons.drops.other });
}

export function storageWords(reason: string, words: Words): string {
  return said(reason, { words, forms: storage, other: words.reasons.storage.other });
}

function said(reason: string, by: { readonly words: Words; readonly forms: Forms; readonly other: string }): string {
  if (by.words.faults.speaksAsService) return reason;
  for (const [form, say] of by.forms) {
    const found = form.exec(reason);
    if (found !== null) return say(by.words, found.slice(1));
  }
  return by.other;
}
