// The files of an archive of everything a user has (export.ts), one after the other, read when they are come to.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Device } from '../../../domain/devices/device.ts';
import type { Actor } from '../../../domain/users/user.ts';
import { datapointRows } from '../../lists/datapoint-rows.ts';
import { inTurns } from '../../lists/in-turns.ts';
import { type ArchivedFile, inParts, type TextRows } from '../../lists/zip.ts';
import type { Services } from '../../services.ts';
import { archivedLists, profileOf } from './archived-lists.ts';

const jsonForm = { ending: 'json', head: '[\n', separator: ',\n', tail: '\n]\n' };
// As JSON, so that an import restores the same values; ids that a spreadsheet would take for a formula get an apostrophe.
const csv = datapointRows({ isLocated: true, isExact: true, isForSpreadsheet: true });
const csvForm = { ending: 'csv', head: csv.csvHeader, separator: '', tail: '' };

/**
 * All files of the actor's archive.
 * @param requireSignedIn throws where the actor's sign-in has ended; asked before each step.
 */
export async function* filesOf(
  actor: Actor,
  services: Services,
  requireSignedIn: () => Promise<void>,
): AsyncGenerator<ArchivedFile> {
  const problems = new Problems();
  yield { name: 'README.txt', text: once(readme) };
  yield { name: 'profile.json', text: once(`${JSON.stringify(await profileOf(actor, services), undefined, 2)}\n`) };
  for (const { name, steps } of archivedLists(actor, services)) {
    const lines = jsonLines(checked(inTurns(steps, actor.caller), requireSignedIn));
    yield* inParts(lines, { path: name, form: jsonForm, isKeptEmpty: true });
  }
  yield* datapointFiles(actor, services, { requireSignedIn, problems });
  if (problems.text !== '') yield { name: 'problems.txt', text: once(problems.text) };
}

/** The datapoints: a file or more for each of the first devices that have some, and then files for all others. */
async function* datapointFiles(
  actor: Actor,
  services: Services,
  parts: { readonly requireSignedIn: () => Promise<void>; readonly problems: Problems },
): AsyncGenerator<ArchivedFile> {
  const devices = each(services.devices.listOwn(actor));
  const linesOf = (device: Device) => datapointLines(actor, services, { device, ...parts });
  for (let number = 1; number <= limits.archiveDeviceFilesMax; ) {
    const next = await devices.next();
    if (next.done === true) return;
    // The number keeps names apart that differ in their case alone, or were shortened.
    const path = `datapoints/${String(number).padStart(4, '0')}-${fileNameOf(next.value.id)}`;
    let hasSome = false;
    for await (const file of inParts(linesOf(next.value), { path, form: csvForm, isKeptEmpty: false })) {
      hasSome = true;
      yield file;
    }
    if (hasSome) number += 1;
  }
  const rest = async function* () {
    for await (const device of devices) yield* linesOf(device);
  };
  yield* inParts(rest(), { path: 'datapoints/others', form: csvForm, isKeptEmpty: false });
}

/** The datapoints of a device, sensor by sensor. What cannot be read is a problem of the archive, not its end. */
async function* datapointLines(
  actor: Actor,
  services: Services,
  {
    device,
    requireSignedIn,
    problems,
  }: { readonly device: Device; readonly requireSignedIn: () => Promise<void>; readonly problems: Problems },
): AsyncGenerator<TextRows> {
  for (const sensor of device.sensors.keys()) {
    await requireSignedIn();
    const selection = { devices: [device.id], sensors: [sensor] };
    try {
      const query = { selection, descending: false, offset: 0, calibrated: false, limit: undefined };
      const steps = await services.history.read(actor, query);
      for await (const rows of checked(inTurns(steps, actor.caller), requireSignedIn))
        if (rows.length > 0) yield { text: rows.map((row) => csv.csvLine(row)).join(''), rows: rows.length };
    } catch (error) {
      if (!(error instanceof Refusal) || !isOfOneSensor(error)) throw error;
      problems.note(`${device.id} ${sensor}: ${error.message}`);
    }
  }
}

/** Whether the sensor was removed or given away since the device was read, or is damaged. */
function isOfOneSensor({ code }: Refusal): boolean {
  return code === 'not-found' || code === 'forbidden' || code === 'damaged';
}

/** What could not be read. */
class Problems {
  readonly #lines: string[] = [];
  #more = 0;

  note(line: string): void {
    if (this.#lines.length < limits.archiveProblemsMax) this.#lines.push(line);
    else this.#more += 1;
  }

  get text(): string {
    const all = this.#more === 0 ? this.#lines : [...this.#lines, `and ${this.#more} more`];
    return all.map((line) => `${line}\n`).join('');
  }
}

async function* jsonLines(steps: AsyncGenerator<readonly object[]>): AsyncGenerator<TextRows> {
  for await (const records of steps) for (const record of records) yield { text: JSON.stringify(record), rows: 1 };
}

/** The steps, each after the check. */
async function* checked<S>(steps: AsyncGenerator<S>, check: () => Promise<void>): AsyncGenerator<S> {
  for await (const step of steps) {
    await check();
    yield step;
  }
}

async function* each<T>(steps: AsyncGenerator<readonly T[]>): AsyncGenerator<T> {
  for await (const step of steps) yield* step;
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** The id of a device as a part of a file's name. */
function fileNameOf(id: string): string {
  return id.replace(/[^\w.-]/g, '_').slice(0, 64);
}

const readme = `What you have on this service. The files were made one after the other while they were sent: what changed meanwhile
may be in them as it was before, or after.

profile.json          your account, without secrets; quotas.json: how much of each quota you use
devices.json          your devices with sensors, actuators and last values
settings.json         what was set for your actuators, when and by whom
drops.json            MQTT messages to your devices that were not stored, and why
gateways.json, projects.json
rules.json            your notifications; messages.json: what you and they have sent
shares-by-me.json     what you share with others; shares-with-me.json: what others share with you
received.json         devices that others handed over to you of late
keys.json             names, rights and times of your API keys; the keys themselves are stored nowhere
sessions.json         where you are signed in
datapoints/           the values of your sensors as they were stored, without calibration: a file for each device, with
                      the device, the sensor, the time of measuring, the time of receiving, and the value as JSON.
                      Times are UTC. Ids that begin with - or @ have an apostrophe before them, so that no spreadsheet
                      takes them for a formula. What a device has never measured has no file.

Long lists go on in files with a number: devices-2.json. What could not be read is told in problems.txt.
`;
