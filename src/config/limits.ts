// Every bound of the service in one place: name, unit, reason, and, after "Beyond:", what happens when it is reached
// (I4). Constants only, so that any floor may import them. The values are those for 1 GiB of memory;
// memory-profile.ts has which of them are smaller under the default of 512 MiB and other ceilings (DUNDUN_MEMORY_MAX).

const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  // --- The process --------------------------------------------------------------------------------------------
  /**
   * The ceiling of the process's memory, 512 MiB where nothing is set, without what is mapped from files, bytes: with its threads, and all that callers can make
   * grow at its bound at the same time, with `connectionsWithin` connections and `sensorsWithin` sensors. Parts, about:
   * the process at rest with all its threads 136 MiB, data on its way in or out 190, what is remembered 360, the log 70,
   * work in progress 210 (memory-budget.ts has the list, its test the sum).
   */
  processBytesMax: 1024 * MIB,
  /** Connections included in `processBytesMax`; each further one takes `connectionBytes` more. */
  connectionsWithin: 250,
  /**
   * Sensors with a push since the start that are included in `processBytesMax`; each further one takes 32 bytes more,
   * in four tables.
   */
  sensorsWithin: 100_000,

  /**
   * Milliseconds between two looks at the memory of the process; share of the time that the main thread works in which it
   * counts as quiet, and such looks in a row after which memory is given back; bytes by which the process must have grown
   * since the last time for that.
   */
  memoryLookMs: 1_000,
  memoryQuietShare: 0.2,
  memoryQuietLooks: 3,
  memoryReclaimedBytesMin: 16 * MIB,
  /** Share of `processBytesMax` from which garbage is collected under load; milliseconds between two such collections. */
  memoryScarceShare: 0.85,
  memoryScarceMs: 5_000,

  // --- What is on its way in or out -------------------------------------------------------------------------------
  /**
   * Bytes of one caller when nobody else has any, and bytes reserved for others, of all these together: incomplete
   * bodies and packets, datapoints and MQTT publishes that wait for their commit, answers, live streams and messages to
   * subscribers that wait for their readers. Each kind has a bound of its own below, which says what happens beyond.
   */
  passingBytesMax: 78 * MIB,
  passingBytesReserve: 26 * MIB,

  // --- What is remembered -----------------------------------------------------------------------------------------
  /**
   * Bytes of all caches of stored data, about: devices, users, keys, tokens, gateways, topics, rules, filters and
   * sessions. Each has a bound of its own below. Beyond: the fullest cache drops its least recently used entry.
   */
  rememberedBytesMax: 238 * MIB,

  // --- Requests -----------------------------------------------------------------------------------------------
  /** A request body, bytes. Beyond: 413. */
  bodyBytesMax: 16 * MIB,
  /**
   * Bytes of incomplete bodies and MQTT packets of one caller, and bytes reserved for others; large callers share it.
   * Beyond: they are not read until there is room. If there is none in time, HTTP answers 503 with Retry-After, and
   * an MQTT connection is cut.
   */
  receivedBytesMax: 72 * MIB,
  receivedBytesReserve: 24 * MIB,
  /**
   * Milliseconds for which a body or packet waits for room; how many of one caller may wait, each with a piece of
   * some 64 KiB; and how many are reserved for others. Beyond: 503, or a cut, at once.
   */
  receivedWaitMs: 5_000,
  receivedWaitingMax: 150,
  receivedWaitingReserve: 50,
  /**
   * Milliseconds after which a body without progress is cut; the same where memory is scarce; milliseconds between
   * two checks.
   */
  bodyStallMs: 20_000,
  bodyStallScarceMs: 2_000,
  bodyStallLookMs: 1_000,
  /**
   * A request body, bytes, on all routes but those for datapoints, devices, projects and files, because a body is
   * parsed in one go. Beyond: 413.
   */
  smallBodyBytesMax: 1 * MIB,
  /**
   * Size and number of the reused buffers for large bodies, and bytes from which a body counts as large; other bodies
   * get memory of their own.
   */
  bodyBufferBytes: 3 * MIB,
  bodyBuffersMax: 4,
  bodyBufferBytesMin: 64 * KIB,
  /**
   * Bytes of the blocks into which all pieces of a body but its first are copied, because each piece costs some 100 bytes beside
   * its content. A body that has reached `bodyLargeBlockBytes` goes on in blocks of that size, which malloc gives back to the
   * system when they are freed.
   */
  bodyBlockBytes: 16 * KIB,
  bodyLargeBlockBytes: 256 * KIB,
  /** Datapoints in one push. Beyond: 413. Gateways in the field send up to 30 000. */
  pushDatapointsMax: 30_000,
  /** One datapoint value or one actuator's value as JSON, bytes. Beyond: 413. */
  valueBytesMax: 64 * KIB,
  /** Levels of nesting in a JSON body. Beyond: 400. */
  nestingLevelsMax: 32,
  /**
   * Bounds of a JSON body: arrays and objects; texts and keys, repeats included; and distinct keys. Each is several
   * times what 30 000 datapoints have. These numbers, not bytes, determine the time of parsing (up to 1 µs each, 3 µs
   * for a new key). Beyond: 413.
   */
  jsonContainersMax: 200_000,
  jsonStringsMax: 400_000,
  jsonKeysMax: 20_000,
  /**
   * The name of a device, a sensor, an actuator, a gateway, a project or a key, characters. Beyond: 400. Existing
   * longer ones stay.
   */
  nameCharsMax: 256,
  /**
   * One description (`meta`, `calib`, `location`, a unit, a kind, a domain, the text of a rule), bytes. Beyond: 413.
   * Existing longer ones stay.
   */
  descriptionBytesMax: 16 * KIB,
  /**
   * The descriptions and names of a device with all its parts, bytes: the device is in memory as one record. Beyond:
   * 413 for additions.
   */
  deviceDescriptionBytesMax: 256 * KIB,
  /** The values of all actuators of a device, bytes as JSON: they are in the same record. Beyond: 413 for additions. */
  deviceValueBytesMax: 1 * MIB,
  /**
   * An enumerated word (such as a visibility or a status) or a time, characters; and a header, characters. Beyond:
   * 400.
   */
  wordCharsMax: 64,
  headerTextCharsMax: 1 * KIB,
  /**
   * Ids, or names of columns, in one query parameter, characters: Node.js accepts 16 KiB of address and headers.
   * Beyond: 400.
   */
  queryTextCharsMax: 16 * KIB,
  /** Entries of arrays and objects of a JSON body. Beyond: 413. */
  jsonEntriesMax: 1_000_000,
  /** Sensors plus actuators of one device: the device is in memory as one record. Beyond: 413. */
  devicePartsMax: 10_000,
  /** An id of a device, sensor, actuator or gateway, characters. Beyond: 400. */
  idCharsMax: 256,
  /** An `Idempotency-Key`, characters. Beyond: 400. */
  idempotencyKeyCharsMax: 256,
  /** A `q` filter: conditions joined by `;`, and characters. Beyond: 400. */
  filterConditionsMax: 20,
  filterCharsMax: 4 * KIB,
  /**
   * The JSON text of a sensor's last value that a filter compares, bytes, so that nobody's long values make the lists of
   * others slow. Longer ones are equal to nothing.
   */
  filterValueBytesMax: 8 * KIB,
  /** A search text, characters. Beyond: 400. */
  searchCharsMax: 256,
  /** Milliseconds within which a whole request must arrive. Beyond: 408. */
  requestMsMax: 120_000,
  /**
   * Milliseconds within which the head of a request must arrive, so that holding a connection open costs a sender
   * more than a byte now and then. Beyond: 408.
   */
  headMsMax: 20_000,
  /** Milliseconds between two checks for requests that take too long: a head is cut after 25 s at the latest. */
  requestsCheckedMs: 5_000,
  /** Requests of one connection that Node.js has read and that wait for an earlier answer. Beyond: reading pauses. */
  pipelinedRequestsWanted: 50,
  /** The same within one piece of 64 KiB, because Node.js parses a piece to its end. Beyond: the connection is cut. */
  pipelinedRequestsMax: 2_500,
  /**
   * Milliseconds a TLS handshake may take: several round trips over a mobile network. Beyond: the connection is cut.
   */
  tlsHandshakeMsMax: 20_000,
  /**
   * Milliseconds for which a connection that is being closed still reads, so that its last answer arrives. Then: cut.
   */
  lastWordsMs: 2_000,
  /** The body of an import, bytes; it is streamed. Beyond: what came before is stored, and the answer says so. */
  importBodyBytesMax: 1024 * MIB,
  /**
   * Concurrent imports of one caller when nobody else has any, and imports reserved for others. Beyond: 503 with
   * Retry-After.
   */
  importsAtOnceMax: 12,
  importsReserve: 4,
  /**
   * The beginning of an imported file from which its format is detected: characters, lines, and keys of its objects
   * (up to 0.5 µs each). Bounded, because it is examined in one go.
   */
  importSampleChars: 64 * KIB,
  importSampleLines: 200,
  importSampleKeys: 20_000,
  /** Characters of a file that are joined before they are parsed, because each piece has a cost of its own. */
  importPieceChars: 16 * KIB,
  /** A line of an imported file, characters, and its columns. Beyond: the line is refused. */
  importLineCharsMax: 256 * KIB,
  importColumnsMax: 2_000,
  /** Datapoints of an import stored in one commit, and characters of their values and units. */
  importBatchDatapoints: 5_000,
  importBatchChars: 256 * KIB,
  /** Attempts to commit a batch of an import while the queue is full. Beyond: the import stops and reports where. */
  importAttemptsMax: 200,
  /** Refused lines in the report of an import. Beyond: only counted. */
  importRefusedMax: 100,
  /** Sensors that one import may create. Beyond: the lines of further ones are refused. */
  importSensorsMax: 1_000,
  /** Datapoints shown by a dry run. */
  importSamplesMax: 20,
  /** A key of an object in an imported file, characters; it becomes a column. Beyond: the line is refused. */
  importKeyCharsMax: 1 * KIB,
  /**
   * Sensors whose last time is kept, to resolve hours that clocks show twice, and characters of their ids. Beyond:
   * all are dropped.
   */
  importTimesKeptMax: 1_500,
  importTimesKeptCharsMax: 64 * KIB,
  /**
   * Bytes of a file that the command line sends in one request; and of a JSON array, which cannot be split. Beyond:
   * an array is refused.
   */
  importPartBytes: 4 * MIB,
  importArrayBytesMax: 16 * MIB,
  /** Attempts of the command line for each request; milliseconds before the second, doubled each time. */
  clientAttemptsMax: 8,
  clientRetryMs: 500,
  /** Milliseconds between two progress lines of a transfer without a terminal. */
  transferLoggedMs: 10_000,
  /** Refused lines that the command line shows. Beyond: only counted. */
  refusedShownMax: 20,
  /** A pattern of times, characters. Beyond: 400. */
  timeFormatCharsMax: 64,
  /**
   * Entries of X-Forwarded-For that are examined, from the last. Beyond: the last trusted proxy seen counts as the
   * client.
   */
  forwardedHopsMax: 20,
  /** A time in an imported file, characters; the longest pattern matches fewer. Beyond: not a time. */
  timeCharsMax: 256,
  /**
   * A PROXY protocol header, bytes (the longest known ones have some hundred), and milliseconds until it is complete.
   * Beyond: the connection is cut.
   */
  proxyHeaderBytesMax: 4 * KIB,
  proxyHeaderMsMax: 5_000,
  /** Milliseconds between two checks of these deadlines. */
  proxyHeaderLookMs: 200,
  /**
   * Milliseconds between two checks of the TLS certificate's files, and for which they must be unchanged before they
   * are read.
   */
  certificateLookMs: 1_000,
  certificateSettleMs: 1_000,
  /** Connections to the port of the metrics, and milliseconds for a request there. Beyond: refused; cut. */
  metricsConnectionsMax: 32,
  metricsMsMax: 10_000,
  /**
   * Milliseconds that a turn of the event loop should take; milliseconds left in each turn, however long everything
   * else takes, for work of all callers besides usual pushes (requests that begin, short reads, MQTT packets that the
   * broker handles, long work on requests); and milliseconds of one piece of long work (lines of a file, a step of a
   * list). Beyond: the work continues in a later turn, callers in rotation.
   */
  turnMsMax: 12,
  turnMsMin: 4,
  pieceMsMax: 3,
  /** Milliseconds that usual pushes, over MQTT and HTTP, take in a turn of the event loop. Beyond: they are taken in a later turn. */
  pushTurnMsMax: 20,
  /**
   * Usual pushes over HTTP that are under way to their commit. Beyond: connections are not read. More while the thread is not busy, by
   * steps up to the second; milliseconds between the steps.
   */
  pushesUnderWayMin: 8_000,
  pushesUnderWayMax: 100_000,
  pushRoomLookMs: 100,
  /**
   * The same in a turn behind one in which so many connections were accepted. Node.js accepts one of each listening socket in a turn
   * (`acceptQueuesMax`), so others probably wait to be accepted. And how many turns in a row are as short; beyond, every other one is,
   * so that whoever connects without a pause does not take the time of pushes.
   */
  pushTurnMsCrowded: 2,
  acceptedPerTurn: 16,
  crowdedTurnsMax: 100,
  /** Characters of empty lines that one step of reading a bulk request skips; other work may run between two steps. */
  blankCharsPerStep: 16 * KIB,
  /**
   * A caller that used more than so many milliseconds of the main thread lately (half of the sum is forgotten in each
   * half-life) waits for callers that used less, but never for more than `lightPiecesMax` of their pieces in a row.
   */
  recentWorkMsMax: 100,
  recentWorkHalfLifeMs: 500,
  lightPiecesMax: 8,
  /** Bytes of a body from which parsing it counts as a piece of long work. */
  longBodyBytesMin: 64 * KIB,
  /**
   * Milliseconds between two measurements of the event loop's delay; the delay from which it is logged; and between two
   * such log lines.
   */
  loopTickMs: 50,
  loopHeldMs: 200,
  loopLoggedMs: 10_000,
  /**
   * Lines of one kind (a level and a message) that the log writes in a window of time; the same at level debug, which
   * somebody switches on to see each line; the milliseconds of a window; and those between two looks for windows that have
   * ended. Beyond: lines are counted, and the count is written as one line when the window ends.
   */
  logLinesMax: 20,
  logDebugLinesMax: 6_000,
  logWindowMs: 60_000,
  logLookMs: 1_000,
  /** Kinds of lines of a level that are counted separately. Beyond: all others are one kind. */
  logKindsMax: 200,
  /** A sentence of a refusal that is reworded for older API versions, characters. Beyond: it stays as it is. */
  olderProseCharsMax: 4 * KIB,
  /**
   * Connections of HTTP and MQTT together, and how many of them are kept from the address that has the most; both
   * proportionally fewer where the process may open fewer descriptors, or may take less memory (6.4 GB). Beyond:
   * the address with the most connections loses its longest silent one, or is itself refused.
   */
  connectionsMax: 40_000,
  connectionsReserve: 4_000,
  /**
   * Measured bytes of a connection, idle or with what it may send before that is counted for its caller; the same
   * with TLS; and the share of the memory that all connections may take together.
   */
  connectionBytes: 40 * KIB,
  connectionBytesTls: 80 * KIB,
  connectionsMemoryShare: 0.25,
  /** Descriptors reserved for files and outgoing connections, such as webhooks; at most a quarter of all. */
  descriptorsReserve: 2_000,
  /** Share of one address's maximum from which its silent connections are tracked; milliseconds between two checks. */
  connectionsWatchedFrom: 0.75,
  connectionsLookMs: 5_000,
  /** Milliseconds between two log lines about scarce connections. */
  connectionsLoggedMs: 60_000,

  /**
   * Connections waiting to be accepted at one socket; the system may allow fewer. Beyond: the system drops the SYN,
   * which the client repeats after a second.
   */
  acceptBacklog: 4_096,
  /**
   * Sockets listening on one port, and descriptors that the process must have for each: a turn of the event loop
   * accepts one connection of each socket. Beyond: a new connection waits for further turns.
   */
  acceptQueuesMax: 32,
  acceptQueueDescriptors: 256,
  /**
   * Milliseconds to wait for another Dundun on this machine that is opening its ports, and between two checks. Beyond:
   * one socket for each port.
   */
  portLockMsMax: 2_000,
  portLockLookMs: 5,

  // --- Notifications ------------------------------------------------------------------------------------------
  /** An expression: characters, comparisons, values of one list, parentheses within each other. Beyond: 400. */
  expressionCharsMax: 4 * KIB,
  expressionComparisonsMax: 100,
  expressionItemsMax: 200,
  expressionDepthMax: 32,
  /** Devices and sensors that one notification watches, and users it writes to; each. Beyond: 400. */
  notificationEntriesMax: 1_000,
  /** Channels of one notification, which must differ. Beyond: 400. */
  notificationChannelsMax: 10,
  /** The text a notification sends, characters. Beyond: 413. */
  messageCharsMax: 4 * KIB,
  /** A notification's condition and its action as JSON, bytes each; a list has up to 1000 of both. Beyond: 413. */
  notificationBytesMax: 32 * KIB,
  /** Seconds of `throttling`, so that times stay exact to the millisecond. Beyond: 400. */
  throttlingSMax: 1_000_000_000_000,
  /** Seconds of `for` and of `silence`: a year. Beyond: 400. */
  ruleSecondsMax: 366 * 86_400,
  /** Datapoints that wait for the watcher of notifications. Beyond: it reads them from the log. */
  watchQueueMax: 20_000,
  /** Bytes of the datapoints that wait for the watcher. Beyond: the same. */
  watchQueueBytesMax: 5 * MIB,
  /**
   * Memory for the active rules, bytes, about: some 104 000 rules of one device each. An author may have
   * `ruleBytesMultiple` times what is free, so a single author may have nearly all. Beyond: 503.
   */
  ruleBytesMax: 106 * MIB,
  ruleBytesMultiple: 15,
  /**
   * Memory for what is derived from the rules of a device when a datapoint first concerns them, bytes. Beyond: the
   * derived data of another device is dropped, and derived again when needed.
   */
  sortedRuleBytesMax: 12 * MIB,
  /** Retry-After where there is no memory for more rules, seconds. */
  rulesRetryAfterS: 60,
  /**
   * Datapoints evaluated in one step, about; and datapoints without rules after which the watcher's position is
   * published.
   */
  watchStepDatapoints: 1_000,
  watchFollowStep: 1_000,
  /**
   * Steps that a change of a rule waits for, so that datapoints committed before it are evaluated with the old rule.
   * Beyond: it takes effect.
   */
  watchStepsBeforeChange: 50,
  /** Milliseconds for which the watcher gathers datapoints under constant load before it evaluates them. */
  watchGatherMs: 5,
  /** Firings written in one unit; and characters of their messages and of the states of rules in it, about. */
  watchFiringsMax: 250,
  watchResultChars: 512 * KIB,
  /**
   * Messages that the rules of one author may cause in a minute, KiB: one for each message, plus its text. Beyond:
   * the messages fail.
   */
  messagesKibPerMinuteMax: 120_000,
  /** Finished messages kept for one author. Beyond: the oldest are deleted. */
  messagesPerUserMax: 20_000,
  /** Waiting messages of one author, about. Beyond: the oldest fail. */
  messagesWaitingMax: 10_000,
  /** Bytes of the texts of one author's messages, about. Beyond: the oldest are deleted; those that wait fail. */
  messagesBytesPerUserMax: 16 * MIB,
  /**
   * The three bounds above are applied to an author once that many messages have been added since the last time, or
   * messages with that many bytes of text.
   */
  messagesTrimmedAt: 500,
  messagesTrimmedBytes: 1 * MIB,
  /** Bytes of the texts of all messages of one firing. Beyond: the firing records one failed message instead. */
  firingTextBytesMax: 2 * MIB,
  /** Messages being sent at once on one channel, and how many of them may be of one author. Beyond: they wait. */
  sendingAtOnceMax: 200,
  sendingPerAuthorMax: 50,
  /** Actuators set by rules in a second. Beyond: they wait. */
  actuationsPerSMax: 1_000,
  /**
   * Attempts to send a message before it fails; milliseconds before the second, doubled each time, up to the maximum.
   */
  sendAttemptsMax: 10,
  sendRetryMsMin: 5_000,
  sendRetryMsMax: 3_600_000,
  /** Milliseconds after which an attempt is aborted, in addition to its sender's time-out. */
  sendMsMax: 60_000,
  /**
   * Milliseconds that attempts in progress get when the service stops; then they are aborted, and repeated after the
   * next start.
   */
  outboxStopMs: 1_500,
  /** Datapoints evaluated by a dry run, and firings reported. Beyond: the answer says that it is cut. */
  dryRunDatapointsMax: 30_000,
  dryRunFiringsMax: 1_000,
  /** Sensors that a dry run may need. Beyond: 413. */
  dryRunSensorsMax: 100,
  /** Rules read in one step at start. */
  watchLoadStep: 1_000,
  /** Datapoints evaluated by a dry run before other work has a turn. */
  dryRunTurnDatapoints: 2_000,
  /** Milliseconds between two writes of the watcher's position, where nothing else is written. */
  watchNotedMs: 5_000,
  /**
   * Milliseconds before the watcher repeats a failed step, and the longest time it sleeps before it checks the clock.
   */
  watchRetryMs: 1_000,
  watchAlarmMsMax: 3_600_000,
  /** Milliseconds between two looks whether something is stored that the feed has not brought to the watcher. */
  watchLookMs: 5_000,
  /** Bytes of the watcher's cache of last values. Beyond: values are read when needed. */
  watchValueBytesMax: 8 * MIB,
  /** Characters of a value, as JSON, that a webhook's body carries beside the text. Beyond: it is left out. */
  occasionValueCharsMax: 1 * KIB,
  /** A message with its variables replaced, characters. Beyond: it is cut. */
  sentCharsMax: 8 * KIB,

  // --- Senders ------------------------------------------------------------------------------------------------
  /** Milliseconds that a provider may take for one attempt. Beyond: it is aborted, and repeated later. */
  providerMsMax: 15_000,
  /** Bytes of a provider's answer. Beyond: it is cut, and counts as unreadable. */
  providerAnswerBytesMax: 64 * KIB,
  /** Connections to one provider or webhook. Beyond: a message waits for one, within the time of its attempt. */
  providerConnectionsMax: 32,
  /** Milliseconds for which an idle connection is kept. */
  providerKeptMs: 5_000,
  /** The longest Retry-After of a provider that is obeyed, seconds. */
  retryAfterSMax: 86_400,
  /** Messages a second that providers accept: Twilio queues what exceeds a number's rate; calls are one a second. */
  smsPerSMax: 20,
  voicePerSMax: 1,
  /** X accepts 200 messages in 15 minutes. */
  twitterPerSMax: 200 / 900,
  emailPerSMax: 10,
  telegramPerSMax: 30,
  /** Protects the machine: webhooks are many providers, not one. */
  webhookPerSMax: 2_000,
  /** Characters of a message by channel. Beyond: it is cut, with an ellipsis. */
  smsCharsMax: 1_600,
  /** A call's script may have 4000 characters, and a character of the text may take six of them when it is escaped. */
  voiceCharsMax: 600,
  directMessageCharsMax: 10_000,
  telegramCharsMax: 4_096,
  subjectCharsMax: 78,
  /**
   * Cached ids of X accounts by name: their number, their bytes, and milliseconds for which one counts, because names
   * change hands.
   */
  accountNamesMax: 10_000,
  accountNamesBytesMax: 1 * MIB,
  accountNameMs: 24 * 3_600_000,
  /** Connections to all webhooks. Beyond: a message waits for one, within the time of its attempt. */
  webhookConnectionsMax: 1_000,

  // --- Lists --------------------------------------------------------------------------------------------------
  deviceListDefault: 20,
  deviceListMax: 1000,
  /** Positions of devices in one answer, which is streamed; some 100 bytes each, a fifth of that compressed. Beyond: 400. */
  devicePositionsMax: 5000,
  /** Domains that a list of them names. Beyond: the first of them by the alphabet. */
  domainsListedMax: 500,
  /** Entries of a list that is usually small, such as notifications; also the default. */
  recordListMax: 1000,
  /**
   * The highest `offset`, and the highest `limit` where it has no other bound: stores count in 64 bits. Beyond: 400.
   */
  listEntriesMax: 1e18,
  datapointListDefault: 20,
  datapointListMax: 30_000,
  /** The last N datapoints of a read. Beyond: 400. */
  lastNMax: 30_000,
  /** Rows of one step of a long read, so that other work comes between. */
  readStepRows: 5_000,
  /** The same where each row becomes an object, which takes some 700 bytes until the step has been sent. */
  objectStepRows: 1_000,
  /** The same where rows are encoded as text in the reader thread. */
  textStepRows: 16_384,
  /**
   * Rows read in one step by computed reads (buckets, choices for charts), which return far fewer; and rows that such a
   * step should return, about.
   */
  foldStepRows: 100_000,
  foldRowsWanted: 5_000,
  /** Bytes of text buffers kept for reuse. Beyond: they are garbage-collected. */
  textBufferBytesMax: 4 * MIB,
  /** Rows that the main thread reads by itself; longer steps go to the reader thread. */
  mainThreadReadRows: 500,
  /**
   * Sensors whose last datapoints are read in one piece of work, some 10 µs each. Beyond: the others in the caller's
   * next turn.
   */
  latestStepSensors: 500,
  /**
   * Sensors of one list of which the datapoint measured last is looked for, because it is not the one pushed last. Beyond: the list
   * leaves `newest_value` out.
   */
  newestReadsMax: 100,
  /** Devices that have lost a sensor and are counted anew one by one at the next list by when they were heard. Beyond: all are. */
  recountedDevicesMax: 1_000,
  /** Milliseconds for a search of a list or a count, in the search thread. Beyond: 503. */
  searchMsMax: 3_000,
  /**
   * Milliseconds after `searchMsMax` after which the search thread is replaced, because it has not stopped by itself.
   */
  searchEndMsMax: 5_000,
  /**
   * Searches that wait for the search thread, in all and of one caller. Beyond: 503; if it is the total, for the
   * caller who has the most.
   */
  searchesWaitingMax: 1_000,
  searchesPerCallerMax: 200,
  /**
   * Long reads of one caller that wait for the reader thread, and places reserved for others; callers take turns.
   * Beyond: 503 with Retry-After. `readsAtOnceMax`: steps that the thread has at once, one in progress and the next,
   * so that the thread never waits.
   */
  readsWaitingMax: 750,
  readsWaitingReserve: 250,
  readsAtOnceMax: 2,
  /** Bytes of datapoints held for one long read, about; steps have fewer rows where values are large. */
  readBytes: 4 * MIB,
  /** Sensors read by one request. Beyond: 400. */
  sensorsReadMax: 1000,
  /**
   * Bytes of a JSON list that is made whole before any of it is sent. Beyond: the list is read a second time and
   * streamed.
   */
  listBytesMax: 3 * MIB,
  /**
   * Bytes of long answers of one caller that wait for their readers when nobody else's do, and bytes reserved for
   * others; large callers share it. Beyond: they wait, then 503 with Retry-After.
   */
  answerBytesMax: 48 * MIB,
  answerBytesReserve: 16 * MIB,
  /**
   * Bytes from which an answer counts in `answerBytesMax`; bytes reserved in advance for each row of a list, and for
   * the first step of a stream.
   */
  answerCountedBytesMin: 64 * KIB,
  answerRowBytes: 64,
  answerStepBytes: 1 * MIB,
  /**
   * Answers that are compressed at the same time, some 500 KiB of memory each; one caller may have half of them. Beyond: answers
   * are sent uncompressed. `compressedBytesMin`: shorter whole answers are not compressed, because they fit into one packet.
   */
  compressorsMax: 16,
  compressedBytesMin: 1_400,
  /**
   * Answers that wait for room in `answerBytesMax`, milliseconds for which one waits, and between two checks. Beyond:
   * 503.
   */
  answersWaitingMax: 1_000,
  answerWaitMs: 5_000,
  answerCapacityLookMs: 20,
  /** Datapoints of one sensor in a downsampled read (`points`). Beyond: 400. */
  pointsMax: 30_000,
  /**
   * Rows of one Parquet row group, and characters of its texts: they are in memory together and written in one
   * piece.
   */
  parquetGroupRows: 4_000,
  parquetGroupChars: 1 * MIB,
  /** Milliseconds in which a reader of a stream must take some of it. Beyond: its connection is cut. */
  streamStallMs: 120_000,
  /** Whole records (devices, gateways, projects) read in one step of a long list. */
  recordStepRows: 100,
  /** Notifications read in one step of a list; each may have 64 KiB. */
  notificationStepRows: 50,
  /**
   * Bytes of devices in one step of a list, about (the first step, of `deviceListDefault` devices, may have more);
   * and sensors and actuators in one step, some 5 µs each, unless a single device has more.
   */
  deviceStepBytes: 4 * MIB,
  deviceStepParts: 500,
  /** Ids of devices, and of gateways, that a project names. Beyond: 400. */
  projectIdsMax: 10_000,
  /**
   * Shares of an owner's gateways and projects that give rights on devices, together: each device that is loaded takes
   * in those that reach it. Beyond: 403.
   */
  reachingSharesMax: 1_000,
  /** Devices reloaded in one turn of the event loop after such a share has changed, about 200 µs each. */
  devicesReloadedInTurn: 20,
  /**
   * Records in memory that are read anew in one step where another server has died, and their bytes unless a single one has more; and
   * milliseconds behind each step. Beyond: in the next step.
   */
  refreshStepMax: 100,
  refreshStepBytesMax: 256 * KIB,
  refreshPauseMs: 5,
  /** Attempts at a change of a project that others change meanwhile. Beyond: 503 with Retry-After. */
  outdatedAttemptsMax: 5,
  /** Projects read in one step of a long list; each may name many ids. */
  projectStepRows: 10,

  // --- Alarms -------------------------------------------------------------------------------------------------
  /** How often sensors, gateways and the storage are looked at for alarms, milliseconds; and at the earliest after one has sent again. */
  alarmSweepMs: 30_000,
  alarmSoonMs: 1_000,
  /** How often history that is beyond its bounds is removed, milliseconds. */
  alarmTrimMs: 3_600_000,
  /** An alarm that begins again within so many milliseconds is the one of before. */
  alarmReopenMs: 10 * 60_000,
  /** Alarms that are over, for each device or gateway, and for each user. Beyond: the oldest are removed. */
  alarmsPerDeviceMax: 200,
  alarmsPerUserMax: 5_000,
  /** Days for which alarms that are over are kept. */
  alarmHistoryDays: 400,
  /** Alarms open at a time: of the rules of one author, of the silent sensors of one owner, and of one owner's gateways. Beyond: not kept. */
  alarmsOpenMax: 1_000,
  /** Alarms of rules open at a time, together; as they become fewer, so does what one author may have. Beyond: not kept. */
  ruleAlarmsOpenAllMax: 10_000,
  /** Alarms opened in one look at all sensors or gateways. Beyond: in the next. */
  alarmsOpenedMax: 500,
  /** Bytes by which it is known how often sensors, and gateways, are usually heard (18 each). Beyond: further ones raise no alarm. */
  sensorHabitBytesMax: 8 * MIB,
  gatewayHabitBytesMax: MIB,
  /** Sensors looked at in one step, and datapoints from which a sensor's habit is learned after a start. */
  habitSensorsStep: 500,
  habitDatapoints: 20,
  /** Receptions closer than this, in milliseconds, are one: the parts of a push. */
  habitGapMsMin: 1_000,
  /** Gaps after which a habit is known. */
  habitGapsMin: 4,
  /** Silence is an alarm after so many usual intervals, and so many times the longest usual gap, and not before so many milliseconds. */
  silentIntervals: 5,
  silentGaps: 2,
  silentMsMin: 5 * 60_000,
  /** Milliseconds after which a gateway whose habit is not known is offline. */
  gatewayOfflineMs: 3_600_000,
  /** A note to an alarm, and the expression that is kept with it, characters. Beyond: 400; the expression is cut. */
  alarmNoteCharsMax: 1_000,
  alarmConditionCharsMax: 1_000,
  /** Characters of the value that is kept with an alarm. Beyond: it is left out. */
  alarmValueCharsMax: 1_000,
  /** How long an alarm may be snoozed, milliseconds. Beyond: 400. */
  alarmSnoozeMsMax: 90 * 24 * 3_600_000,
  /**
   * Changed alarms read in one step of a live stream; milliseconds between two steps while more is known to be there, and while
   * nothing is (`alarmStreamPauseMs`).
   */
  alarmChangesStep: 200,
  alarmStreamBehindMs: 100,
  /** Streams of alarms of one caller when nobody else has any, and streams reserved for others. Beyond: 429. */
  alarmStreamsMax: 500,
  alarmStreamsReserve: 250,
  alarmStreamPauseMs: 1_000,

  // --- Live streams -------------------------------------------------------------------------------------------
  /**
   * Live streams of one caller when nobody else has any, and streams reserved for others. Beyond: the caller with the
   * most loses its oldest, with a reason, or gets 429.
   */
  liveStreamsMax: 1_000,
  liveStreamsReserve: 250,
  /** Bytes waiting for the reader of one live stream, about. Beyond: it is cut, with a reason. */
  liveBytesMax: 4 * MIB,
  /**
   * Bytes waiting for the readers of all streams of one caller, and bytes reserved for others. Beyond: the stream is
   * cut, with a reason.
   */
  liveBytesAllMax: 48 * MIB,
  liveBytesReserve: 16 * MIB,
  /** Datapoints sent again to a reader that returns. Beyond: only the newest, after a `gap` event. */
  liveMissedMax: 1_000,
  /** Bytes of them, about. Beyond: only the newest, after a `gap` event. */
  liveMissedBytesMax: 64 * KIB,
  /** Milliseconds between heartbeats of a quiet stream; its token and permission are checked then too. */
  liveHeartbeatMs: 15_000,
  /**
   * Streams of events, of devices and of alarms, that are compressed: bytes of the last text that each holds, by which the next is
   * compressed, and bytes compressed at once.
   */
  eventWindowBytes: 1 * KIB,
  eventSliceBytes: 64 * KIB,
  /** Milliseconds in which a live reader must take what it was sent. Beyond: its connection is cut. */
  liveStallMs: 30_000,

  // --- Ingest -------------------------------------------------------------------------------------------------
  /**
   * Datapoints of one caller waiting for their commit when nobody else's do, and datapoints reserved for others;
   * large callers share it. Beyond: HTTP answers 503 with Retry-After; MQTT stops reading (back-pressure).
   */
  queueDatapointsMax: 120_000,
  queueDatapointsReserve: 40_000,
  /** Bytes of datapoints waiting for their commit, shared in the same way. Beyond: the same. */
  queueBytesMax: 48 * MIB,
  queueBytesReserve: 16 * MIB,
  /** Bytes of objects for one push in the queue, beside its datapoints, as counted against `queueBytesMax`; measured: 600. */
  queuedPushBytes: 400,
  /**
   * Messages over MQTT of one caller that wait for their commit, and reserved for others: as many as some commits take. Beyond:
   * connections are read on when fewer wait, because unread messages cost their bytes alone (decision 59).
   */
  queueMessagesMax: 8_000,
  queueMessagesReserve: 3_000,
  /**
   * Milliseconds that datapoints should wait for their commit at most, by the rate of the last commits; and how many datapoints
   * may wait even if that takes longer: three of the largest requests, which have been read and would have to be refused.
   * Beyond: as beyond `queueDatapointsMax`.
   */
  queueDelayMsMax: 1_000,
  queueDelayDatapointsMin: 90_000,
  /** Datapoints in one commit; the rest goes into the next one, so that no commit takes long. */
  commitDatapointsMax: 30_000,
  /**
   * Datapoints in one commit while sealing is behind. Larger pushes wait until sealing has caught up, so that a
   * caller who floods the log holds up nobody else.
   */
  catchUpDatapointsMax: 8_000,
  /** Milliseconds of the pause between two commits while sealing is behind, at most: the further, the longer. */
  sealingPauseMsMax: 100,
  /** Bytes in one commit, which are copied to the writer thread; a single larger push is still one commit. */
  commitBytesMax: 8 * MIB,
  /** Milliseconds for which a commit waits for more pushes, at most. */
  gatherMsMax: 8,
  /** Parameters of pacing the commits of a stream; domain/datapoints/ingest/commit-pacing.ts explains each. */
  commitPacing: {
    intervalMs: 8,
    datapointsMin: 10,
    datapointsAtOnce: 1_000,
    unpacedMsMin: 100,
    unpacedMsMax: 5_000,
    pacedMs: 200,
    pacedPhasesMax: 20,
  },
  /**
   * Milliseconds between two looks whether there is room on the way to subscribers for what other servers have committed; and after which
   * this server makes sure again that it is not taken for dead.
   */
  followedRoomMs: 5,
  followedRoomMsMax: 1_000,
  /** Milliseconds after which what MQTT sessions must get is written again, where the database was away; and in all. Beyond: it is refused. */
  mqttWriteRetryMs: 100,
  mqttWriteKeptMsMax: 600_000,
  /** Milliseconds after which a message for MQTT that waits to be stored holds up what others commit, where as much is on its way as may be. */
  routerHeldMs: 500,
  /** Statements of the registry and of MQTT sessions waiting for their commit. Beyond: 503. */
  queueStatementsMax: 50_000,
  /**
   * Bytes of the statements that wait, about; the writer thread holds a second copy. And bytes up to which a unit of
   * statements is never refused for this bound. Beyond: 503.
   */
  queueStatementBytesMax: 12 * MIB,
  smallUnitBytesMax: 4 * KIB,
  /**
   * Bytes of MQTT publishes of one caller that wait for room in the queue, some 75 000 short ones; bytes reserved for
   * others; and bytes that each publish counts besides its own. Beyond: the connection is cut.
   */
  capacityWaiterBytesMax: 60 * MIB,
  capacityWaiterBytesReserve: 20 * MIB,
  capacityWaiterBytes: 800,
  /** Waiting publishes of one caller that try again in a turn of the event loop. Beyond: in the next turn. */
  capacityWokenMax: 256,
  /** Milliseconds of a turn of the event loop for trying again, about. Beyond: in the next turn. */
  capacityWakeMsMax: 8,
  /**
   * Milliseconds for which a usual push waits, unread, for room in the queue: less than the patience of most clients.
   * Beyond: HTTP 503 with Retry-After. And how often that is looked at.
   */
  pushWaitMsMax: 3_000,
  pushWaitLookMs: 250,
  /** Retry-After when the queue is full, seconds. */
  busyRetryAfterS: 1,
  /** Milliseconds that a stop may take. Beyond: the process exits with 1. */
  stopMsMax: 10_000,
  /** Milliseconds of `stopMsMax` in which requests in progress may finish. Then: their connections are cut. */
  drainMsMax: 5_000,

  // --- Log and head -------------------------------------------------------------------------------------------
  /**
   * Datapoints in the log at which a pass of sealing begins: ten for each sensor in the log, but at least the minimum
   * and at most the maximum.
   */
  sealRowsMin: 200_000,
  sealRowsMax: 800_000,
  sealRowsPerSensor: 10,
  /**
   * Datapoints of one pass, as a multiple of the number at which it began, up to `sealRowsMax`. The rest of a longer
   * log goes into the next pass.
   */
  sealPassFactor: 1,
  /**
   * Datapoints in the log from which commits wait, as a multiple of the number at which a pass begins; or
   * `headRowsMax` if that is less.
   */
  sealBehindFactor: 2,
  /** Characters of texts in the log at which a pass begins. */
  sealTextCharsMax: 8 * MIB,
  /** Datapoints in one row of the log; a larger commit takes several. */
  logRowDatapointsMax: 5_000,
  /**
   * Datapoints up to which a log row is packed: so few fit, packed, into the page that a commit writes anyway. Packing
   * more costs more than writing them.
   */
  logPackedDatapointsMax: 127,
  /** Datapoints in the log from which it is sealed early, when nothing has arrived for `sealQuietMs` milliseconds. */
  sealQuietRowsMin: 10_000,
  /**
   * Rows of PostgreSQL’s log without datapoints, as messages between clients of several servers make them, from which it is sealed, and
   * bytes of them.
   */
  sealWithoutRows: 100_000,
  sealWithoutBytes: 16 * MIB,
  sealQuietMs: 30_000,
  /** Milliseconds after which the log is sealed however short it is. */
  sealEveryMs: 3_600_000,
  /** Compressed bytes, or sensors, of one unit of sealing, which is stored in one commit. */
  sealUnitBytes: 256 * KIB,
  sealUnitSensors: 1_000,
  /**
   * Milliseconds after which an interrupted pass is repeated; doubled each time, at most `sealRetryDoublings` times.
   */
  sealRetryMs: 1_000,
  sealRetryDoublings: 4,
  /** Log rows deleted in one transaction after a pass, and about how many datapoints they may hold. */
  clearRowsStep: 5_000,
  clearDatapointsStep: 50_000,
  /**
   * Sealed datapoints kept for the watcher when it is behind, about. Beyond: the oldest are never evaluated, with an
   * error in the log.
   */
  replayBacklogDatapointsMax: 10_000_000,
  /** Datapoints of the log in memory. Beyond: commits wait for sealing. */
  headRowsMax: 1_000_000,
  /**
   * Characters of texts in these datapoints, of two bytes at most. Beyond: the same. While sealing fails, beyond
   * either bound: 503 for datapoints.
   */
  headTextCharsMax: 16 * MIB,
  /**
   * On PostgreSQL: bytes of one of the tables that the log consists of, about, from which the next one is written to; and
   * milliseconds for which emptying one waits for whoever reads it. Beyond: it is emptied after the next pass.
   */
  logRingBytes: 16 * MIB,
  logRingLockMs: 50,
  /** Damaged log rows that are logged one by one. Beyond: only their number is logged. */
  damagedRowsLogged: 20,
  /**
   * Losses by a damaged write-ahead log that are remembered until an operator forgets them. Beyond: they are only logged
   * when they are found.
   */
  damagedWalsMax: 20,
  /** Copies of such logs that are kept, and bytes of one. Beyond: no copy. */
  damagedWalCopiesMax: 2,
  damagedWalCopyBytesMax: 80 * MIB,
  /** Milliseconds for which a connection waits while another process writes. Beyond: the write is refused. */
  databaseBusyMs: 10_000,
  /**
   * Connections to PostgreSQL: for short reads, for transactions beside the log, and for searches of lists. Beyond: the next
   * one waits, up to `postgresConnectMs`. Beside them stand those of the log, the registry's writer, heartbeats and MQTT.
   */
  postgresReadConnections: 4,
  postgresTransactionConnections: 2,
  postgresSearchConnections: 2,
  /** Devices that a filter on last values may list on PostgreSQL, where they are a parameter of the search. Beyond: it is refused. */
  lastValueDevicesMax: 1_000_000,
  /** Milliseconds for which a connection to PostgreSQL may take to be made, or a caller waits for a free one. */
  postgresConnectMs: 10_000,
  /** Milliseconds after which PostgreSQL ends a statement that is no search; and a transaction that its process left alone. */
  postgresStatementMs: 30_000,
  postgresIdleTransactionMs: 10_000,
  /** Milliseconds without an answer after which a connection is taken for lost: the network may be cut without a word. */
  postgresAnswerMs: 40_000,
  /**
   * Milliseconds for which a caller waits to hear whether its commit was made, where the connection broke meanwhile or a standby is waited
   * for. Beyond: it is told that nobody knows.
   */
  postgresOutcomeMs: 30_000,
  /** Milliseconds for which a connection of ours may take to end. Beyond: it is cut. */
  postgresEndMs: 2_000,
  /** Milliseconds after which a connection of a pool that nobody needed is closed. */
  postgresIdleMs: 60_000,
  /** Milliseconds between two tries to reach PostgreSQL, from the first to the slowest. */
  postgresRetryMsMin: 50,
  postgresRetryMsMax: 2_000,
  /** Times that a transaction is run where another one is in its way. Beyond: the write is refused. */
  postgresConflictsMax: 10,
  /** Statements that each connection keeps prepared. Beyond: they are parsed each time. */
  postgresStatementsPrepared: 500,
  /** Units of the registry that share a transaction. Beyond: they go into the next. */
  postgresUnitsPerCommit: 200,
  /** Milliseconds between two signs of life of a server in the database, and without one after which it may be declared dead. */
  nodeRenewMs: 1_000,
  nodeDeadMs: 5_000,
  /** Milliseconds for which others wait longer for one that has just started: it makes its reference, and collects what the start has left. */
  startSilenceMsMax: 10_000,
  /** Milliseconds for which `/metrics` waits for the figures of all servers. Beyond: it has none of them. */
  nodeFiguresMsMax: 1_000,
  /** Servers on one database. Beyond: the next one waits until one has ended. */
  serversMax: 1_000,
  /** Leases of a server that are shown. Beyond: left out. */
  nodeLeasesShown: 32,
  /**
   * Milliseconds for which a migration beside servers waits for a lock, because all that comes later waits behind it. Beyond: it is tried
   * again. Below the time for which a server may be silent.
   */
  migrationLockMs: 500,
  /**
   * Milliseconds for which every living server must have run a release before tables are changed, and bytes written, so that the release before
   * cannot go on: so long there is a way back. And between two looks whether they have.
   */
  upgradeSettledMs: 3_600_000,
  upgradeLookMs: 30_000,
  /** Milliseconds over which a server tells how many datapoints it stores a second, and between two looks at how many it has stored. */
  nodeRateMs: 60_000,
  nodeRateLookMs: 5_000,
  /** Milliseconds after which the position of the watcher of rules is stored in the database. */
  confirmMs: 1_000,
  /**
   * Milliseconds between two looks for what other servers have appended, while there are others, and while none is known; and between two
   * hints at own rows.
   */
  logPollMs: 75,
  logPollMsAlone: 1_000,
  logHintMs: 5,
  /** Bytes of messages between clients that share a commit of PostgreSQL’s log. Beyond: they go into the next. */
  commitRelayBytes: MIB,
  /**
   * Milliseconds after which a server looks again for what others have done before it answers anybody, and for which it looks at most.
   * Beyond: 503.
   */
  freshMsMax: 1_000,
  freshLookMsMax: 2_000,
  /** Milliseconds between two looks while what MQTT clients send waits for that. */
  sureRetryMs: 100,
  /** Milliseconds between two looks for what other servers announce, where the hint of that was lost. */
  announcementPollMs: 1_000,
  /** Announcements that are read and applied at a time. */
  announcementsAtOnce: 100,
  /**
   * Milliseconds for which a change waits until all other servers know of it; longer than one of them may be away without being dead.
   * Beyond: its caller is told.
   */
  announcementMsMax: 15_000,
  /**
   * Milliseconds for which a server waits for what others answer to a question, as for their MQTT clients. Beyond: it goes on without, and
   * says so; and for the next five seconds waits for that server less. And between two looks for answers, or for questions, where the hint of
   * those was lost.
   */
  answerMsMax: 2_000,
  answerLateMs: 250,
  answerPollMs: 100,
  questionPollMs: 500,
  /**
   * Questions on MQTT clients that a server asks at a time, each to all others, beside one on gateways; and questions that it answers at a
   * time. Beyond: they wait, and callers take turns. How many of one caller may wait, and milliseconds; beyond: `busy`.
   */
  questionsAtOnce: 2,
  questionsWaitingMax: 32,
  questionWaitMsMax: 10_000,
  answersAtOnce: 2,
  /**
   * Characters of an answer from which no further MQTT client is added to it, beyond: they are asked for next; and of the filters of a
   * client that are in it, beyond: only their number.
   */
  answerCharsWanted: 16 * KIB,
  answerFilterChars: 16 * KIB,
  /** Gateways in one question whether they are connected. Beyond: they are in the next. */
  gatewaysAskedAtOnce: 1_000,
  /**
   * Connections to a standby, from which history is read: of the main thread, and of the thread for long reads, whose statements are as many
   * as its steps. Beyond: the next read waits up to `standbyConnectMs`, and is answered by the primary then.
   */
  standbyConnections: 2,
  standbyConnectionsOfReader: 2,
  /** Milliseconds for which a connection to a standby may take to be made, and a statement there. Beyond: the primary is read from. */
  standbyConnectMs: 2_000,
  standbyAnswerMs: 5_000,
  /** Milliseconds for which a standby that did not answer, or is none, is left alone. */
  standbyRetryMs: 5_000,
  /** Milliseconds in which a standby was behind with all that was asked of it, or gave up, after which the log tells it. */
  standbyBehindMs: 60_000,
  /** How often it is looked at a start whether connections to the database are sessions. */
  postgresSessionLooks: 5,
  /** The earliest version of PostgreSQL that is supported. */
  postgresVersionMin: 14,
  /** The same of Citus, where it is used: it takes columns that are numbered by the database. */
  citusVersionMin: 12,
  /** Tables of another program that a refusal to use its database names. Beyond: they are left out. */
  foreignTablesNamed: 3,
  /** Shards of a group of tables. Beyond: the command is refused. */
  citusShardsMax: 1_024,
  /** Spans that wait to be sent, and spans of one message to the collector. Beyond: dropped. */
  waitingSpansMax: 256,
  sentSpansMax: 128,
  /** Attributes of a span, and characters of one. Beyond: left out, or cut. */
  spanAttributesMax: 4,
  spanTextCharsMax: 128,
  /** Milliseconds between two messages to the collector, and those for which one of them may take. Beyond: it is given up. */
  tracesIntervalMs: 1_000,
  tracesTimeoutMs: 3_000,
  /** Milliseconds between two test writes to a refusing disk. */
  storageProbeMs: 1_000,
  /** Retry-After when the disk has refused, seconds. */
  storageRetryAfterS: 10,
  /** Chunks of a removed sensor deleted in one transaction. */
  purgeChunksMax: 200,
  /** Bytes of decoded chunks cached in each thread that reads. Beyond: the oldest are dropped. */
  decodedBytesMax: 4 * MIB,
  /** The same in the main thread, which reads little at a time. */
  decodedBytesShortReads: 2 * MIB,
  /** Bytes of buffers kept for decoding, in each of these threads. Beyond: they are garbage-collected. */
  decodedBufferBytesMax: 3 * MIB,
  /**
   * How free pages (4 KiB each) of the database file are returned to the system. Pages kept free, at least; the same as
   * a share of the file; milliseconds of a time span: pages that stayed free during a whole span are returned; pages
   * returned in one step; milliseconds between two steps.
   */
  freePagesKept: 256,
  freePagesShareKept: 0.02,
  freePagesSpanMs: 150_000,
  freePagesStep: 256,
  freePagesEveryMs: 200,
  /**
   * Bytes of database pages cached by a connection (the system caches more); and by a connection that reads once
   * through all chunks and the log.
   */
  pageCacheBytes: 4 * MIB,
  pageCacheBytesPassing: 2 * MIB,
  /**
   * MiB of young and of old objects in each thread but the main one, whose are set by the launcher (bin/heap.js). Beyond
   * the second: the thread ends with an error. V8 lets a heap with a lower bound grow less before it collects.
   */
  threadYoungMib: 4,
  threadOldMib: 256,
  /** Milliseconds after its start, or without work, after which a thread collects all garbage and gives memory back. */
  threadRestMs: 1_000,
  /**
   * Pages of the write-ahead log that start a checkpoint (4 KiB each): that one moves what no reader still needs and waits
   * for nobody; and the same while the disk has less than `diskTightBytes` free.
   */
  walPagesMax: 4_000,
  walPagesTight: 1_000,
  /**
   * Bytes of that file that are kept after a checkpoint. Beyond: a checkpoint waits for readers, so that the file can be
   * used from its beginning again. The same on a tight disk: twice what starts a checkpoint there.
   */
  walBytesKept: 64 * MIB,
  walBytesTight: 8 * MIB,
  /**
   * Milliseconds for which such a checkpoint, and all writes with it, wait for readers; between two of them; and between
   * two looks at the file's size.
   */
  walWaitMs: 100,
  walRetryMs: 1_000,
  walLookMs: 50,
  /**
   * Bytes of the file from which it waits longer than any read of the service takes; such a time, milliseconds, and the
   * time between two. Only a reader outside the service, such as a backup, can hold it up beyond that.
   */
  walBytesLong: 512 * MIB,
  walLongWaitMs: 4_000,
  walLongRetryMs: 60_000,

  // --- The clock (decision 30) ----------------------------------------------------------------------------------
  /** Milliseconds by which the wall clock may differ from what is expected. Beyond: it is in doubt. */
  clockDifferenceMsMax: 60_000,
  /** Milliseconds between two comparisons of the wall clock with the monotonic one. */
  clockLookMs: 1_000,
  /** Milliseconds by which a datapoint may be dated later than now: clocks differ. Beyond: it lies in the future. */
  futureMsMin: 5 * 60_000,
  /** Milliseconds between two lines of the log that datapoints are dated in the future. Beyond: they are counted. */
  futureLogMs: 600_000,
  /** Milliseconds after which the comparison begins anew: less than the difference above is then drift, and no jump. */
  clockReferenceMs: 3_600_000,
  /**
   * Milliseconds by which a start may come after the newest stored datapoint: 30 days. Beyond: the wall clock is in
   * doubt, because a clock that is far ahead looks like a long stop.
   */
  clockStopMsMax: 30 * 24 * 3_600_000,
  /** Minutes for which an operator may have the wall clock be steady before it is trusted: a day. */
  clockSteadyMinutesMax: 1_440,

  // --- Retention ----------------------------------------------------------------------------------------------
  /** Days for which datapoints may be kept: a hundred years. Beyond: 400. The value 0 means for ever. */
  retentionDaysMax: 36_525,
  /** Milliseconds between two rounds of retention, and before a failed one is repeated. */
  retentionRoundMs: 3_600_000,
  retentionRetryMs: 60_000,
  /** Sensors processed in one step of a round. */
  retentionSensorsStep: 500,
  /** Chunks removed in one commit. */
  retentionChunksMax: 50,
  /** Steps for one sensor before the next most overdue sensor has its turn. */
  retentionStepsInTurn: 50,

  // --- Removing and correcting datapoints ----------------------------------------------------------------------
  /**
   * Removals and corrections of one caller that wait, and places reserved for others; callers take turns. Beyond: 503
   * with Retry-After. `editsAtOnceMax`: those that the writer thread has at once.
   */
  editsWaitingMax: 75,
  editsWaitingReserve: 25,
  editsAtOnceMax: 2,
  /** Characters of the reason for a removal or correction, which is kept in the audit log. Beyond: 400. */
  reasonCharsMax: 256,
  /** Milliseconds after which a step of a removal ends, and chunks or rows of the log that it changes at most. */
  editStepMs: 8,
  editStepPieces: 200,
  /**
   * Milliseconds after which a step that the disk refused is tried again. After so many failures in succession the caller
   * is answered 503, and a removal that has begun goes on without it, tried again less often; beyond `editsLeftMax` of
   * those, only the next start completes it.
   */
  editRetryMs: 1_000,
  editRetriesAnswered: 60,
  editLeftRetryMs: 60_000,
  editsLeftMax: 20,
  /** Chunks with damaged pages that a removal passes over. Beyond, it ends. */
  editDamagedChunksMax: 1_000,

  // --- Storage quota ------------------------------------------------------------------------------------------
  /**
   * Bytes of the disk that datapoints leave free, so that everything else continues; on a small disk the share
   * instead. Beyond: 507.
   */
  diskReserveBytesMax: 256 * MIB,
  diskReserveShare: 0.05,
  /**
   * Bytes of the reserve that must be free on the disk itself, for the write-ahead log; the rest may be free pages of
   * the database.
   */
  diskWorkBytes: 96 * MIB,
  /**
   * Free bytes of the disk below which the write-ahead log is kept short: more than `diskReserveBytesMax`, so that it is
   * short when room becomes scarce.
   */
  diskTightBytes: 384 * MIB,
  /**
   * Bytes that datapoints leave free on a disk of any size, besides what log, checkpoint and sealing may need. Beyond: 507.
   */
  diskMarginBytes: 4 * MIB,
  /** Bytes that sealing writes for a datapoint in the log, and for a character of its texts, at most, about. */
  sealedRowBytes: 16,
  sealedCharBytes: 1.5,
  /**
   * Bytes of the file `reserve` in the data folder: what a short write-ahead log, its checkpoint and sealing of a whole
   * pass need when others have filled the disk. Bytes that taking it leaves free, so that a small disk takes datapoints too.
   */
  reserveFileBytes: 24 * MIB,
  reserveFreeBytesMin: 16 * MIB,
  /** Bytes of it that only starts are given; bytes that a start needs, and is given in one step. */
  reserveStartBytes: 4 * MIB,
  reserveStartStep: 1 * MIB,
  /** Bytes of it taken in one step, and given up in one by the running service. */
  reserveTakenStep: 1 * MIB,
  reserveGivenStep: 8 * MIB,
  /** Milliseconds between two looks at the free space by the writer thread, and between two steps. */
  reserveLookMs: 1_000,
  reserveStepMs: 200,
  /** Share of the maximum, and of the reserve, that must be free in addition before datapoints are accepted again. */
  storageRecoveredShare: 0.02,
  /** Milliseconds between two measurements; and at least, where much is written to a disk that is nearly full. */
  storageMeasuredMs: 1_000,
  storageMeasuredMsMin: 20,
  /** Retry-After when the quota is reached, seconds. */
  storageFullRetryAfterS: 60,
  /** The smallest DUNDUN_DATA_MAX_BYTES; the write-ahead log alone may take as much. */
  dataBytesMin: 64 * MIB,

  // --- Backup and check ---------------------------------------------------------------------------------------
  /**
   * Pages copied in one step of a backup; after each it pauses as long as the step took, so that the service keeps the
   * disk.
   */
  backupStepPages: 256,
  /** The longest such pause, milliseconds. */
  backupPauseMsMax: 50,
  /** Bytes after which the copy is flushed to the disk, so that no commit waits behind all of it. */
  backupSyncBytes: 8 * MIB,
  /**
   * Bytes by which the write-ahead log may grow during a backup. Beyond half: no pauses. Beyond: the backup gives up.
   */
  backupWalBytesMax: 2 * 1024 * MIB,
  /** Bytes of a file read or copied at once. */
  fileStepBytes: 1 * MIB,
  /** Findings reported by one check. Beyond: it says that there are more. */
  checkFindingsMax: 100,
  /** Milliseconds between two updates of the progress line. */
  progressMs: 200,

  // --- Memory of repeats --------------------------------------------------------------------------------------
  /** Hours an `Idempotency-Key` is remembered. */
  idempotencyHours: 24,
  /**
   * Keys remembered for one caller; bytes of these keys with their answers; and bytes of the keys of all callers
   * without an account together. Beyond each, about: the oldest key is dropped.
   */
  idempotencyKeysMax: 10_000,
  idempotencyBytesMax: 8 * MIB,
  idempotencyGuestBytesMax: 128 * MIB,
  /** Keys after which the bounds above are applied again; and bytes of one caller's keys after which they are. */
  idempotencyTrimmedAt: 1_000,
  idempotencyTrimmedBytes: 1 * MIB,
  /** Callers whose keys are counted to apply these bounds. Beyond: all counts begin again. */
  idempotencyCallersCounted: 10_000,
  /** The answer to a bulk request that is stored under its key, characters. Beyond: 413, and nothing is stored. */
  keptAnswerCharsMax: 64 * KIB,
  /**
   * Fingerprints of MQTT publishes, by which repeats (DUP) are recognised. Beyond: one of the user with the most is
   * dropped, of the session with the most, the oldest, about.
   */
  duplicateMemoryMax: 262_144,
  /** Milliseconds for which those of a session are kept after its client has gone. */
  duplicateGoneMs: 3_600_000,
  /** Memory for the sessions that have such, bytes, about. Beyond: the longest gone of the user with the most. */
  duplicateSessionBytesMax: 16 * MIB,
  /** Sessions whose coming or going is stored with one publish. Beyond: with the next. */
  duplicateChangesMax: 100,
  /**
   * Publishes between two looks at the stored fingerprints. They are trimmed where they take more than
   * `duplicateDiskBytesMin` and more than twice the bytes that are still needed.
   */
  duplicateTrimmedAt: 65_536,
  duplicateDiskBytesMin: 1 * MIB,
  /** Bytes of fingerprints in one row, about; and rows trimmed in one commit. */
  duplicateRowBytes: 64 * KIB,
  duplicateRowsStep: 8,

  // --- Caches -------------------------------------------------------------------------------------------------
  /**
   * Devices with their parts, bytes: 100 000 devices with one sensor each (99 MiB), or fewer devices with 300 000
   * sensors together. Beyond: the least recently used is dropped.
   */
  directoryBytesMax: 112 * MIB,
  /** Gateways cached for MQTT, bytes: some 10 000. Beyond: the least recently used is dropped. */
  gatewaysCachedBytesMax: 8 * MIB,
  /** Gateways whose last heartbeat is in memory. Beyond: the oldest is dropped, and its stored time counts. */
  gatewaysSeenMax: 15_000,
  /** Milliseconds by which the stored `last_seen` may lag behind; a crash may lose as much. */
  lastSeenLagMsMax: 10_000,
  /** Last-seen times written in one unit. */
  lastSeenWrittenMax: 1_000,
  /**
   * Known callers (users, and addresses of guests). Beyond: the least recently used one that holds nothing is dropped.
   */
  callersMax: 20_000,
  /**
   * Cached users, each under up to three names, and bytes of their records. Beyond: the least recently used is dropped.
   */
  usersCachedMax: 10_000,
  usersCachedBytesMax: 8 * MIB,
  /**
   * Cached keys for signing users' webhooks, a KiB each. Beyond: the oldest is dropped, and derived again when
   * needed.
   */
  webhookKeysCachedMax: 2_000,
  /**
   * Prepared statements of a database connection, and their bytes, about. Beyond: the oldest is dropped, and prepared
   * again when needed.
   */
  statementsCachedMax: 300,
  statementsCachedBytesMax: 6 * MIB,
  /**
   * Milliseconds for which a cached user is used without checking the store. Changes by the command line are seen
   * after this delay.
   */
  userFreshMs: 1_000,
  /** A user whose `userFreshMs` end within so many milliseconds is looked up again by a request in advance. */
  userRenewMs: 250,
  /**
   * Verified tokens, bytes: some 7 000 tokens; and as much again for the headers that they came in. Beyond: the
   * oldest is dropped, and verified again when it comes.
   */
  tokensCachedBytesMax: 8 * MIB,

  // --- Sign-in ------------------------------------------------------------------------------------------------
  /** Verified logins that are cached. */
  loginsRememberedMax: 20_000,
  /** Milliseconds for which a login is cached. */
  loginRememberedMs: 600_000,
  /** Concurrent password hashes; each takes some 20 MiB and tens of milliseconds. */
  hashesAtOnceMax: 2,
  /** Memory of a hash of a new password, KiB: with two passes and one lane OWASP's second recommendation for argon2id. */
  hashKib: 19_456,
  /**
   * Password checks of one address that wait for that, and checks reserved for other addresses; addresses take turns. A
   * check needs no hash where the same login has been verified while it waited. Milliseconds that a check waits. Beyond:
   * 503, or CONNACK 3.
   */
  hashesWaitingMax: 3_000,
  hashesWaitingReserve: 1_000,
  hashesWaitMsMax: 10_000,
  /** Milliseconds between two searches of a full queue for waiting requests whose connection has ended. */
  goneSweptMs: 100,
  /** Failed logins of one name from one address before they are slowed down (429). */
  loginFailuresMax: 10,
  /** Milliseconds after which failures are forgotten. Each further failure doubles the wait, up to this time. */
  loginFailureForgetMs: 900_000,
  /**
   * Pairs of user and address whose refused calls are counted, and as many whose last accepted call is remembered. Beyond:
   * the oldest is dropped.
   */
  refusedOriginsMax: 1_000,
  /** Milliseconds that a client is slowed down at most, after calls that were all refused. */
  refusedWaitMsMax: 60_000,
  /** Milliseconds after which refused calls are forgotten where no more come. */
  refusedForgetMs: 900_000,
  /** Milliseconds after an accepted call for which logins of its user and address are not slowed down. */
  refusedLoginGraceMs: 60_000,
  /** Characters that are kept of why a call was refused. */
  refusedReasonCharsMax: 200,
  /** Pairs of name and address whose failures are counted. Beyond: the oldest is dropped. */
  loginFailuresTrackedMax: 14_000,
  /** A new password, characters. Beyond: 400. */
  passwordCharsMax: 256,
  /** The highest `sms_credit` of a user: paid messages a day. Beyond: 400. */
  smsCreditMax: 1_000_000_000,
  /** A new username, characters. Beyond: 400. */
  usernameCharsMax: 64,
  /**
   * A username and a password at sign-in, characters. More than for new ones, because earlier releases accepted
   * longer ones. Beyond: 400, or CONNACK 4.
   */
  knownUsernameCharsMax: 128,
  knownPasswordCharsMax: 1024,
  /** An imported password hash, characters. Beyond: 400. */
  passwordHashCharsMax: 512,
  /** An Authorization header, characters; ours have some 400. Beyond: 401. */
  tokenCharsMax: 2 * KIB,
  /** An entry of a profile (a name, an address), characters, and entries of one of its lists. Beyond: 400. */
  profileTextCharsMax: 512,
  profileEntriesMax: 20,
  /** One list of a profile as JSON, bytes. Beyond: 413. */
  profileListBytesMax: 64 * KIB,
  /** Self-registered accounts in an hour, from one address and in all. Beyond: 429. */
  registrationsPerAddressMax: 10,
  registrationsMax: 200,
  /** Addresses whose registrations are counted. Beyond: the oldest is dropped. */
  registrationAddressesMax: 5_000,
  /** How long a mailed link is good, and the window in which such mails are counted, milliseconds. */
  accountLinkMs: 30 * 60_000,
  /** Mailed links of one purpose that are good for one user. Beyond: the oldest ends. */
  accountLinksPerUserMax: 5,
  /** Mails of one kind to one user in a window. Beyond: none is sent, or 429 where its own user asks. */
  accountMailsPerUserMax: 3,
  /** Mails of all kinds and accounts to one mailbox in a window. Beyond: as above. */
  accountMailsPerMailboxMax: 10,
  /** Requests for a new password from one address in a window. Beyond: the same answer, and no mail. */
  accountMailsPerAddressMax: 20,
  /** Users, mailboxes and addresses for which they are counted, each. Beyond: the oldest is dropped. */
  accountMailsTrackedMax: 2_000,
  /** Accounts of one confirmed address that are mailed a link each, where the address is given instead of a name. */
  accountsPerMailboxMax: 5,
  /** Requests for a new password that wait to be looked at. Beyond: 503. */
  resetRequestsWaitingMax: 200,
  /** Archives of everything that one user has, sent at the same time. Beyond: 429 with Retry-After. */
  archivesPerUserMax: 1,
  archiveRetryAfterS: 30,
  /** Devices that have a file of their own in an archive; it holds some 600 bytes for each. Those beyond share files. */
  archiveDeviceFilesMax: 2_000,
  /** Rows of one file in an archive, about, because a spreadsheet takes 1 048 576. Beyond: the next file. */
  archiveFileRows: 1_000_000,
  /** Characters of one file in an archive, about, because many programs take no file of 4 GiB. Beyond: the next file. */
  archiveFileChars: 1024 * MIB,
  /** Records read for one step of an archive. */
  archiveStepRecords: 50,
  /** Sensors that an archive names as unreadable. Beyond: they are counted. */
  archiveProblemsMax: 1_000,
  /** The secret of a mailed link, characters; ours have 43. Beyond: 400. */
  linkSecretCharsMax: 128,
  /** Bytes that each datapoint counts for quotas; a value that is not a number counts its characters besides. */
  datapointBytesCounted: 16,
  /** Milliseconds between two writes of push charges; a crash may lose as much. */
  chargesWrittenMs: 5_000,
  /** Devices whose charges are written in one unit, so that no commit waits long. */
  chargesWrittenMax: 500,
  /** Charges that wait to be written. Beyond: they are written at once. */
  chargesDueMax: 10_000,
  /** Users whose charges one device in memory holds. Beyond: all are dropped, and made again with the next pushes. */
  chargesPerDeviceMax: 4,
  /** Devices whose strangers' pushes are counted in memory. Beyond: the count is loaded again with the next push. */
  strangerAllowancesMax: 20_000,
  /** Devices that one key names. Beyond: 400. */
  keyDevicesMax: 1_000,
  /** Cached API keys, and their bytes. Beyond: the least recently used is dropped. */
  keysCachedMax: 10_000,
  keysCachedBytesMax: 8 * MIB,
  /** Milliseconds between two writes of a key's last use. */
  keyUseNotedMs: 60_000,
  /** Milliseconds for which the former key of a user's webhooks stays valid. */
  webhookKeyOverlapMs: 24 * 3_600_000,
  /** Refresh sessions of one user. Beyond: the oldest ends. */
  refreshSessionsPerUserMax: 20,
  /** Milliseconds after which an unused refresh session ends. */
  refreshSessionIdleMs: 14 * 24 * 3_600_000,
  /** Milliseconds after which a refresh session ends even if it is used: a quarter of a year. Beyond: a new sign-in. */
  refreshSessionLifetimeMs: 90 * 24 * 3_600_000,
  /**
   * Milliseconds for which a replaced refresh secret is still accepted, for browser tabs that refresh at the same
   * time. Beyond: the session ends.
   */
  refreshSessionGraceMs: 30_000,
  /** Characters of the User-Agent that are stored. Beyond: cut. */
  sessionAgentCharsMax: 256,
  /** Days in which a handed-over device can be given back, or its shares restored. */
  handoverDays: 30,
  /** Days for which a device that got another id answers by the one before. */
  formerIdDays: 365,
  /** Former ids by which a device, or a sensor, may answer at once. Beyond: 422. */
  formerIdsMax: 5,
  /** The same for all sensors of a device. Beyond: 422. */
  formerSensorIdsMax: 200,
  /** API keys, rules and projects of a device's owner, of each, that name it and follow it to another id in one commit. Beyond: 422. */
  renameFollowersMax: 100,
  /** Their texts, bytes. Beyond: 422. */
  renameFollowersBytesMax: 512 * KIB,
  /** Devices that are being given another id at once, with what follows; one of them by a user. Beyond: 503. */
  renamesUnderWayMax: 2,
  /** Ids in all projects that follow in one commit: 100 ms of the writer. Beyond: 422. */
  renameProjectIdsMax: 20_000,
  /** Times a day that a device, or one of its sensors, gets another id. Beyond: 429. */
  renamesPerDeviceMax: 5,
  /** Times a day that a user (guests: an address) gives devices and sensors other ids. Beyond: 429. */
  renamesPerUserMax: 50,
  /** Devices, and users, whose changes of ids are counted. Beyond: those of the one counted longest ago start at zero. */
  renamesTrackedMax: 2_000,
  /** Memory for former ids that were asked for and where they lead, bytes. Beyond: they are looked up again. */
  formerIdsCachedBytesMax: 256 * KIB,
  /** A file of users to be imported, bytes. Beyond: it is refused. */
  importBytesMax: 64 * MIB,
  /** Lifetime of a token of version 2, seconds (spec 5.3). */
  tokenLifetimeS: 600,
  /** Longest time for which the former key of tokens may stay valid (`dundun secret rotate`), milliseconds. */
  tokenKeyOverlapMsMax: 24 * 3_600_000,
  /** Lifetime of a token of versions 1 and 1.1, seconds (spec 5.3). */
  olderTokenLifetimeS: 60,

  // --- MQTT ---------------------------------------------------------------------------------------------------
  /** An MQTT packet, bytes. Beyond: the connection is cut. */
  mqttPacketBytesMax: 16 * MIB,
  /**
   * A SUBSCRIBE or UNSUBSCRIBE packet, bytes, because it is handled in one go. It can hold all filters of a session,
   * or fewer of the longest. Beyond: the connection is cut.
   */
  filtersPacketBytesMax: 256 * KIB,
  /** Bytes of an incomplete MQTT packet from which it counts in the budget of received bytes. */
  mqttCountedBytesMin: 8 * KIB,
  /**
   * Milliseconds without progress of an MQTT packet that has begun, and between two checks. Beyond: the connection is
   * cut.
   */
  packetStallMs: 60_000,
  packetStallLookMs: 5_000,
  /**
   * Bytes of WebSocket frames that are parsed at once: first, and at most. The number doubles while parsing takes at
   * most `framePieceMsMax` milliseconds, and falls back to the first beyond. A frame has at least 6 bytes, and an empty
   * one takes some 5 µs. Beyond: in the caller's next turn.
   */
  framePieceBytesMin: 1 * KIB,
  framePieceBytesMax: 64 * KIB,
  framePieceMsMax: 0.5,

  /**
   * Bytes that are parsed at once of a chunked body, or of another request whose end is not known at its beginning. A
   * chunk has at least 6 bytes and takes some 2 µs. More than a head may have, because a faulty head must lie within
   * one piece to be answered. Beyond: in the caller's next turn.
   */
  parserPieceBytes: 20 * KIB,
  /**
   * Bytes of messages over WebSocket that wait for the broker. Beyond: no more are parsed until it has taken them.
   * Each message takes some 200 bytes besides.
   */
  unreadMessageBytes: 256,
  /** Milliseconds of silence after which the system probes whether an MQTT peer is still there. */
  tcpKeepAliveMs: 120_000,
  /**
   * Bytes of a piece of an incomplete MQTT packet that is copied, together with others. Beyond: the buffer that it was
   * received in is kept.
   */
  fastPathPacketBytesMax: 4 * KIB,
  /**
   * A body that the fast path takes, bytes: several times a reading with its timestamp. Beyond: Node.js's server
   * reads the request.
   */
  fastPathBodyBytesMax: 256,
  /**
   * Request line and headers of a request that the fast path takes, bytes. Beyond: Node.js's server reads the
   * request.
   */
  fastPathHeadBytesMax: 4 * KIB,
  /**
   * Head of a request with bare line feeds, bytes: as much as Node.js's server takes of any head. Held until it is complete.
   * Beyond: 400.
   */
  bareHeadBytesMax: 16 * KIB,
  /** A payload that may be a bare number, bytes. Beyond: it is no reading. */
  bareNumberBytesMax: 1_024,
  /** Distinct header texts that the fast path caches, and their characters. Beyond: the cache is cleared. */
  fastPathHeadersMax: 1_024,
  fastPathHeaderCharsMax: 256 * KIB,
  /** Pushes of one connection that are stored together. Beyond: the others wait for these. */
  fastPathPushesMax: 100,
  /**
   * Pushes that look usual, but whose sender or sensor is not in memory, which the framework has of one address at once. Beyond: their
   * connections wait unread, so that whoever else comes from there does not wait behind thousands of them.
   */
  unknownPushesMax: 100,
  /** Unread answers of a connection, bytes. Beyond: the fast path stops reading from the connection. */
  fastPathAnswerBytesMax: 64 * KIB,
  /**
   * A topic in the fast path, bytes: more than the topic of any sensor with ASCII ids. Beyond: the broker handles the
   * message.
   */
  fastPathTopicBytesMax: 576,
  /** Bytes waiting for one subscriber. Beyond: it is cut, with the reason in the log. */
  subscriberBytesMax: 256 * KIB,
  /**
   * Bytes waiting for subscribers of one caller whose sockets are full, when nobody else's are, and bytes reserved for
   * others. Beyond: the subscriber is cut, with the reason in the log. `subscriberStallMs`: milliseconds in which a
   * subscriber must take everything that waits for it. Beyond: it is cut.
   */
  unreadBytesMax: 48 * MIB,
  unreadBytesReserve: 16 * MIB,
  subscriberStallMs: 60_000,
  /**
   * Memory of messages waiting for subscribers of one caller whose sockets are not full (mainly short messages for
   * many subscribers), and memory reserved for others. Beyond: a subscriber for whom more than `backlogBytesEachMin`
   * of it waits is cut.
   */
  backlogBytesMax: 48 * MIB,
  backlogBytesReserve: 16 * MIB,
  backlogBytesEachMin: 16 * KIB,
  /** Bytes that a message counts besides its own until the socket has taken it; milliseconds between two checks. */
  backlogMessageBytes: 1 * KIB,
  backlogLookMs: 1_000,
  /**
   * Messages on their way to subscribers. Beyond: publishers who have more than a little of them wait with their
   * pushes.
   */
  deliveriesMax: 50_000,
  /**
   * Bytes of messages on their way to subscribers, without those for full sockets; how much of that one publisher
   * leaves to others; bytes that a message counts besides its own for each subscriber; and bytes that a publisher may
   * have in any case. Beyond: the pushes of that publisher wait as for a full queue.
   */
  deliveryBytesMax: 20 * MIB,
  deliveryBytesReserve: 5 * MIB,
  deliveryBytesEach: 256,
  deliveryBytesEachMin: 64 * KIB,
  /**
   * Bytes of messages handed out in one turn of the event loop, so that other work comes in between; and messages, each
   * counted once for each of its subscribers (0.3 µs each, and some 10 µs for each subscriber that is written to). Beyond:
   * in the next turn, and publishers take turns: `deliveryCreditMax` messages of one, counted in the same way.
   */
  deliveryTurnBytes: 64 * KIB,
  deliveryTurnMax: 1_000,
  deliveryCreditMax: 100,
  /**
   * Devices that are read at a time because their messages wait for subscribers. Beyond: the next one waits. And milliseconds between two
   * tries to read one, from the first to the slowest, and in all. Beyond: its messages are dropped.
   */
  deviceReadsMax: 4,
  deviceReadRetryMsMin: 100,
  deviceReadRetryMsMax: 2_000,
  deviceReadMsMax: 120_000,
  /** Milliseconds for which a stored session that is to pass to another process waits until all that was committed is in its queue. Beyond: it is asked for again. */
  handedOnMsMax: 10_000,
  /** The same while the log hands nothing on, and commits wait. */
  handedOnAtRestMsMax: 500,
  /** Milliseconds between two looks for that where devices are read. */
  handedOnLookMs: 5,
  /**
   * Bytes that a subscriber is written as one piece, which is made of all it was handed in a turn. Beyond: message by
   * message, so that no large one is copied.
   */
  joinedWriteBytesMax: 64 * KIB,
  /**
   * Packets of one connection that the broker is processing, not counting publishes of usual form: they may wait for
   * subscribers or for the disk. Beyond: the connection is not read on until all of them are done.
   */
  packetsUnderWayMax: 64,
  /**
   * Milliseconds from the connection, or the end of the TLS handshake, to a complete CONNECT. Beyond: the connection is
   * cut.
   */
  mqttConnectMsMax: 20_000,
  /**
   * Packets that a client may send before its CONNECT is answered, and their bytes in sum, as far as they are received
   * together. Beyond: the connection is cut. Packets received after these wait in the socket.
   */
  earlyPacketsMax: 20,
  earlyBytesMax: 64 * KIB,
  /** A CONNECT packet, bytes: as large as one can be by MQTT's own bounds. Beyond: the connection is cut. */
  connectPacketBytesMax: 384 * KIB,
  /** Milliseconds between two looks for connections that are silent for longer than their keep-alive allows. */
  silenceLookMs: 250,
  /** Milliseconds in which a client takes the last packet of its connection. Beyond: it is cut without. */
  lastWordsMsMax: 2_000,
  /** Milliseconds between two looks for wills whose delay is over. */
  willDelayLookMs: 500,
  /** Milliseconds between two looks for wills of a run of the service that ended without publishing them. */
  lostWillsEveryMs: 60_000,
  /** Topic and payload of a will, bytes; less than the largest value of a datapoint. Beyond: CONNACK 3. */
  willBytesMax: 16 * KIB,
  /** Filters of one session. Beyond: SUBACK 128. */
  sessionFiltersMax: 1_000,
  /**
   * Memory, bytes, about: for the filters of connected clients (some 9 000 filters with wildcards), and for stored
   * sessions with their filters of QoS above 0 (25 000 sessions with one filter each). A caller, or user, may have at
   * most as much as is free. Beyond: SUBACK 128 and CONNACK 3, respectively.
   */
  liveFilterBytesMax: 28 * MIB,
  storedSessionBytesMax: 44 * MIB,
  /** Topics whose matching stored sessions are cached, and their bytes. Beyond: the oldest is matched again. */
  storedMatchesCachedMax: 20_000,
  storedMatchesBytesMax: 8 * MIB,
  /**
   * Messages queued for one session; in a user's session, messages that guests published take at most half. Beyond:
   * the newest is not stored, only counted.
   */
  sessionMessagesMax: 10_000,
  /** Retained messages written at a time for a session whose connection closed before it was sent them. */
  retainedKeptAtOnce: 256,
  /** Milliseconds for which its next connection, or another server, waits for that. Beyond: the rest is not kept. */
  retainedKeptMsMax: 200,
  /**
   * Stored sessions; a user may have at most as many as are free. Beyond: a new persistent session is refused, CONNACK
   * 3.
   */
  sessionsMax: 100_000,
  /** Milliseconds after which a stored session of guest ends once its client is away. */
  guestSessionExpiryMs: 3_600_000,
  /** Milliseconds between two notes of the row up to which messages are kept for stored sessions: as much as may come twice after a kill. */
  keptRowNotedEveryMs: 500,
  /** Milliseconds for which commits say how they were pushed after the last other server has gone: its stored sessions are taken over by then. */
  saidForOthersMs: 120_000,
  /** Milliseconds between two looks for sessions of servers that are gone; how many are looked for at a time, and taken over side by side. */
  sessionsTakenEveryMs: 3_000,
  sessionsTakenAtOnce: 500,
  sessionsTakenTogether: 8,
  /** Milliseconds between two rounds of removing expired sessions. */
  sessionExpiryRoundMs: 60_000,
  /** Milliseconds by which the stored usage of a user's MQTT sessions (table `usage`) may lag behind. */
  mqttUsageLagMsMax: 2_000,
  /** Milliseconds in which refusals of MQTT quotas are logged at most once. */
  quotaLogMs: 60_000,
  /** Retained messages. Beyond: the newest is not retained, and counted. */
  retainedMax: 100_000,
  /** Inbound QoS 2 messages of one client awaiting PUBREL. Beyond: the connection is cut. */
  inflightMax: 1_000,
  /**
   * Messages of QoS 1 and 2 that a client of version 5 was sent and has not acknowledged, if its Receive Maximum allows as many.
   * Beyond: the others wait for its acknowledgements.
   */
  unacknowledgedMax: 1_000,
  /** Properties of a packet of MQTT 5, bytes: as much as one value of a datapoint. Beyond: the connection is closed (0x97). */
  propertiesBytesMax: 64 * KIB,
  /** Topic aliases that a client may set, as CONNACK tells it. Beyond: its connection is closed (0x94). */
  topicAliasesMax: 16,
  /** Topic aliases that are set for a client, if it takes as many. Beyond: the least recently used is set anew. */
  topicAliasesOutMax: 16,
  /** Characters of the words that a client is told besides a reason code. Beyond: the rest is left out. */
  reasonStringLengthMax: 256,
  /**
   * Groups of shared subscriptions; a caller may have at most as many as are free, and all guests together three quarters.
   * Groups that one session is in: a message goes out once for each. Beyond: SUBACK 0x97.
   */
  sharedGroupsMax: 10_000,
  sharedGroupsEachMax: 100,
  /** Members of one such group. Beyond: SUBACK 0x97. */
  sharedMembersMax: 1_000,
  /** Messages of a group that one member was given and has not acknowledged. Beyond: it is passed over. */
  sharedUnacknowledgedMax: 10_000,
  /** A client id, characters. Beyond: CONNACK 2. */
  clientIdCharsMax: 256,
  /**
   * Of clients as they are listed: subscriptions of each that are shown, beyond: only their number; and clients that are
   * looked at before other work has its turn.
   */
  clientSubscriptionsShown: 100,
  clientsLookedAtOnce: 500,
  /** Milliseconds between two looks at the figures under `$SYS/broker/`; admins who listen get those that have changed. */
  sysTopicsEveryMs: 10_000,
  /** A filter, bytes. Beyond: SUBACK 128. */
  topicFilterBytesMax: 1 * KIB,
  /**
   * A topic of a publish, bytes. Beyond: no longer topic belongs to anything, so the message is acknowledged and
   * dropped.
   */
  topicBytesMax: 1 * KIB,
  /**
   * Parsed topics in caches: their number, their bytes (some 100 000 of sensors), bytes of other topics, and bytes of
   * topics for which is cached whether anybody subscribes. Beyond: the least recently used is dropped.
   */
  topicsCachedMax: 150_000,
  topicsCachedBytesMax: 34 * MIB,
  rareTopicsCachedBytesMax: 4 * MIB,
  wantedTopicsCachedBytesMax: 16 * MIB,
  /**
   * Memory of what is remembered of topics' subscribers and of what each was granted. Beyond: the topic that was
   * published to longest ago is looked up again.
   */
  recipientsCachedBytesMax: 6 * MIB,
  /** Levels of a topic. Beyond: the connection is cut. */
  topicLevelsMax: 32,
  /**
   * Drops kept for one device, and for all devices, about. Beyond: the oldest is deleted; if it is the total, the
   * oldest of the owner who has the most.
   */
  dropsPerDeviceMax: 100,
  dropsMax: 30_000,
  /** A drop's topic and reason, characters. Beyond: cut. */
  dropCharsMax: 512,
  /** Drops waiting to be written. Beyond: only counted. */
  dropsWaitingMax: 1_000,

  /** Settings kept in the history of an actuator. Beyond: the oldest is deleted. */
  settingsPerActuatorMax: 500,
  /**
   * Bytes of the settings of all actuators of a device. Beyond: the oldest are deleted, but none that a gateway is still
   * to be given.
   */
  settingHistoryBytesMax: 256 * 1024,
  /** For how many seconds a value may be handed to a gateway that was not connected, where its actuator says nothing. */
  actuatorValidForS: 3_600,
  /** The most that an actuator may say: 30 days. */
  actuatorValidForSMax: 30 * 86_400,
  /** A device's answer to a setting, bytes of JSON. Beyond: 413; over MQTT dropped. */
  settingAckBytesMax: 4_096,
  /** Deliveries of settings that wait to be noted. Beyond: shown as not delivered. */
  settingMarksWaitingMax: 1_000,
  /** How often a gateway is tried to be given what it missed where the store refuses, and the pause between, milliseconds. */
  downlinkRetriesMax: 10,
  downlinkRetryMs: 3_000,
  /** Settings that are handed to a gateway at a time; those of one gateway alone are in memory. */
  downlinkBatchMax: 4,

  // --- Chunks -------------------------------------------------------------------------------------------------
  /** Datapoints of one chunk; sealing makes far smaller ones. Beyond: encoding throws, decoding reports corruption. */
  chunkDatapointsMax: 65_536,
  /** Datapoints of a chunk that sealing makes, unless more of them share one time. */
  chunkDatapointsWanted: 4096,
  /** Characters of its texts, about. */
  chunkTextCharsWanted: 1024 * 1024,
  /** Bytes from which a chunk is not merged any more: it is large because of its texts. */
  chunkBytesFull: 64 * KIB,
  /** Bytes of the distinct texts of one chunk. Beyond: encoding throws, decoding reports corruption. */
  chunkTextBytesMax: 64 * MIB,
  /**
   * Window of a compressed part of a chunk, as a power of two; writing needs 21. Beyond: the chunk counts as corrupt.
   */
  chunkWindowLogMax: 23,
} as const;

/** The name of a bound. */
export type LimitName = keyof typeof limits;
