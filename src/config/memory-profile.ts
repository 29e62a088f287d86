// How the bounds of limits.ts follow from the ceiling of the process's memory (DUNDUN_MEMORY_MAX). `limits` has the values
// for 1 GiB, the default; this table has those for 384 MB and for 512 MiB. In between a bound grows in proportion; beyond
// 1 GiB, and for bounds that are not here, nothing changes. memory-budget.ts has what the bounds add up to. Applied once, by
// cli/serve-command.ts, before anything reads a bound; threads get the bounds of the main thread.
import { passLimits } from '../base/threads/thread-limits.ts';
import { type LimitName, limits } from './limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The least ceiling that the service works in, bytes: the values of the first column. */
export const memoryBytesMin = 384e6;
/** Bytes to which the second column belongs. */
const memoryBytesMiddle = 512 * MIB;
/** The ceiling where nothing is set, bytes: the values of `limits`. */
export const memoryBytesDefault = 1024 * MIB;

/** Bounds at 384 MB and at 512 MiB. */
const scaled = {
  connectionsWithin: [24, 64],
  // Data on its way in or out.
  passingBytesMax: [9 * MIB, 30 * MIB],
  passingBytesReserve: [3 * MIB, 10 * MIB],
  bodyBytesMax: [3 * MIB, 16 * MIB],
  receivedBytesMax: [9 * MIB, 30 * MIB],
  receivedBytesReserve: [3 * MIB, 10 * MIB],
  receivedWaitingMax: [6, 18],
  receivedWaitingReserve: [2, 6],
  answerBytesMax: [7 * MIB, 24 * MIB],
  answerBytesReserve: [2 * MIB, 8 * MIB],
  liveBytesMax: [1 * MIB, 4 * MIB],
  liveBytesAllMax: [7 * MIB, 24 * MIB],
  liveBytesReserve: [2 * MIB, 8 * MIB],
  queueBytesMax: [7 * MIB, 24 * MIB],
  queueBytesReserve: [2 * MIB, 8 * MIB],
  capacityWaiterBytesMax: [9 * MIB, 30 * MIB],
  capacityWaiterBytesReserve: [3 * MIB, 10 * MIB],
  unreadBytesMax: [7 * MIB, 24 * MIB],
  unreadBytesReserve: [2 * MIB, 8 * MIB],
  backlogBytesMax: [7 * MIB, 24 * MIB],
  backlogBytesReserve: [2 * MIB, 8 * MIB],
  deliveryBytesMax: [512 * KIB, 3 * MIB],
  deliveryBytesReserve: [128 * KIB, 768 * KIB],
  commitBytesMax: [1 * MIB, 4 * MIB],
  queueStatementBytesMax: [512 * KIB, 3 * MIB],
  // What is remembered.
  rememberedBytesMax: [14 * MIB, 70 * MIB],
  directoryBytesMax: [8 * MIB, 36 * MIB],
  topicsCachedBytesMax: [4 * MIB, 34 * MIB],
  rareTopicsCachedBytesMax: [512 * KIB, 4 * MIB],
  wantedTopicsCachedBytesMax: [2 * MIB, 12 * MIB],
  recipientsCachedBytesMax: [512 * KIB, 6 * MIB],
  usersCachedBytesMax: [1 * MIB, 8 * MIB],
  keysCachedBytesMax: [1 * MIB, 8 * MIB],
  tokensCachedBytesMax: [1 * MIB, 8 * MIB],
  gatewaysCachedBytesMax: [1 * MIB, 8 * MIB],
  ruleBytesMax: [5 * MIB, 28 * MIB],
  sortedRuleBytesMax: [512 * KIB, 3 * MIB],
  watchQueueBytesMax: [512 * KIB, 2 * MIB],
  watchValueBytesMax: [1 * MIB, 8 * MIB],
  liveFilterBytesMax: [1 * MIB, 8 * MIB],
  storedSessionBytesMax: [2 * MIB, 12 * MIB],
  storedMatchesBytesMax: [1 * MIB, 8 * MIB],
  duplicateSessionBytesMax: [2 * MIB, 8 * MIB],
  duplicateMemoryMax: [65_536, 262_144],
  accountNamesBytesMax: [256 * KIB, 1 * MIB],
  statementsCachedBytesMax: [1 * MIB, 3 * MIB],
  callersMax: [2_000, 8_000],
  usersCachedMax: [500, 3_000],
  webhookKeysCachedMax: [200, 800],
  loginsRememberedMax: [1_000, 5_000],
  loginFailuresTrackedMax: [1_000, 5_000],
  refusedOriginsMax: [200, 1_000],
  registrationAddressesMax: [500, 2_000],
  gatewaysSeenMax: [1_000, 5_000],
  strangerAllowancesMax: [1_000, 5_000],
  keysCachedMax: [1_000, 3_000],
  // The log in memory. A push of 30 000 datapoints fits thrice.
  sensorsWithin: [20_000, 100_000],
  headRowsMax: [100_000, 400_000],
  headTextCharsMax: [768 * KIB, 3 * MIB],
  sealRowsMin: [40_000, 150_000],
  sealRowsMax: [80_000, 320_000],
  sealTextCharsMax: [384 * KIB, 1.5 * MIB],
  queueDatapointsMax: [60_000, 120_000],
  queueDatapointsReserve: [20_000, 40_000],
  queueDelayDatapointsMin: [60_000, 90_000],
  // Work in progress.
  hashesAtOnceMax: [1, 2],
  jsonEntriesMax: [160_000, 250_000],
  jsonContainersMax: [50_000, 100_000],
  jsonStringsMax: [150_000, 300_000],
  importsAtOnceMax: [1, 3],
  importsReserve: [1, 1],
  bodyBufferBytes: [2 * MIB, 3 * MIB],
  bodyBuffersMax: [1, 1],
  readBytes: [1 * MIB, 2 * MIB],
  decodedBytesMax: [512 * KIB, 2 * MIB],
  decodedBufferBytesMax: [512 * KIB, 2 * MIB],
  decodedBytesShortReads: [512 * KIB, 1 * MIB],
  textBufferBytesMax: [1 * MIB, 2 * MIB],
  chunkTextCharsWanted: [256 * KIB, 1024 * 1024],
  deviceStepBytes: [1 * MIB, 2 * MIB],
  listBytesMax: [1 * MIB, 2 * MIB],
  firingTextBytesMax: [512 * KIB, 2 * MIB],
  watchResultChars: [128 * KIB, 512 * KIB],
  // Connections of the database, and threads.
  pageCacheBytes: [1 * MIB, 4 * MIB],
  pageCacheBytesPassing: [1 * MIB, 2 * MIB],
  threadOldMib: [64, 128],
} as const satisfies Partial<Record<LimitName, readonly [small: number, middle: number]>>;

type ScaledName = keyof typeof scaled;
type ScaledLimits = { readonly [N in ScaledName]: number } & { readonly processBytesMax: number };

/** The bounds that depend on the ceiling, for a ceiling of so many bytes. */
export function limitsFor(memoryBytesMax: number): ScaledLimits {
  const bounds = Object.entries(scaled).map(([name, [small, middle]]) => [
    name,
    Math.floor(boundFor(memoryBytesMax, { small, middle, usual: usual[name as ScaledName] })),
  ]);
  return { ...(Object.fromEntries(bounds) as { [N in ScaledName]: number }), processBytesMax: memoryBytesMax };
}

/** The values of `limits` before any ceiling was applied. */
const usual: { readonly [N in ScaledName]: number } = { ...limits };

function boundFor(bytes: number, at: { readonly small: number; readonly middle: number; readonly usual: number }) {
  const most = Math.min(bytes, memoryBytesDefault);
  return most < memoryBytesMiddle
    ? between(most, [memoryBytesMin, at.small], [memoryBytesMiddle, at.middle])
    : between(most, [memoryBytesMiddle, at.middle], [memoryBytesDefault, at.usual]);
}

/** The straight line through two points. */
function between(at: number, [fromX, fromY]: readonly [number, number], [toX, toY]: readonly [number, number]): number {
  return fromY + ((at - fromX) / (toX - fromX)) * (toY - fromY);
}

/** Sets the bounds for a ceiling, here and in all threads that start from now on. At the default ceiling they stay. */
export function applyMemoryMax(memoryBytesMax: number): void {
  if (memoryBytesMax === limits.processBytesMax) return;
  const bounds = limitsFor(memoryBytesMax);
  Object.assign(limits, bounds);
  passLimits(bounds);
}
