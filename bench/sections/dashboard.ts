// The dashboard in Chromium among 100 000 devices: what a first visit loads, when its largest part is painted, how soon
// rows and a year's chart are there. Left out where Chromium is missing.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../scripts/chromium.ts';
import { findProgram } from '../../scripts/find-program.ts';
import type { BenchOptions } from '../arguments.ts';
import { othersShare } from '../cores.ts';
import { change, largestPaintMs, open, visit } from '../dashboard/browsing.ts';
import { devices, fillDashboard, sensor, yearDatapoints, yearDevice } from '../dashboard/fill.ts';
import { gatherScripts, weigh } from '../dashboard/scripts.ts';
import { median, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import type { Section, Verdict } from '../section.ts';

const scriptKbMax = 250;
const paintMsMax = 1_500;
const shownMsMax = 1_000;

/** Share of all cores that others may use before what was missed is called doubtful. */
const othersMax = 0.1;

const title = 'The dashboard among 100 000 devices';

/** What was measured, by its name: milliseconds of each round. */
type Times = Map<string, number[]>;

const names = {
  guestPaint: "guest's first page, largest paint",
  guestRows: "guest's first page, rows",
  listPaint: 'list of all devices, largest paint',
  listRows: 'list of all devices, rows',
  search: 'a search, from its last key',
  byName: 'in order of names',
  heard: 'last heard first',
  silent: 'longest silent first',
  year: 'a year of a sensor, its chart drawn',
  yearAgain: 'the same in a browser that was there before',
} as const;

/** Those that must be there within so many milliseconds. */
const targets: readonly { readonly name: string; readonly msMax: number }[] = [
  { name: names.guestPaint, msMax: paintMsMax },
  { name: names.listPaint, msMax: paintMsMax },
  { name: names.listRows, msMax: shownMsMax },
  { name: names.search, msMax: shownMsMax },
  { name: names.byName, msMax: shownMsMax },
  { name: names.heard, msMax: shownMsMax },
  { name: names.year, msMax: shownMsMax },
];

export async function measureDashboard(options: BenchOptions, dataDir: string): Promise<Section> {
  const chromium = process.env['DUNDUN_TEST_CHROMIUM'] ?? findProgram('chromium');
  if (chromium === undefined) {
    const how = 'Left out: chromium is not on the PATH (Debian: apt-get install chromium).';
    return { title, how, tables: [], verdicts: [], faults: [] };
  }
  // What is measured is this checkout; what the build says is no part of the report.
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build-dashboard.ts', import.meta.url))], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const fleet = await Fleet.start({ dataDir, devices: 0, sensorsEach: 0, profile: options.profile });
  const browser = await launchChromium(chromium);
  try {
    await fillDashboard(fleet);
    return await look(fleet, browser, options);
  } finally {
    await browser.close();
    await fleet.server.stop();
  }
}

async function look(fleet: Fleet, browser: Browser, { rounds }: BenchOptions): Promise<Section> {
  const times: Times = new Map(Object.values(names).map((name) => [name, []]));
  const url = `http://127.0.0.1:${fleet.server.httpPort}`;
  const firsts = await findFirsts(fleet);
  let scripts: ReadonlySet<string> = new Set();
  let counted = '';
  const others: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    // The first one is for the server to warm up.
    const into: Times = round === 0 ? new Map() : times;
    await fleet.server.quiet();
    others.push(await othersShare());
    scripts = await visit({ browser, url, isUser: false }, (page) => lookAsGuest(page, into));
    await visit({ browser, url, isUser: true }, (page) => lookAtList(page, firsts, into));
    counted = await visit({ browser, url, isUser: true }, (page) => lookAtYear(page, into));
    console.error(`dashboard: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`);
  }
  const [gzip, br] = [await weigh(scripts, 'gzip'), await weigh(scripts, 'br')];
  return {
    title,
    how: `${shown(devices)} devices with a sensor each, half of them public, all heard within a day, one of them every minute for a year. Chromium, ${browser.version()}, shares its core with the bench; each visit begins with empty caches, signed in by the cookie of an earlier sign-in where it is not guest's. Times are the page's own, from opening the address (or from the last change of a field, which a search waits behind for 200 ms) to the frame that shows what was asked for; medians of ${rounds} rounds. Before each round others had ${shown(median(others) * 100)} % of the cores.`,
    tables: [scriptsTable({ count: scripts.size, gzip, br }), timesTable(times)],
    verdicts: [
      {
        target: `script of a first visit: ${shown(gzip / 1000)} kB with gzip, target under ${scriptKbMax} kB`,
        outcome: gzip / 1000 < scriptKbMax ? 'reached' : 'missed',
      },
      ...targets.map(({ name, msMax }) =>
        judge(name, times.get(name) ?? [], { msMax, isBusy: median(others) > othersMax }),
      ),
    ],
    faults: Number(counted) >= yearDatapoints ? [] : [`The chart of a year counts ${counted} datapoints.`],
  };
}

/** The device that comes first in an order, or of a search. */
interface Firsts {
  readonly search: string;
  readonly byName: string;
  readonly heard: string;
  readonly silent: string;
}

const searched = '77777';

async function findFirsts(fleet: Fleet): Promise<Firsts> {
  const headers = { authorization: `Bearer ${await fleet.token()}` };
  const first = async (question: string) => {
    const answer = await fleet.send('GET', `devices?limit=1&${question}`, { headers });
    return ((await answer.json()) as readonly { readonly id: string }[])[0]?.id ?? '';
  };
  return {
    search: await first(`search=${searched}&order=-created`),
    byName: await first('order=name'),
    heard: await first('order=-heard'),
    silent: await first('order=heard'),
  };
}

const row = '[data-index="0"] a[href^="/devices/"]';
const hasRows = `document.querySelector('${row}') !== null`;
const isFirst = (id: string) => `document.querySelector('${row}')?.getAttribute('href') === '/devices/${id}'`;

async function lookAsGuest(page: Page, times: Times): Promise<ReadonlySet<string>> {
  const scripts = gatherScripts(page);
  note(times, names.guestRows, await open(page, '/', hasRows));
  note(times, names.guestPaint, await largestPaintMs(page));
  return scripts;
}

async function lookAtList(page: Page, firsts: Firsts, times: Times): Promise<void> {
  note(times, names.listRows, await open(page, '/devices', hasRows));
  note(times, names.listPaint, await largestPaintMs(page));
  const [order, field] = [page.locator('[role=search] select'), page.locator('[role=search] input[type=search]')];
  for (const [name, value] of [
    ['byName', 'name'],
    ['heard', 'heard'],
    ['silent', 'silent'],
  ] as const) {
    note(times, names[name], await change(page, () => order.selectOption(value), isFirst(firsts[name])));
  }
  const type = () => field.pressSequentially(searched, { delay: 50 });
  note(times, names.search, await change(page, type, isFirst(firsts.search)));
}

/** How many datapoints the page says there are. */
async function lookAtYear(page: Page, times: Times): Promise<string> {
  const path = `/devices/device-${yearDevice}/sensors/${sensor}?span=1y`;
  const isDrawn = "Number(document.querySelector('.uplot')?.dataset.drawn) > 100";
  note(times, names.year, await open(page, path, isDrawn));
  note(times, names.yearAgain, await open(page, path, isDrawn));
  const figures = await page.locator('dl dd').last().innerText();
  return figures.replaceAll(/\D/g, '');
}

function note(times: Times, name: string, ms: number): void {
  times.get(name)?.push(ms);
}

function scriptsTable({ count, gzip, br }: { readonly count: number; readonly gzip: number; readonly br: number }) {
  return table(
    ["scripts of guest's first visit", 'value'],
    [
      ['files', shown(count)],
      ['kB with gzip', shown(gzip / 1000)],
      ['kB with brotli', shown(br / 1000)],
    ],
  );
}

function timesTable(times: Times): string {
  const rows = [...times].map(([name, ms]) => [name, shown(median(ms)), shown(Math.max(...ms))]);
  return table(['from opening to', 'median ms', 'slowest ms'], rows);
}

/** Others only make it slower, so that what is reached beside them is reached. */
function judge(
  name: string,
  ms: readonly number[],
  { msMax, isBusy }: { readonly msMax: number; readonly isBusy: boolean },
): Verdict {
  return {
    target: `${name}: ${shown(median(ms))} ms, target under ${shown(msMax)} ms`,
    outcome: median(ms) < msMax ? 'reached' : isBusy ? 'doubtful' : 'missed',
  };
}
