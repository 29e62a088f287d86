// Adds up all bounds of memory: every part that callers can make grow, as bounded by `limits`; overhead where a bound
// counts something other than memory; and the process at rest. The sum must stay below `processBytesMax` (I4), for every
// ceiling that may be set (memory-profile.ts). memory-budget.test.ts checks the sum, and that every bound in bytes or
// characters is listed here.
import type { limits as known, LimitName } from './limits.ts';

type Limits = { readonly [N in LimitName]: (typeof known)[N] extends number ? number : (typeof known)[N] };

/** A part of the process's memory. */
export interface MemoryPart {
  readonly what: string;
  readonly bytes: number;
  /** The bounds that it is computed from. */
  readonly of: readonly LimitName[];
  /** True for objects on the main thread's heap, which stay for a while after their last use. */
  readonly isHeap?: boolean;
}

const MIB = 1024 * 1024;

/**
 * Measured: the main thread with the program on its heap (86, of which young objects 32 from a ceiling of 512 MiB on), the writer, sealer, reader and search threads (11 to 13
 * each), and some of the page caches of database connections. The code of Node.js (58 MiB), which is mapped from its file, does not
 * count (base/memory/taken-memory.ts).
 */
const restBytes = 136 * MIB;
/** Measured: overhead of a cache entry with a short key. */
const entryBytes = 240;
/** A string takes two bytes for each character when one of them is beyond Latin-1. */
const bytesOfChar = 2;
/**
 * Garbage on the heap before a collection, as a share of live objects: an allowance, which V8 does not guarantee. The
 * measured sum (test/process/memory.test.ts) is far below.
 */
const garbageShare = 0.15;

/** The parts that callers can make grow. */
export function memoryParts(limits: Limits): readonly MemoryPart[] {
  return [
    {
      what: 'the process at rest',
      bytes: restBytes,
      of: ['pageCacheBytes', 'pageCacheBytesPassing', 'threadYoungMib'],
    },
    ...passing(limits),
    ...remembered(limits),
    ...keptInMaps(limits),
    ...worked(limits),
  ];
}

/** The sum, in bytes. */
export function memorySum(limits: Limits): number {
  const parts = memoryParts(limits);
  const heap = parts.reduce((sum, { bytes, isHeap }) => (isHeap === true ? sum + bytes : sum), 0);
  return parts.reduce((sum, { bytes }) => sum + bytes, heap * garbageShare);
}

/** Tables and window of brotli, which takes more than gzip, its input and its output. */
const compressorBytes = 512 * 1024;
/** Tables and window of zlib. */
const deflateBytes = 256 * 1024;

/** Data on its way in or out. */
function passing(l: Limits): MemoryPart[] {
  return [
    {
      what: 'what is on its way in or out: bodies, packets, the queue, answers, live streams, messages for subscribers',
      bytes: l.passingBytesMax + l.passingBytesReserve,
      of: [
        ...(['passingBytesMax', 'passingBytesReserve', 'receivedBytesMax', 'receivedBytesReserve'] as const),
        ...(['answerBytesMax', 'answerBytesReserve', 'liveBytesAllMax', 'liveBytesReserve'] as const),
        'liveMissedBytesMax' as const,
        ...(['queueBytesMax', 'queueBytesReserve', 'capacityWaiterBytesMax', 'capacityWaiterBytesReserve'] as const),
        ...(['unreadBytesMax', 'unreadBytesReserve', 'backlogBytesMax', 'backlogBytesReserve'] as const),
      ],
    },
    {
      what: 'a piece of each body and packet that waits for room',
      bytes: (l.receivedWaitingMax + l.receivedWaitingReserve) * 64 * 1024,
      of: [],
    },
    { what: 'one body more than its share: the first is taken', bytes: l.bodyBytesMax, of: ['bodyBytesMax'] },
    {
      what: 'messages on their way to subscribers, and their copy where they are kept',
      bytes: 2 * l.deliveryBytesMax,
      of: ['deliveryBytesMax'],
    },
    { what: 'answers that are being compressed', bytes: l.compressorsMax * compressorBytes, of: [] },
    {
      what: 'the last text of each stream of events, by which the next is compressed, and one piece that is',
      bytes:
        (l.liveStreamsMax + l.liveStreamsReserve + l.alarmStreamsMax + l.alarmStreamsReserve) * l.eventWindowBytes +
        2 * l.eventSliceBytes +
        deflateBytes,
      of: ['eventWindowBytes', 'eventSliceBytes'],
    },
    { what: 'the copy of a commit in the writer', bytes: l.commitBytesMax, of: ['commitBytesMax'] },
    {
      what: 'statements that wait, and their copy in the writer',
      bytes: 2 * l.queueStatementBytesMax,
      of: ['queueStatementBytesMax'],
    },
    {
      what: 'connections, the first of them',
      bytes: l.connectionsWithin * l.connectionBytesTls,
      of: [],
    },
  ];
}

/** Caches of stored data. */
function remembered(l: Limits): MemoryPart[] {
  return [
    {
      what: 'what is remembered: devices, topics, users, keys, tokens, gateways, rules, filters and stored sessions',
      bytes: l.rememberedBytesMax,
      of: [
        ...(['rememberedBytesMax', 'directoryBytesMax', 'topicsCachedBytesMax', 'rareTopicsCachedBytesMax'] as const),
        ...([
          'wantedTopicsCachedBytesMax',
          'recipientsCachedBytesMax',
          'usersCachedBytesMax',
          'keysCachedBytesMax',
          'tokensCachedBytesMax',
          'formerIdsCachedBytesMax',
        ] as const),
        ...(['gatewaysCachedBytesMax', 'ruleBytesMax', 'watchValueBytesMax', 'liveFilterBytesMax'] as const),
        ...(['storedSessionBytesMax', 'storedMatchesBytesMax', 'duplicateSessionBytesMax'] as const),
      ],
      isHeap: true,
    },
    {
      what: 'rules as they are evaluated, and what waits for them',
      bytes: l.sortedRuleBytesMax + l.watchQueueBytesMax,
      of: ['sortedRuleBytesMax', 'watchQueueBytesMax'],
      isHeap: true,
    },
    {
      what: 'results of rules that are stored next, with the messages of one firing more',
      bytes: l.watchResultChars * bytesOfChar + l.firingTextBytesMax,
      of: ['firingTextBytesMax'],
    },
    {
      what: 'how often sensors and gateways are usually heard, and which alarms are open',
      bytes: l.sensorHabitBytesMax + l.gatewayHabitBytesMax + 2 * l.ruleAlarmsOpenAllMax * entryBytes,
      of: ['sensorHabitBytesMax', 'gatewayHabitBytesMax'],
    },
    { what: 'names of accounts', bytes: l.accountNamesBytesMax, of: ['accountNamesBytesMax'], isHeap: true },
    {
      what: 'statements of the reading connection and of the writing one',
      bytes: 2 * l.statementsCachedBytesMax,
      of: ['statementsCachedBytesMax'],
    },
    {
      what: 'datapoints of the log: typed arrays, a segment begun, and four tables of numbers for the first sensors',
      bytes: l.headRowsMax * headRowBytes + headSegmentBytes + l.sensorsWithin * sensorBytes,
      of: [],
    },
    {
      what: 'their texts, of which one commit more is taken',
      bytes: l.headTextCharsMax * bytesOfChar + l.commitBytesMax,
      of: ['headTextCharsMax', 'sealTextCharsMax'],
      isHeap: true,
    },
  ];
}

/** Bytes of a datapoint in the head: four numbers, and the distance to the previous datapoint. */
const headRowBytes = 4 * 8 + 4;
const headSegmentBytes = 32_768 * headRowBytes;
/** Bytes of a sensor that was pushed to: an entry in each of four tables. */
const sensorBytes = 4 * 8;

/** Maps with entries of constant size. */
function keptInMaps(l: Limits): MemoryPart[] {
  const perUser = 6;
  return [
    { what: 'callers', bytes: l.callersMax * 320, of: [], isHeap: true },
    { what: 'small facts about users', bytes: perUser * l.usersCachedMax * entryBytes, of: [], isHeap: true },
    {
      what: 'spans that wait for the collector',
      bytes: l.waitingSpansMax * (2 * entryBytes + l.spanAttributesMax * l.spanTextCharsMax),
      of: ['spanTextCharsMax'],
      isHeap: true,
    },
    { what: 'headers of usual pushes', bytes: l.fastPathHeaderCharsMax, of: ['fastPathHeaderCharsMax'] },
    { what: 'keys of webhooks', bytes: l.webhookKeysCachedMax * 1_200, of: [] },
    {
      what: 'sign-ins',
      bytes:
        (l.loginsRememberedMax +
          l.loginFailuresTrackedMax +
          l.registrationAddressesMax +
          2 * l.accountMailsTrackedMax) *
        entryBytes,
      of: [],
      isHeap: true,
    },
    { what: 'how often ids were changed', bytes: 2 * l.renamesTrackedMax * entryBytes, of: [], isHeap: true },
    {
      what: 'what follows devices to other ids',
      // As it was and as it will be, parsed, and as the statement.
      bytes: l.renamesUnderWayMax * 6 * l.renameFollowersBytesMax,
      of: ['renameFollowersBytesMax'],
      isHeap: true,
    },
    {
      what: 'requests for a new password',
      bytes: l.resetRequestsWaitingMax * (entryBytes + bytesOfChar * l.profileTextCharsMax),
      of: [],
      isHeap: true,
    },
    {
      what: 'gateways seen, allowances of strangers, uses of keys',
      bytes: (l.gatewaysSeenMax + l.strangerAllowancesMax + l.keysCachedMax) * entryBytes,
      of: [],
      isHeap: true,
    },
    {
      what: 'refused calls, and when calls were accepted',
      bytes: l.refusedOriginsMax * (3 * entryBytes + 2 * l.refusedReasonCharsMax),
      of: ['refusedReasonCharsMax'],
      isHeap: true,
    },
    {
      what: 'deliveries of settings to be noted, and those that are handed to a gateway',
      bytes: l.settingMarksWaitingMax * 2 * entryBytes + l.downlinkBatchMax * bytesOfChar * l.valueBytesMax,
      of: [],
    },
    { what: 'MQTT publishes, to tell repeats', bytes: l.duplicateMemoryMax * 26, of: [] },
  ];
}

/** Bytes of a sensor's last time in an import, beside its ids, which are ASCII. */
const importTimeBytes = 100;

/** Bytes of a last value of the log in a search: a number and its tests, in arrays that may be half empty, or are being copied. */
const loggedValueBytes = 2 * (8 + 4);

/** Memory in use while work is in progress. */
function worked(l: Limits): MemoryPart[] {
  return [
    { what: 'password hashes', bytes: l.hashesAtOnceMax * 20 * MIB, of: [] },
    {
      what: 'a body that is being parsed: one at a time',
      bytes: l.jsonEntriesMax * 16 + l.jsonContainersMax * 56 + l.jsonStringsMax * 32,
      of: [],
    },
    { what: 'memory for large bodies', bytes: l.bodyBuffersMax * l.bodyBufferBytes, of: [] },
    {
      what: 'imports: a line, a batch, what was read, and last times',
      bytes:
        (l.importsAtOnceMax + l.importsReserve) *
        (bytesOfChar * (l.importLineCharsMax + l.importBatchChars) +
          l.importTimesKeptCharsMax +
          l.importTimesKeptMax * importTimeBytes),
      of: ['importLineCharsMax', 'importTimesKeptCharsMax'],
    },
    {
      what: 'the reader thread: a step, chunks, texts',
      bytes:
        l.readBytes + l.decodedBytesMax + l.decodedBufferBytesMax + l.textBufferBytesMax + l.chunkTextCharsWanted * 4,
      of: ['decodedBytesMax', 'decodedBufferBytesMax', 'textBufferBytesMax'],
    },
    {
      what: 'the sealer thread: texts of some chunks, as they are and as they were packed',
      bytes: l.chunkTextCharsWanted * 8 + l.decodedBytesMax + l.decodedBufferBytesMax,
      of: [],
    },
    { what: 'chunks in the main thread', bytes: l.decodedBytesShortReads + l.decodedBufferBytesMax, of: [] },
    {
      what: 'the search thread: last values of the log, while they are filtered by',
      bytes: l.headRowsMax * loggedValueBytes + l.sensorsWithin * 8,
      of: [],
    },
    {
      what: 'questions of servers to one another: answers, as texts and parsed, with one MQTT client more, and its will',
      bytes:
        (l.questionsAtOnce + l.answersAtOnce) *
        2 *
        bytesOfChar *
        (l.answerCharsWanted + l.answerFilterChars + 2 * l.willBytesMax),
      of: ['answerCharsWanted', 'answerFilterChars'],
      isHeap: true,
    },
    { what: 'lists that are read', bytes: l.deviceStepBytes + l.listBytesMax, of: ['listBytesMax'] },
  ];
}

/** Bounds in bytes or characters that are not counted above, with the reasons. */
export const boundsOfOneThing: readonly { readonly why: string; readonly of: readonly LimitName[] }[] = [
  { why: 'what all of it is held to', of: ['processBytesMax'] },
  {
    why: 'a field, which is refused where it is longer and is weighed with what holds it',
    of: [
      ...(['valueBytesMax', 'nameCharsMax', 'descriptionBytesMax', 'deviceDescriptionBytesMax'] as const),
      ...(['deviceValueBytesMax', 'wordCharsMax', 'idCharsMax', 'idempotencyKeyCharsMax', 'messageCharsMax'] as const),
      ...(['alarmNoteCharsMax', 'alarmConditionCharsMax', 'alarmValueCharsMax'] as const),
      ...(['notificationBytesMax', 'passwordCharsMax', 'usernameCharsMax', 'knownUsernameCharsMax'] as const),
      ...([
        'knownPasswordCharsMax',
        'passwordHashCharsMax',
        'tokenCharsMax',
        'profileTextCharsMax',
        'linkSecretCharsMax',
      ] as const),
      ...(['profileListBytesMax', 'sessionAgentCharsMax', 'clientIdCharsMax', 'topicFilterBytesMax'] as const),
      ...(['topicBytesMax', 'willBytesMax', 'propertiesBytesMax', 'dropCharsMax', 'smallUnitBytesMax'] as const),
      'settingAckBytesMax',
    ],
  },
  {
    why: 'a part of one request, which ends with it; Node.js takes 16 KiB of address and headers',
    of: [
      ...([
        'headerTextCharsMax',
        'queryTextCharsMax',
        'filterCharsMax',
        'filterValueBytesMax',
        'searchCharsMax',
        'reasonCharsMax',
      ] as const),
      ...([
        'timeFormatCharsMax',
        'timeCharsMax',
        'importKeyCharsMax',
        'olderProseCharsMax',
        'expressionCharsMax',
      ] as const),
    ],
  },
  {
    why: 'a step in the background, one at a time, within what the heap has beside the parts',
    of: ['refreshStepBytesMax'],
  },
  { why: 'on disk; one request has one history, which is read at once', of: ['settingHistoryBytesMax'] },
  {
    why: 'a body or a packet, which counts among what is received until it is whole',
    of: [
      'smallBodyBytesMax',
      'importBodyBytesMax',
      'mqttPacketBytesMax',
      'filtersPacketBytesMax',
      'connectPacketBytesMax',
    ],
  },
  {
    why: 'what waits on one connection: within what a connection takes, or counted for its caller',
    of: [
      ...([
        'framePieceBytesMax',
        'proxyHeaderBytesMax',
        'fastPathPacketBytesMax',
        'fastPathBodyBytesMax',
        'fastPathHeadBytesMax',
        'bareHeadBytesMax',
        'bareNumberBytesMax',
      ] as const),
      ...([
        'fastPathAnswerBytesMax',
        'fastPathTopicBytesMax',
        'subscriberBytesMax',
        'earlyBytesMax',
        'liveBytesMax',
      ] as const),
    ],
  },
  {
    why: 'a message that is being sent, of which there are `sendingAtOnceMax` a channel',
    of: [
      ...([
        'sentCharsMax',
        'occasionValueCharsMax',
        'providerAnswerBytesMax',
        'smsCharsMax',
        'voiceCharsMax',
        'subjectCharsMax',
      ] as const),
      ...(['directMessageCharsMax', 'telegramCharsMax'] as const),
    ],
  },
  {
    why: 'a part of the messages on their way to subscribers',
    of: [
      'deliveryBytesReserve',
      'deliveryBytesEach',
      'deliveryBytesEachMin',
      'deliveryTurnBytes',
      'joinedWriteBytesMax',
    ],
  },
  {
    why: 'on the disk, or on its way to the reader of an archive, which is made while it is sent',
    of: [
      'archiveFileChars',
      'diskReserveBytesMax',
      'backupWalBytesMax',
      'damagedWalCopyBytesMax',
      'keptAnswerCharsMax',
      'chunkTextBytesMax',
      'idempotencyBytesMax',
      'idempotencyGuestBytesMax',
    ],
  },
  { why: 'of the command line, a process of its own', of: ['importArrayBytesMax', 'importBytesMax'] },
];
