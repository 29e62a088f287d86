// How the bounds of limits.ts follow from the ceiling of the process's memory (DUNDUN_MEMORY_MAX). `limits` has the values
// for 1 GiB; this table has those for 256 MB, 384 MB and 512 MiB, the default. In between a bound grows in proportion; beyond
// 1 GiB, and for bounds that are not here, nothing changes. memory-budget.ts has what the bounds add up to. Applied once, by
// cli/serve-command.ts, before anything reads a bound; threads get the bounds of the main thread.
import { passLimits } from '../base/threads/thread-limits.ts';
import { type LimitName, limits } from './limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The least ceiling that the service works in, bytes: the values of the first column. */
export const memoryBytesMin = 256e6;
/** Bytes to which the second column belongs. */
const memoryBytesSmall = 384e6;
/** The ceiling where nothing is set, bytes: the values of the third column. */
export const memoryBytesDefault = 512 * MIB;
/** Bytes to which the values of `limits` belong. */
export const memoryBytesLarge = 1024 * MIB;

/** Bounds at 256 MB, at 384 MB and at 512 MiB. */
const scaled = {
  connectionsWithin: [12, 24, 64],
  // Data on its way in or out.
  passingBytesMax: [4608 * KIB, 9 * MIB, 30 * MIB],
  passingBytesReserve: [1536 * KIB, 3 * MIB, 10 * MIB],
  bodyBytesMax: [2 * MIB, 3 * MIB, 16 * MIB],
  receivedBytesMax: [4608 * KIB, 9 * MIB, 30 * MIB],
  receivedBytesReserve: [1536 * KIB, 3 * MIB, 10 * MIB],
  receivedWaitingMax: [3, 6, 18],
  receivedWaitingReserve: [1, 2, 6],
  answerBytesMax: [3584 * KIB, 7 * MIB, 24 * MIB],
  answerBytesReserve: [1024 * KIB, 2 * MIB, 8 * MIB],
  compressorsMax: [2, 3, 7],
  eventWindowBytes: [512, 512, 512],
  liveBytesMax: [512 * KIB, 1 * MIB, 4 * MIB],
  liveBytesAllMax: [3584 * KIB, 7 * MIB, 24 * MIB],
  liveBytesReserve: [1024 * KIB, 2 * MIB, 8 * MIB],
  queueBytesMax: [3584 * KIB, 7 * MIB, 24 * MIB],
  queueBytesReserve: [1024 * KIB, 2 * MIB, 8 * MIB],
  capacityWaiterBytesMax: [4608 * KIB, 9 * MIB, 30 * MIB],
  capacityWaiterBytesReserve: [1536 * KIB, 3 * MIB, 10 * MIB],
  unreadBytesMax: [3584 * KIB, 7 * MIB, 24 * MIB],
  unreadBytesReserve: [1024 * KIB, 2 * MIB, 8 * MIB],
  backlogBytesMax: [3584 * KIB, 7 * MIB, 24 * MIB],
  backlogBytesReserve: [1024 * KIB, 2 * MIB, 8 * MIB],
  deliveryBytesMax: [256 * KIB, 512 * KIB, 2816 * KIB],
  deliveryBytesReserve: [64 * KIB, 128 * KIB, 768 * KIB],
  commitBytesMax: [512 * KIB, 1 * MIB, 4 * MIB],
  queueStatementBytesMax: [256 * KIB, 512 * KIB, 3 * MIB],
  // What is remembered.
  rememberedBytesMax: [7168 * KIB, 14 * MIB, 86 * MIB],
  directoryBytesMax: [4096 * KIB, 8 * MIB, 52 * MIB],
  topicsCachedBytesMax: [2048 * KIB, 4 * MIB, 34 * MIB],
  rareTopicsCachedBytesMax: [256 * KIB, 512 * KIB, 4 * MIB],
  wantedTopicsCachedBytesMax: [1024 * KIB, 2 * MIB, 12 * MIB],
  recipientsCachedBytesMax: [256 * KIB, 512 * KIB, 6 * MIB],
  usersCachedBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  keysCachedBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  tokensCachedBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  gatewaysCachedBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  ruleBytesMax: [2560 * KIB, 5 * MIB, 44 * MIB],
  sortedRuleBytesMax: [256 * KIB, 512 * KIB, 3 * MIB],
  watchQueueBytesMax: [256 * KIB, 512 * KIB, 2 * MIB],
  watchValueBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  liveFilterBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  storedSessionBytesMax: [1024 * KIB, 2 * MIB, 12 * MIB],
  storedMatchesBytesMax: [512 * KIB, 1 * MIB, 8 * MIB],
  duplicateSessionBytesMax: [1024 * KIB, 2 * MIB, 8 * MIB],
  duplicateMemoryMax: [32_768, 65_536, 262_144],
  accountNamesBytesMax: [128 * KIB, 256 * KIB, 1 * MIB],
  statementsCachedBytesMax: [512 * KIB, 1 * MIB, 3 * MIB],
  callersMax: [1_000, 2_000, 8_000],
  usersCachedMax: [250, 500, 3_000],
  webhookKeysCachedMax: [100, 200, 800],
  loginsRememberedMax: [500, 1_000, 5_000],
  loginFailuresTrackedMax: [500, 1_000, 5_000],
  refusedOriginsMax: [100, 200, 1_000],
  registrationAddressesMax: [125, 250, 1_000],
  accountMailsTrackedMax: [50, 100, 400],
  renamesTrackedMax: [50, 100, 400],
  renameFollowersBytesMax: [48 * KIB, 96 * KIB, 256 * KIB],
  gatewaysSeenMax: [500, 1_000, 5_000],
  strangerAllowancesMax: [500, 1_000, 5_000],
  keysCachedMax: [500, 1_000, 3_000],
  // The log in memory. A push of 30 000 datapoints fits thrice.
  sensorsWithin: [10_000, 20_000, 100_000],
  headRowsMax: [80_000, 100_000, 400_000],
  headTextCharsMax: [384 * KIB, 768 * KIB, 3 * MIB],
  sealRowsMin: [30_000, 40_000, 150_000],
  sealRowsMax: [60_000, 80_000, 320_000],
  sealTextCharsMax: [192 * KIB, 384 * KIB, 1.5 * MIB],
  catchUpDatapointsMax: [2_000, 2_000, 8_000],
  queueDatapointsMax: [60_000, 60_000, 120_000],
  queueDatapointsReserve: [10_000, 20_000, 40_000],
  queueDelayDatapointsMin: [60_000, 60_000, 90_000],
  // Work in progress.
  hashesAtOnceMax: [1, 1, 2],
  jsonEntriesMax: [120_000, 160_000, 250_000],
  jsonContainersMax: [40_000, 50_000, 100_000],
  jsonStringsMax: [100_000, 150_000, 300_000],
  importsAtOnceMax: [1, 1, 3],
  importsReserve: [1, 1, 1],
  bodyBufferBytes: [1 * MIB, 2 * MIB, 3 * MIB],
  bodyBuffersMax: [1, 1, 1],
  readBytes: [512 * KIB, 1 * MIB, 2 * MIB],
  decodedBytesMax: [256 * KIB, 512 * KIB, 2 * MIB],
  decodedBufferBytesMax: [256 * KIB, 512 * KIB, 2 * MIB],
  decodedBytesShortReads: [256 * KIB, 512 * KIB, 1 * MIB],
  textBufferBytesMax: [512 * KIB, 1 * MIB, 2 * MIB],
  chunkTextCharsWanted: [128 * KIB, 256 * KIB, 1024 * 1024],
  deviceStepBytes: [512 * KIB, 1 * MIB, 2 * MIB],
  listBytesMax: [512 * KIB, 1 * MIB, 1 * MIB],
  firingTextBytesMax: [256 * KIB, 512 * KIB, 2 * MIB],
  watchResultChars: [64 * KIB, 128 * KIB, 512 * KIB],
  // Connections of the database, and threads.
  pageCacheBytes: [512 * KIB, 1 * MIB, 4 * MIB],
  pageCacheBytesPassing: [512 * KIB, 1 * MIB, 2 * MIB],
  threadOldMib: [48, 64, 128],
} as const satisfies Partial<Record<LimitName, readonly [least: number, small: number, middle: number]>>;

type ScaledName = keyof typeof scaled;
type ScaledLimits = { readonly [N in ScaledName]: number } & { readonly processBytesMax: number };

/** The bounds that depend on the ceiling, for a ceiling of so many bytes. */
export function limitsFor(memoryBytesMax: number): ScaledLimits {
  const bounds = Object.entries(scaled).map(([name, [least, small, middle]]) => [
    name,
    Math.floor(boundFor(memoryBytesMax, { least, small, middle, usual: usual[name as ScaledName] })),
  ]);
  return { ...(Object.fromEntries(bounds) as { [N in ScaledName]: number }), processBytesMax: memoryBytesMax };
}

/** The values of `limits` before any ceiling was applied. */
const usual: { readonly [N in ScaledName]: number } = { ...limits };

function boundFor(
  bytes: number,
  at: { readonly least: number; readonly small: number; readonly middle: number; readonly usual: number },
) {
  const most = Math.min(bytes, memoryBytesLarge);
  if (most < memoryBytesSmall) return between(most, [memoryBytesMin, at.least], [memoryBytesSmall, at.small]);
  return most < memoryBytesDefault
    ? between(most, [memoryBytesSmall, at.small], [memoryBytesDefault, at.middle])
    : between(most, [memoryBytesDefault, at.middle], [memoryBytesLarge, at.usual]);
}

/** The straight line through two points. */
function between(at: number, [fromX, fromY]: readonly [number, number], [toX, toY]: readonly [number, number]): number {
  return fromY + ((at - fromX) / (toX - fromX)) * (toY - fromY);
}

/** Sets the bounds for a ceiling, here and in all threads that start from now on. At 1 GiB they stay. */
export function applyMemoryMax(memoryBytesMax: number): void {
  if (memoryBytesMax === limits.processBytesMax) return;
  const bounds = limitsFor(memoryBytesMax);
  Object.assign(limits, bounds);
  passLimits(bounds);
}
