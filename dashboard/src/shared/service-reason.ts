// Why a message over MQTT was dropped, and why the storage refuses, in the language of the page. The service keeps both as English
// sentences, which its lists and logs have as well; English shows them as they are, because they say more. The other languages
// know each by its form, and say of one that is not known that something is wrong, never a sentence in English.
import type { FirstStrings, Strings } from '../strings/catalogue.ts';

type Forms<W> = readonly (readonly [form: RegExp, say: (words: W, parts: readonly string[]) => string])[];
type DropWords = Pick<Strings, 'faults' | 'reasons'>;
type StorageWords = Pick<FirstStrings, 'faults' | 'now'>;

const drops: Forms<DropWords> = [
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

const storage: Forms<StorageWords> = [
  [/^the disk refuses to write/, ({ now }) => now.refusesBecause.disk],
  [/^the disk (has .* left|is full)/, ({ now }) => now.refusesBecause.diskFull],
  [/^the data takes/, ({ now }) => now.refusesBecause.dataFull],
  [/^no more datapoints are taken until/, ({ now }) => now.refusesBecause.sealing],
  [/^the database (cannot be reached|refuses)/, ({ now }) => now.refusesBecause.database],
  [/^(another process|the writer has ended)/, ({ now }) => now.refusesBecause.stopped],
];

export function dropWords(reason: string, words: DropWords): string {
  return said(reason, { words, forms: drops, other: words.reasons.drops.other });
}

export function storageWords(reason: string, words: StorageWords): string {
  const says = said(reason, { words, forms: storage, other: words.now.refusesBecause.other });
  if (!words.faults.speaksAsService) return says;
  // The sentence of the service has the figures, that of the catalogue ends with what to do.
  const advice = storage
    .find(([form]) => form.test(reason))?.[1](words, [])
    .split(': ')[1];
  return advice === undefined ? says : `${says}: ${advice}`;
}

function said<W extends Pick<FirstStrings, 'faults'>>(
  reason: string,
  by: { readonly words: W; readonly forms: Forms<W>; readonly other: string },
): string {
  if (by.words.faults.speaksAsService) return reason;
  for (const [form, say] of by.forms) {
    const found = form.exec(reason);
    if (found !== null) return say(by.words, found.slice(1));
  }
  return by.other;
}
