// Every bound of the service in one place: name, unit, reason, and what happens there (I4).
// Constants only, so that any floor may import it.

const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  // --- The process --------------------------------------------------------------------------------------------
  /**
   * Memory of the whole process, bytes, when everything that callers can make grow has reached its bound at once, but for more
   * connections than `connectionsWithin` and sensors than `sensorsWithin`: the bounds below add up to less (memory-budget.ts, whose test says so). What
   * attacks of test/attacks bring it to is far less.
   */
  processBytesMax: 1024 * MIB,
  /** Of these: connections; each further one takes `connectionBytes` more. */
  connectionsWithin: 250,
  /** Of these: sensors that were pushed to since the start; each further one takes 32 bytes more, a place in four tables. */
  sensorsWithin: 100_000,

  // --- What is on its way in or out -------------------------------------------------------------------------------
  /**
   * Bytes of one caller when nobody else has any, and room kept for the others, of all these together: bodies and packets that
   * have not come whole, datapoints and MQTT publishes that wait for their commit, answers, live streams and messages to subscribers that wait
   * for their readers. Each of these has a bound of its own below, and the answer there.
   */
  passingBytesMax: 78 * MIB,
  passingBytesReserve: 26 * MIB,

  // --- What is remembered -----------------------------------------------------------------------------------------
  /**
   * Bytes of all that is held in memory of what is stored, about: devices, users, keys, tokens, gateways, topics, rules, filters
   * and sessions. Each has a bound of its own below. Beyond: the cache that is fullest forgets what was used longest ago.
   */
  rememberedBytesMax: 248 * MIB,

  // --- Requests -----------------------------------------------------------------------------------------------
  /** A request body, bytes. Beyond: 413. */
  bodyBytesMax: 16 * MIB,
  /**
   * Bytes of bodies and MQTT packets of one caller that have not come whole, and room kept for the others; who takes much
   * shares it. Beyond: they are read on when there is room, and where there is none in time it is 503 with Retry-After, and
   * an MQTT connection is cut.
   */
  receivedBytesMax: 72 * MIB,
  receivedBytesReserve: 24 * MIB,
  /**
   * Milliseconds for which one of them waits for room, and how many of one caller wait, each with a piece of some 64 KiB, and
   * room kept for the others. Beyond: the same answers at once.
   */
  receivedWaitMs: 5_000,
  receivedWaitingMax: 150,
  receivedWaitingReserve: 50,
  /** Milliseconds after which a body of which nothing more comes is cut; where memory is scarce; between two looks at it. */
  bodyStallMs: 20_000,
  bodyStallScarceMs: 2_000,
  bodyStallLookMs: 1_000,
  /** The same for all but datapoints, devices, projects and files: a body is parsed at once, and these need no more. Beyond: 413. */
  smallBodyBytesMax: 1 * MIB,
  /** Memory that is kept for large bodies, bytes each and how many; other bodies, and small ones, have memory of their own. */
  bodyBufferBytes: 3 * MIB,
  bodyBuffersMax: 4,
  bodyBufferBytesMin: 64 * KIB,
  /** Pieces of a body that are shorter are put together in blocks of so many bytes: each piece alone costs some 100 bytes. */
  bodyPieceBytesMin: 4 * KIB,
  bodyBlockBytes: 16 * KIB,
  /** Datapoints in one push. Beyond: 413. Gateways in the field send up to 30 000. */
  pushDatapointsMax: 30_000,
  /** One datapoint value or one actuator's value as JSON, bytes. Beyond: 413. */
  valueBytesMax: 64 * KIB,
  /** Levels of nesting in a JSON body. Beyond: 400. */
  nestingLevelsMax: 32,
  /**
   * Arrays and objects of a JSON body, its texts with the keys of its objects, repeats included, and its different keys:
   * several times what 30 000 datapoints have. These, not bytes, take time to parse (up to 1 µs each, a new key 3). Beyond: 413.
   */
  jsonContainersMax: 200_000,
  jsonStringsMax: 400_000,
  jsonKeysMax: 20_000,
  /** The name of a device, a sensor, an actuator, a gateway, a project or a key, characters. Beyond: 400. Older ones stay. */
  nameCharsMax: 256,
  /** One description (`meta`, `calib`, `location`, a unit, a kind, a domain, the words of a rule), bytes. Beyond: 413. Older ones stay. */
  descriptionBytesMax: 16 * KIB,
  /** The descriptions and names of a device with all its parts, bytes; it is held in memory as one record. Beyond: 413 for what adds to them. */
  deviceDescriptionBytesMax: 256 * KIB,
  /** The values of all actuators of a device, bytes as JSON; they are held in the same record. Beyond: 413 for what adds to them. */
  deviceValueBytesMax: 1 * MIB,
  /** A word of a few that are known, such as a visibility or a status; a time; and a header that is read, characters. Beyond: 400. */
  wordCharsMax: 64,
  headerTextCharsMax: 1 * KIB,
  /** Ids, or names of columns, in one parameter of a query, characters. Node.js takes 16 KiB of address and headers. Beyond: 400. */
  queryTextCharsMax: 16 * KIB,
  /** Entries of its arrays and objects, whatever they are. Beyond: 413. */
  jsonEntriesMax: 1_000_000,
  /** Sensors plus actuators of one device; it is held in memory as one record. Beyond: 413. */
  devicePartsMax: 10_000,
  /** Times a change of an actuator is judged anew because others changed it meanwhile. Beyond: 503. */
  actuatorAttemptsMax: 5,
  /** An id of a device, sensor, actuator or gateway, characters. Beyond: 400. */
  idCharsMax: 256,
  /** An `Idempotency-Key`, characters. Beyond: 400. */
  idempotencyKeyCharsMax: 256,
  /** A `q` filter: conditions joined by `;`, and characters. Beyond: 400. */
  filterConditionsMax: 20,
  filterCharsMax: 4 * KIB,
  /** A text that is searched for in names, characters. Beyond: 400. */
  searchCharsMax: 256,
  /** Milliseconds within which a whole request must have arrived; slower senders are cut (408). */
  requestMsMax: 120_000,
  /** The same for its head, so that a connection costs a stranger more than a byte now and then. Beyond: 408. */
  headMsMax: 20_000,
  /** Milliseconds between two looks for requests that take too long: a head is cut after 25 s at the latest. */
  requestsCheckedMs: 5_000,
  /** Requests of one connection that Node.js has read and that wait for an earlier answer. Beyond: it reads no more. */
  pipelinedRequestsWanted: 50,
  /** The same within one piece of 64 KiB, which is read whole. Beyond: the connection is cut. */
  pipelinedRequestsMax: 2_500,
  /** Milliseconds a TLS handshake may take: several round trips over a mobile network. Beyond: the connection is cut. */
  tlsHandshakeMsMax: 20_000,
  /** Milliseconds for which a connection that is being ended still reads, so that its last answer arrives. Then: cut. */
  lastWordsMs: 2_000,
  /** The body of an import, bytes; it is read as it comes. Beyond: what came before is stored, the answer says so. */
  importBodyBytesMax: 1024 * MIB,
  /** Imports of one caller at once when nobody else has any, and places kept for the others. Beyond: 503 with Retry-After. */
  importsAtOnceMax: 12,
  importsReserve: 4,
  /** What is looked at to find out how an imported file is written: characters, and lines. */
  importSampleChars: 64 * KIB,
  importSampleLines: 200,
  /** Characters of a file that are put together before they are looked at. */
  importPieceChars: 16 * KIB,
  /** A line of an imported file, characters, and its columns. Beyond: that line is refused. */
  importLineCharsMax: 256 * KIB,
  importColumnsMax: 2_000,
  /** Datapoints of an import stored in one commit, and characters of their values. */
  importBatchDatapoints: 5_000,
  importBatchChars: 256 * KIB,
  /** Times a commit of an import is tried while the queue is full. Beyond: it stops, and says where. */
  importAttemptsMax: 200,
  /** Refused lines that an import tells of. Beyond: they are counted. */
  importRefusedMax: 100,
  /** Sensors that one import makes. Beyond: their lines are refused. */
  importSensorsMax: 1_000,
  /** Datapoints shown by a dry run. */
  importSamplesMax: 20,
  /** Sensors whose last time is remembered where clocks show an hour twice. Beyond: all are forgotten. */
  importTimesKeptMax: 10_000,
  /** A part of a file that the command line sends in one request, bytes; a JSON array, which is not parted. */
  importPartBytes: 4 * MIB,
  importArrayBytesMax: 16 * MIB,
  /** Times the command line sends a part or asks for an answer; milliseconds to the second, each time twice as long. */
  clientAttemptsMax: 8,
  clientRetryMs: 500,
  /** Milliseconds between two lines that tell how far a transfer is where there is no terminal. */
  transferLoggedMs: 10_000,
  /** Refused lines that the command line shows. Beyond: it counts them. */
  refusedShownMax: 20,
  /** A pattern of times, characters. Beyond: 400. */
  timeFormatCharsMax: 64,
  /** Entries of X-Forwarded-For that are looked at, from the last. Beyond: the last trusted proxy seen counts as the client. */
  forwardedHopsMax: 20,
  /** A time in an imported file, characters; the longest pattern matches fewer. Beyond: it is no time. */
  timeCharsMax: 256,
  /** A header of the PROXY protocol, bytes (the longest known ones have some hundred), and milliseconds until it is there. Beyond: cut. */
  proxyHeaderBytesMax: 4 * KIB,
  proxyHeaderMsMax: 5_000,
  /** Milliseconds between two looks at how long connections have waited for that header. */
  proxyHeaderLookMs: 200,
  /** Milliseconds between two looks at the files of the TLS certificate, and for which they must not have changed to be read. */
  certificateLookMs: 1_000,
  certificateSettleMs: 1_000,
  /** Connections at once to the port of the figures, and milliseconds for a request there. Beyond: refused; cut. */
  metricsConnectionsMax: 32,
  metricsMsMax: 10_000,
  /**
   * Milliseconds of work on the main thread before other work has a turn: on one request (lines of a file), and of one kind
   * (requests that begin, short reads, packets of MQTT that are no usual publishes) for all callers together. Beyond: it goes on in the
   * next turn of the event loop.
   */
  turnMsMax: 10,
  /** Milliseconds between two looks at how late the event loop is; by which it may be late before what held it is logged; and between two such lines. */
  loopTickMs: 50,
  loopHeldMs: 200,
  loopLoggedMs: 10_000,
  /** A sentence of a refusal that is put into the words of older versions, characters. Beyond: it stays in newer words. */
  olderProseCharsMax: 4 * KIB,
  /**
   * Connections at once, HTTP and MQTT together, and those of them that are kept from the address that holds most; both in
   * proportion less where the process may not open as many descriptors, or the machine has too little memory. Beyond: the address with most connections loses
   * the one that is silent for longest, or is itself refused.
   */
  connectionsMax: 40_000,
  connectionsReserve: 4_000,
  /**
   * Bytes of memory of a connection, measured: idle, and with what it may send before that is counted; one in TLS; and the
   * share of the memory that they may take together.
   */
  connectionBytes: 40 * KIB,
  connectionBytesTls: 80 * KIB,
  connectionsMemoryShare: 0.25,
  /** Descriptors kept for files and for connections to others, webhooks for one; a quarter of all at most. */
  descriptorsReserve: 2_000,
  /** Part of what one address may hold from which on it is watched which connections are silent; milliseconds between two looks. */
  connectionsWatchedFrom: 0.75,
  connectionsLookMs: 5_000,
  /** Milliseconds between two lines of the log that say that connections are scarce. */
  connectionsLoggedMs: 60_000,

  /**
   * Connections that wait in one of these until they are accepted; the system may allow fewer. Beyond: the system drops what
   * begins a connection, which the client sends again after a second.
   */
  acceptBacklog: 4_096,
  /**
   * Sockets that listen on one port, and descriptors the process may have for each: a turn of the event loop accepts one
   * connection of each socket. Beyond: who has just connected waits for further turns.
   */
  acceptQueuesMax: 16,
  acceptQueueDescriptors: 256,
  /** Milliseconds for which another Dundun on this machine may be opening its ports, and between two looks. Beyond: one socket a port. */
  portTurnMsMax: 2_000,
  portTurnLookMs: 5,

  // --- Notifications ------------------------------------------------------------------------------------------
  /** An expression: characters, comparisons, values of one list, parentheses within each other. Beyond: 400. */
  expressionCharsMax: 4 * KIB,
  expressionComparisonsMax: 100,
  expressionItemsMax: 200,
  expressionDepthMax: 32,
  /** Devices and sensors that one notification watches, and users it writes to; each. Beyond: 400. */
  notificationEntriesMax: 1_000,
  /** Channels of one notification; each is named once. Beyond: 400. */
  notificationChannelsMax: 10,
  /** The text a notification sends, characters. Beyond: 413. */
  messageCharsMax: 4 * KIB,
  /** A notification's condition and its action as JSON, bytes each; a list has up to 1000 of both. Beyond: 413. */
  notificationBytesMax: 32 * KIB,
  /** Seconds of `throttling`, so that times stay exact to the millisecond. Beyond: 400. */
  throttlingSMax: 1_000_000_000_000,
  /** Seconds of `for` and of `silence`: a year. Beyond: 400. */
  ruleSecondsMax: 366 * 86_400,
  /** Datapoints that wait for the watcher of notifications. Beyond: it reads them from the store. */
  watchQueueMax: 20_000,
  /** Bytes of these; the same. */
  watchQueueBytesMax: 8 * MIB,
  /**
   * Memory for the active rules, bytes about: some 110 000 of one device; and how many times what is free an author may have: one
   * alone nearly all. Beyond: 503.
   */
  ruleBytesMax: 112 * MIB,
  ruleBytesMultiple: 15,
  /** Memory for what is made of them when a datapoint first concerns them. Beyond: that of another device is made anew. */
  sortedRuleBytesMax: 12 * MIB,
  /** Seconds a client is asked to wait where there is no memory for more rules. */
  rulesRetryAfterS: 60,
  /** Datapoints it looks at in one step, about; and how many it lets pass before it says how far it has come. */
  watchStepDatapoints: 1_000,
  watchFollowStep: 1_000,
  /** Steps of it that a change of a rule waits for, so that what came before is looked at with the rule as it was. */
  watchStepsBeforeChange: 50,
  /** Milliseconds for which it gathers while datapoints keep coming. */
  watchGatherMs: 5,
  /** Firings written in one unit. */
  watchFiringsMax: 250,
  /** What the rules of one author send in a minute, KiB, a message counting one and its text. Beyond: those messages fail. */
  messagesKibPerMinuteMax: 120_000,
  /** Messages of one author that are kept, those that wait beside them. Beyond: the oldest go. */
  messagesPerUserMax: 20_000,
  /** Messages of one author that wait. Beyond, about: the oldest fail. */
  messagesWaitingMax: 10_000,
  /** Messages of an author after which the oldest are looked for. */
  messagesTrimmedAt: 500,
  /** Messages being tried at once on one channel, and those of one author among them. Beyond: they wait. */
  sendingAtOnceMax: 200,
  sendingPerAuthorMax: 50,
  /** Actuators that rules set in a second. Beyond: they wait. */
  actuationsPerSMax: 1_000,
  /** Tries of a message before it fails; milliseconds to the second, each time twice as long, up to the longest. */
  sendAttemptsMax: 10,
  sendRetryMsMin: 5_000,
  sendRetryMsMax: 3_600_000,
  /** Milliseconds after which a try is cut off whatever its sender says. */
  sendMsMax: 60_000,
  /** Milliseconds of a stop that tries under way are given; then they are cut, and made again at the next start. */
  outboxStopMs: 1_500,
  /** Datapoints that a rule is tried on at once, and firings told of. Beyond: the answer says that it is cut. */
  dryRunDatapointsMax: 30_000,
  dryRunFiringsMax: 1_000,
  /** Sensors that it may need then. Beyond: 413. */
  dryRunSensorsMax: 100,
  /** Rules read in one step at start. */
  watchLoadStep: 1_000,
  /** Rules looked at before other work gets a turn. */
  watchTurnRules: 2_000,
  /** Milliseconds between two notes of how far it has come, where nothing else is written. */
  watchNotedMs: 5_000,
  /** Milliseconds after which it tries again what failed, and the longest it sleeps before it looks at the clock. */
  watchRetryMs: 1_000,
  watchAlarmMsMax: 3_600_000,
  /** Bytes of last values it holds in memory. Beyond: they are read when they are needed. */
  watchValueBytesMax: 8 * MIB,
  /** A message as it is sent, its variables replaced, characters. Beyond: the rest is left out. */
  sentCharsMax: 8 * KIB,

  // --- Senders ------------------------------------------------------------------------------------------------
  /** Milliseconds that a provider may take for one try. Beyond: the try is given up, and made again later. */
  providerMsMax: 15_000,
  /** Bytes of a provider's answer. Beyond: it is cut off there, and not understood. */
  providerAnswerBytesMax: 64 * KIB,
  /** Connections to one provider or webhook at once. Beyond: a message waits for one, as long as its try may take. */
  providerConnectionsMax: 32,
  /** Milliseconds that a connection is kept for the next message. */
  providerKeptMs: 5_000,
  /** Seconds that a provider may ask us to wait. Beyond: this long. */
  retryAfterSMax: 86_400,
  /** Messages a second that providers take: Twilio queues what is more than a number sends; calls are one a second. */
  smsPerSMax: 20,
  voicePerSMax: 1,
  /** 200 in 15 minutes. */
  twitterPerSMax: 200 / 900,
  emailPerSMax: 10,
  telegramPerSMax: 30,
  /** Not one provider but many; this guards the machine. */
  webhookPerSMax: 2_000,
  /** Characters of a message by channel. Beyond: the rest is left out, and an ellipsis says so. */
  smsCharsMax: 1_600,
  /** The script of a call has 4000 characters, and a character takes up to six in it. */
  voiceCharsMax: 600,
  directMessageCharsMax: 10_000,
  telegramCharsMax: 4_096,
  subjectCharsMax: 78,
  /** Names of accounts on X whose ids are remembered, their bytes, and for how many milliseconds; names change hands. */
  accountNamesMax: 10_000,
  accountNamesBytesMax: 2 * MIB,
  accountNameMs: 24 * 3_600_000,
  /** Connections to all webhooks at once; the same. */
  webhookConnectionsMax: 1_000,

  // --- Lists --------------------------------------------------------------------------------------------------
  deviceListDefault: 20,
  deviceListMax: 1000,
  /** Entries of a list that is small for most people, notifications for one; the default as well. */
  recordListMax: 1000,
  /** What `offset` passes over, and `limit` where it has no other bound; a store counts in 64 bits. Beyond: 400. */
  listEntriesMax: 1e18,
  datapointListDefault: 20,
  datapointListMax: 30_000,
  /** The last N datapoints of a read. Beyond: 400. */
  lastNMax: 30_000,
  /** Rows read from the store in one step of a long read, so that other work comes between. */
  readStepRows: 5_000,
  /** The same where an object is made of each row, which takes some 700 bytes until the step has gone out. */
  objectStepRows: 1_000,
  /** The same where rows are written as text by whoever reads them. */
  textStepRows: 16_384,
  /** The same where what is read is put together, and no row is made of it; and the rows of a step that come of it, about. */
  foldStepRows: 100_000,
  foldRowsWanted: 5_000,
  /** Bytes of sent texts that are kept to be written into again. Beyond: they are left to the collector. */
  textBufferBytesMax: 4 * MIB,
  /** Rows that the main thread reads by itself; longer steps are read by a thread of their own. */
  mainThreadReadRows: 500,
  /** Milliseconds that a list or a count may take to be found among what is stored; it runs in a thread of its own. Beyond: 503. */
  searchMsMax: 3_000,
  /** Milliseconds more after which the thread is given up, because it does not say that this time is up. */
  searchEndMsMax: 5_000,
  /** Searches that wait for that thread, and those of one caller among them. Beyond: 503. */
  searchesWaitingMax: 1_000,
  searchesPerCallerMax: 200,
  /**
   * Long reads of one caller that wait for the reader thread, and room kept for the others; they take turns. Beyond: 503 with
   * Retry-After. Steps that the thread has at once: one that it reads, and one for which it need not wait then.
   */
  readsWaitingMax: 750,
  readsWaitingReserve: 250,
  readsAtOnceMax: 2,
  /** Bytes of datapoints held for one long read, about; its steps have fewer rows where values are large. */
  readBytes: 4 * MIB,
  /** Sensors read by one request. Beyond: 400. */
  sensorsReadMax: 1000,
  /** Bytes of a JSON list made before any of it is sent. Beyond: it is read a second time and streamed. */
  listBytesMax: 4 * MIB,
  /**
   * Bytes of long answers of one caller that wait for their readers when nobody else's do, and room kept for the others; who
   * takes much shares it. Beyond: they wait, then 503 with Retry-After.
   */
  answerBytesMax: 48 * MIB,
  answerBytesReserve: 16 * MIB,
  /** Bytes from which on an answer counts there; what a list claims for each row, and a stream for its first step, before they are made. */
  answerCountedBytesMin: 64 * KIB,
  answerRowBytes: 64,
  answerStepBytes: 1 * MIB,
  /** Answers that wait for room there, milliseconds for which one waits, and between two looks. Beyond: 503. */
  answersWaitingMax: 1_000,
  answerWaitMs: 5_000,
  answerCapacityLookMs: 20,
  /** Datapoints a downsampled read (`points`) gives at most for one sensor. Beyond: 400. */
  pointsMax: 30_000,
  /** Rows of one row group of a Parquet file, and characters of text in it: what is held to be written together. */
  parquetGroupRows: 20_000,
  parquetGroupChars: 4 * MIB,
  /** Milliseconds in which a reader of a stream must take some of it. Beyond: its connection is cut. */
  streamStallMs: 120_000,
  /** Whole records (devices, gateways, projects) read in one step of a long list. */
  recordStepRows: 100,
  /** Notifications read in one step of a list; each may have 64 KiB. */
  notificationStepRows: 50,
  /** Bytes of devices read in one step of a list, about; the first step, of `deviceListDefault` devices, may have more. */
  deviceStepBytes: 4 * MIB,
  /** Ids of devices, and of gateways, that a project names. Beyond: 400. */
  projectIdsMax: 10_000,
  /** Projects read in one step of a long list; each may name many ids. */
  projectStepRows: 10,

  // --- Live streams -------------------------------------------------------------------------------------------
  /**
   * Live streams of one caller when nobody else has any, and room kept for the others. Beyond: who has most loses the
   * oldest, with the reason, or gets 429.
   */
  liveStreamsMax: 1_000,
  liveStreamsReserve: 250,
  /** Bytes waiting for the reader of one live stream, about. Beyond: it is cut, with the reason. */
  liveBytesMax: 4 * MIB,
  /** Bytes waiting for the readers of all streams of one caller, and room kept for the others; the same answer. */
  liveBytesAllMax: 48 * MIB,
  liveBytesReserve: 16 * MIB,
  /** Datapoints sent again to a reader that comes back. Beyond: the newest, after a `gap`. */
  liveMissedMax: 1_000,
  /** Milliseconds between signs of life of a quiet stream; its token and rights are looked at then too. */
  liveHeartbeatMs: 15_000,
  /** Milliseconds in which a live reader must take what it was sent. Beyond: its connection is cut. */
  liveStallMs: 30_000,

  // --- Ingest -------------------------------------------------------------------------------------------------
  /**
   * Datapoints of one caller waiting for their commit when nobody else's do, and room kept for the others; who takes much
   * shares it. Beyond: HTTP 503 with Retry-After; MQTT waits (back-pressure).
   */
  queueDatapointsMax: 120_000,
  queueDatapointsReserve: 40_000,
  /** Bytes of datapoints waiting for their commit, in the same way; the same answers. */
  queueBytesMax: 48 * MIB,
  queueBytesReserve: 16 * MIB,
  /** Datapoints in one commit; more waits for the next, so that no commit keeps the others waiting long. */
  commitDatapointsMax: 30_000,
  /** Datapoints in one commit while sealing is behind; larger pushes wait for it, so that who floods the log holds up nobody else. */
  catchUpDatapointsMax: 2_000,
  /** Bytes in one commit, in the same way; one push may be larger. They are copied to the thread that writes. */
  commitBytesMax: 8 * MIB,
  /** Milliseconds a commit waits at most while more comes in. */
  gatherMsMax: 8,
  /** When commits are spared where datapoints come in a stream; domain/datapoints/ingest/commit-pacing.ts says what each means. */
  commitPacing: {
    everyMs: 8,
    datapointsMin: 10,
    datapointsEnough: 1_000,
    freeMsMin: 100,
    freeMsMax: 5_000,
    sparedMs: 200,
    sparedMax: 20,
  },
  /** Statements of the registry and of MQTT sessions waiting for their commit. Beyond: 503. */
  queueStatementsMax: 50_000,
  /** Bytes of these, about, which the thread that writes holds again; of one unit that is never refused for them. Beyond: 503. */
  queueStatementBytesMax: 12 * MIB,
  smallUnitBytesMax: 4 * KIB,
  /**
   * Bytes of MQTT publishes of one caller that wait for room in the queue, some 75 000 short ones, and room kept for the others;
   * what one takes beside its payload. Beyond: the connection is cut.
   */
  capacityWaiterBytesMax: 60 * MIB,
  capacityWaiterBytesReserve: 20 * MIB,
  capacityWaiterBytes: 800,
  /** Seconds a client is asked to wait when the queue is full. */
  busyRetryAfterS: 1,
  /** Milliseconds a stop may take; then what is left is cut. */
  stopMsMax: 10_000,
  /** Milliseconds of these in which requests under way may finish; then their connections are cut. */
  drainMsMax: 5_000,

  // --- Log and head -------------------------------------------------------------------------------------------
  /** Datapoints in the log at which a pass of sealing begins: so many, or ten of each of its sensors, up to the most. */
  sealRowsMin: 200_000,
  sealRowsMax: 800_000,
  sealRowsPerSensor: 10,
  /** Times as many datapoints of a longer log go in one pass, up to the same most; the rest goes in the next. */
  sealPassFactor: 1,
  /** Times as many in the log for which commits wait, where that is less than `headRowsMax`. */
  sealBehindFactor: 2,
  /** Characters of values that are no numbers in the log; the same. */
  sealTextCharsMax: 8 * MIB,
  /** Datapoints in one row of the log; a larger commit takes several. */
  logRowDatapointsMax: 5_000,
  /** Datapoints of a row up to which they are packed: of so few a commit writes a page at most, and more are dearer to pack than to write. */
  logPackedDatapointsMax: 127,
  /** Datapoints in the log that are sealed when nothing has come for so many milliseconds; */
  sealQuietRowsMin: 10_000,
  sealQuietMs: 30_000,
  /** and milliseconds after which all are. */
  sealEveryMs: 3_600_000,
  /** Compressed bytes, or sensors, that a pass of sealing hands over for one commit. */
  sealUnitBytes: 256 * KIB,
  sealUnitSensors: 1_000,
  /** Milliseconds after which sealing is tried again when it was cut off; twice as long each time, so often at most. */
  sealRetryMs: 1_000,
  sealRetryDoublings: 4,
  /** Rows of the log that go in one transaction when they have been sealed, and their datapoints, about. */
  clearRowsStep: 5_000,
  clearDatapointsStep: 50_000,
  /** Sealed datapoints kept for the watcher of notifications when it is behind, about. Beyond: the oldest go unseen by it, with an error in the log. */
  replayBacklogDatapointsMax: 10_000_000,
  /** Datapoints of the log held in memory. Beyond: commits wait for sealing. */
  headRowsMax: 1_000_000,
  /** Characters of values that are no numbers among these, of two bytes at most; the same. While sealing fails, both: 503 for datapoints. */
  headTextCharsMax: 16 * MIB,
  /** Damaged rows of the log of which each is told at once; of more their number. */
  damagedRowsLogged: 20,
  /** Milliseconds for which a connection waits for its turn where another process writes. Beyond: the write is refused. */
  databaseBusyMs: 10_000,
  /** Milliseconds between two tries to write to a disk that has refused. */
  storageProbeMs: 1_000,
  /** Seconds a client is asked to wait when the storage has refused. */
  storageRetryAfterS: 10,
  /** Chunks of a removed sensor deleted in one transaction. */
  purgeChunksMax: 200,
  /** Bytes of decoded chunks held for reads, in each thread that reads. Beyond: the oldest go. */
  decodedBytesMax: 4 * MIB,
  /** The same in the main thread, which reads little at a time. */
  decodedBytesShortReads: 2 * MIB,
  /** Bytes of forgotten chunks that are kept for the next ones, in each of these threads. Beyond: they are left to the collector. */
  decodedBufferBytesMax: 3 * MIB,
  /** Free pages kept in the database file (4 KiB each), or a share of it. Beyond: those that nobody needed for one such span go back, some at a time, so often. */
  freePagesKept: 256,
  freePagesShareKept: 0.02,
  freePagesSpanMs: 150_000,
  freePagesStep: 256,
  freePagesEveryMs: 200,
  /** Bytes of database pages that a connection holds in memory (the system holds more of them); and one that goes through chunks and the log but once. */
  pageCacheBytes: 4 * MIB,
  pageCacheBytesPassing: 2 * MIB,
  /** MiB of young objects in a thread that stores, seals or reads; its heap is otherwise as large as the main thread's. */
  threadYoungMib: 4,
  /** Pages of the write-ahead log that start a checkpoint (4 KiB each). */
  walPagesMax: 4_000,
  /** Bytes of that file that are kept for later; a long read, a backup for one, may make it larger for a while. */
  walBytesKept: 64 * MIB,

  // --- Retention ----------------------------------------------------------------------------------------------
  /** Days for which datapoints may be kept: a hundred years. Beyond: 400; 0 is for ever. */
  retentionDaysMax: 36_525,
  /** Milliseconds between two rounds of removing what is too old, and until one that failed is tried again. */
  retentionRoundMs: 3_600_000,
  retentionRetryMs: 60_000,
  /** Sensors looked at in one step of a round. */
  retentionSensorsStep: 500,
  /** Chunks removed in one commit. */
  retentionChunksMax: 50,
  /** Such steps for one sensor before it is the turn of who is most overdue then. */
  retentionStepsInTurn: 50,

  // --- Storage quota ------------------------------------------------------------------------------------------
  /** Bytes of the disk that datapoints leave free, so that all else goes on; of a small disk this share of it. Beyond: 507. */
  diskReserveBytesMax: 256 * MIB,
  diskReserveShare: 0.05,
  /** Bytes among these that must be free on the disk itself, for the write-ahead log; the others may be free in the database. */
  diskWorkBytes: 96 * MIB,
  /** The share of cap and reserve by which it must be better before datapoints are taken again. */
  storageRecoveredShare: 0.02,
  /** Milliseconds between two looks at it. */
  storageMeasuredMs: 1_000,
  /** Seconds a client is asked to wait when there is no room. */
  storageFullRetryAfterS: 60,
  /** The smallest cap on the data folder, bytes; the write-ahead log alone may take as much. */
  dataBytesMin: 64 * MIB,

  // --- Backup and check ---------------------------------------------------------------------------------------
  /** Pages copied in one step of a backup; after each it pauses as long as the step took, for the service's sake. */
  backupStepPages: 256,
  /** Milliseconds of such a pause at most. */
  backupPauseMsMax: 50,
  /** Bytes after which what was copied is brought to the disk, so that no commit waits behind all of it. */
  backupSyncBytes: 8 * MIB,
  /** Bytes by which the write-ahead log may grow behind a backup. Beyond half: no pauses; beyond: it gives up. */
  backupWalBytesMax: 2 * 1024 * MIB,
  /** Bytes of a file read or copied at once. */
  fileStepBytes: 1 * MIB,
  /** Findings told of one check. Beyond: it is said that there are more. */
  checkFindingsMax: 100,
  /** Milliseconds between two signs of progress on a terminal. */
  progressMs: 200,

  // --- Memory of repeats --------------------------------------------------------------------------------------
  /** Hours an `Idempotency-Key` is remembered. */
  idempotencyHours: 24,
  /** Keys remembered for one caller. Beyond: the oldest is forgotten. */
  idempotencyKeysMax: 10_000,
  /** The answer to a bulk request kept under its key, characters. Beyond: 413, and nothing is stored. */
  keptAnswerCharsMax: 64 * KIB,
  /** MQTT publishes remembered to tell a repeat (DUP) from a new message. Beyond: the oldest is forgotten. */
  duplicateMemoryMax: 262_144,
  /** Milliseconds an MQTT publish is remembered for that. */
  duplicateWindowMs: 24 * 3_600_000,

  // --- Caches -------------------------------------------------------------------------------------------------
  /** Devices with their parts held in memory for ingest and access checks, bytes: 100 000 with one sensor (99 MiB), or 300 000 sensors of larger ones. Beyond: the oldest goes. */
  directoryBytesMax: 112 * MIB,
  /** Gateways held in memory for MQTT, bytes: some 10 000. Beyond: the oldest goes. */
  gatewaysCachedBytesMax: 8 * MIB,
  /** Gateways whose last heartbeat is held in memory. Beyond: of the oldest, what was written last counts. */
  gatewaysSeenMax: 15_000,
  /** Milliseconds by which the `last_seen` on disk may trail: what a crash may take of it. */
  lastSeenLagMsMax: 10_000,
  /** Times of gateways written in one unit. */
  lastSeenWrittenMax: 1_000,
  /** Callers (users, and addresses of guests) known at once. Beyond: who was asked for longest ago, and holds nothing, is forgotten. */
  callersMax: 20_000,
  /** Users held in memory, each under up to three names, and bytes of their records. Beyond: the oldest goes. */
  usersCachedMax: 10_000,
  usersCachedBytesMax: 8 * MIB,
  /** Keys of users' webhooks held in memory; each takes a KiB. Beyond: the oldest is made anew. */
  webhookKeysCachedMax: 2_000,
  /** Prepared statements of a connection to the database, and their bytes, about. Beyond: the oldest is prepared anew. */
  statementsCachedMax: 300,
  statementsCachedBytesMax: 6 * MIB,
  /** Milliseconds a user's record may be older than the store: what the command line changes is seen by then. */
  userFreshMs: 1_000,
  /** Verified tokens held in memory, bytes: some 7 000; and again the headers they came in. Beyond: the oldest is verified anew. */
  tokensCachedBytesMax: 8 * MIB,

  // --- Sign-in ------------------------------------------------------------------------------------------------
  /** Verified logins remembered. */
  loginsRememberedMax: 20_000,
  /** Milliseconds a verified login is remembered. */
  loginRememberedMs: 600_000,
  /** Password hashes under way at once; each takes some 20 MiB and tens of milliseconds. */
  hashesAtOnceMax: 2,
  /** Password checks of one address that wait for one of those, and room kept for other addresses; they take turns. Beyond: 503. */
  hashesWaitingMax: 300,
  hashesWaitingReserve: 100,
  /** Failed logins of one name from one address before they are slowed down (429). */
  loginFailuresMax: 10,
  /** Milliseconds until such a failure is forgotten; each further failure doubles the wait up to this. */
  loginFailureForgetMs: 900_000,
  /** Names and addresses whose failures are counted. Beyond: the oldest is forgotten. */
  loginFailuresTrackedMax: 20_000,
  /** A new password, characters. Beyond: 400. */
  passwordCharsMax: 256,
  /** A new username, characters. Beyond: 400. */
  usernameCharsMax: 64,
  /** A username and a password that are shown at a door, characters: versions before this one took longer ones. Beyond: 400, or CONNACK 4. */
  knownUsernameCharsMax: 128,
  knownPasswordCharsMax: 1024,
  /** A password hash that an admin brings along, characters. Beyond: 400. */
  passwordHashCharsMax: 512,
  /** A token or API key with the words before it in its header, characters; ours have some 400. Beyond: 401. */
  tokenCharsMax: 2 * KIB,
  /** An entry of a profile (a name, an address), characters, and entries of one of its lists. Beyond: 400. */
  profileTextCharsMax: 512,
  profileEntriesMax: 20,
  /** One list of a profile as JSON, bytes. Beyond: 413. */
  profileListBytesMax: 64 * KIB,
  /** Accounts that callers of one address make for themselves in an hour, and all callers. Beyond: 429. */
  registrationsPerAddressMax: 10,
  registrationsMax: 200,
  /** Addresses whose registrations are counted. Beyond: the oldest is forgotten. */
  registrationAddressesMax: 10_000,
  /** Bytes that a datapoint counts for quotas, beside the characters of a value that is no number. */
  datapointBytesCounted: 16,
  /** What was pushed is counted on disk after so many milliseconds. A crash forgets so much of the count. */
  chargesWrittenMs: 5_000,
  /** Devices whose counts are written in one unit, so that no commit waits long. */
  chargesWrittenMax: 500,
  /** Devices whose strangers' pushes are counted in memory. Beyond: read again when somebody pushes. */
  strangerAllowancesMax: 20_000,
  /** Devices that one key names. Beyond: 400. */
  keyDevicesMax: 1_000,
  /** API keys held in memory, and their bytes. Beyond: the oldest is forgotten. */
  keysCachedMax: 10_000,
  keysCachedBytesMax: 8 * MIB,
  /** Milliseconds between two notes of a key's last use. */
  keyUseNotedMs: 60_000,
  /** Milliseconds for which the key of a user's webhooks is good beside the one that took its place. */
  webhookKeyOverlapMs: 24 * 3_600_000,
  /** Refresh sessions of one user. Beyond: the oldest ends. */
  refreshSessionsPerUserMax: 20,
  /** Milliseconds after which a refresh session that is not used ends. */
  refreshSessionIdleMs: 14 * 24 * 3_600_000,
  /** Milliseconds after which it ends however much it is used: a quarter of a year. Beyond: sign in anew. */
  refreshSessionLifetimeMs: 90 * 24 * 3_600_000,
  /** Milliseconds in which a secret that was just replaced is still good, for tabs that renew at once. Beyond: the session ends. */
  refreshSessionGraceMs: 30_000,
  /** Characters kept of what a browser says it is. Beyond: cut. */
  sessionAgentCharsMax: 256,
  /** Days in which a device that was handed over can be given back, or its old shares brought back. */
  handoverDays: 30,
  /** A file of users to be imported, bytes. Beyond: it is refused. */
  importBytesMax: 64 * MIB,
  /** Seconds a token of version 2 is good for (spec 5.3). */
  tokenLifetimeS: 600,
  /** Milliseconds for which the key of tokens may be good beside the one that took its place (`dundun secret rotate`). */
  tokenKeyOverlapMsMax: 24 * 3_600_000,
  /** Seconds a token of versions 1 and 1.1 is good for (spec 5.3). */
  olderTokenLifetimeS: 60,

  // --- MQTT ---------------------------------------------------------------------------------------------------
  /** An MQTT packet, bytes. Beyond: the connection is cut. */
  mqttPacketBytesMax: 16 * MIB,
  /** A SUBSCRIBE or UNSUBSCRIBE, bytes: it is done in one go. All filters of a session fit in, and fewer of the longest. Beyond: the connection is cut. */
  filtersPacketBytesMax: 256 * KIB,
  /** Bytes of an MQTT packet that has not come whole from which on they count in the budget of what is received. */
  mqttCountedBytesMin: 8 * KIB,
  /** Milliseconds for which nothing more may come of an MQTT packet that has begun, and between two looks at that. Beyond: the connection is cut. */
  packetStallMs: 60_000,
  packetStallLookMs: 5_000,
  /** Milliseconds of silence after which the system asks whether the other end of an MQTT connection is still there. */
  tcpKeepAliveMs: 120_000,
  /** A piece of an MQTT packet kept to be continued in the fast path, bytes. Beyond: the broker gathers it. */
  fastPathPacketBytesMax: 4 * KIB,
  /** A body in the fast path of usual pushes, bytes; several times what a reading with its timestamp takes. */
  fastPathBodyBytesMax: 256,
  /** Request line and headers in that fast path, bytes. Beyond: Node.js's server reads them. */
  fastPathHeadBytesMax: 4 * KIB,
  /** Different headers that the fast path knows the meaning of. Beyond: it forgets them, and reads them anew. */
  fastPathHeadersMax: 1_024,
  /** Pushes of one connection that are stored together. Beyond: the others wait for these. */
  fastPathPushesMax: 100,
  /** Answers that a client has not read, bytes. Beyond: Node.js's server has the connection, and stops reading from it. */
  fastPathAnswerBytesMax: 64 * KIB,
  /** A topic in the fast path, bytes; longer than that of any sensor with ASCII ids. Beyond: the broker has it. */
  fastPathTopicBytesMax: 576,
  /** Bytes waiting to be read by one subscriber. Beyond: it is cut, with the reason in the log. */
  subscriberBytesMax: 256 * KIB,
  /**
   * Bytes that wait for subscribers of one caller whose connections take no more, when nobody else's do, and room kept for
   * the others. Beyond: the subscriber is cut, with the reason in the log. Milliseconds in which one must take all that
   * waits for it. Beyond: it is cut.
   */
  unreadBytesMax: 48 * MIB,
  unreadBytesReserve: 16 * MIB,
  subscriberStallMs: 60_000,
  /**
   * Bytes of memory of what waits below that for all subscribers of one caller, short messages for many of them above all, and
   * room kept for the others. Beyond: a subscriber for whom more than the third of these waits is cut.
   */
  backlogBytesMax: 48 * MIB,
  backlogBytesReserve: 16 * MIB,
  backlogBytesEachMin: 16 * KIB,
  /** What a message takes beside its bytes until the socket has it; milliseconds between two looks at what was read. */
  backlogMessageBytes: 1 * KIB,
  backlogLookMs: 1_000,
  /** Messages on their way to subscribers. Beyond: ingest waits as it does for a full queue (503, back-pressure). */
  deliveriesMax: 50_000,
  /** Bytes of messages on their way to subscribers, less those that wait for their connections; the same answers. */
  deliveryBytesMax: 20 * MIB,
  /** Bytes handed to subscribers before their sockets get a turn to take them in. */
  deliveryTurnBytes: 64 * KIB,
  /** Milliseconds from the connection, or from the end of the TLS handshake, to a whole CONNECT. Beyond: it is cut. */
  mqttConnectMsMax: 20_000,
  /** Packets a client may send behind its CONNECT before that is answered, and their bytes in sum. Beyond: it is cut. */
  earlyPacketsMax: 20,
  earlyBytesMax: 64 * KIB,
  /** A CONNECT packet, bytes: all that its five fields can be. Beyond: the connection is cut. */
  connectPacketBytesMax: 384 * KIB,
  /** Topic and payload of a will, bytes; one value of 64 KiB is too much for it. Beyond: CONNACK 3. */
  willBytesMax: 16 * KIB,
  /** Filters of one session. Beyond: SUBACK 128. */
  sessionFiltersMax: 1_000,
  /**
   * Memory for the filters of clients that are connected, and for stored sessions with their filters of QoS above 0, bytes
   * about: some 9 000 filters with wildcards, and 26 000 sessions with one each. A caller, or user, has at most as much as is
   * still free. Beyond: SUBACK 128, and CONNACK 3.
   */
  liveFilterBytesMax: 28 * MIB,
  storedSessionBytesMax: 44 * MIB,
  /** Topics for which it is held in memory which stored sessions take them, and their bytes. Beyond: the oldest is looked for anew. */
  storedMatchesCachedMax: 20_000,
  storedMatchesBytesMax: 8 * MIB,
  /** Messages kept for one session that is away. Beyond: the newest is not kept, and counted. */
  sessionMessagesMax: 10_000,
  /** Stored sessions; a user has at most as many as are still free. Beyond: a new persistent one is refused, CONNACK 3. */
  sessionsMax: 100_000,
  /** Milliseconds after which a stored session of guest ends when its client is away. */
  guestSessionExpiryMs: 3_600_000,
  /** Milliseconds between two looks for stored sessions that are away for too long. */
  sessionExpiryRoundMs: 60_000,
  /** Milliseconds until what the MQTT sessions of a user take is written for those who read quotas. */
  mqttUsageLagMsMax: 2_000,
  /** Milliseconds in which one line of the log tells of what quotas kept out, however often that is. */
  quotaLogMs: 60_000,
  /** Retained messages. Beyond: the newest is not retained, and counted. */
  retainedMax: 100_000,
  /** Inbound QoS 2 messages of one client awaiting PUBREL. Beyond: the connection is cut. */
  inflightMax: 1_000,
  /** A client id, characters. Beyond: CONNACK 2. */
  clientIdCharsMax: 256,
  /** A filter, bytes. Beyond: SUBACK 128. */
  topicFilterBytesMax: 1 * KIB,
  /** A topic that is published to, bytes. Beyond: it is nobody's, so that the message is acknowledged and dropped. */
  topicBytesMax: 1 * KIB,
  /** Topics whose meaning is held in memory, and their bytes: some 100 000 of sensors; of others; of those that it is known of whether anybody wants them. Beyond: the oldest goes. */
  topicsCachedMax: 150_000,
  topicsCachedBytesMax: 34 * MIB,
  rareTopicsCachedBytesMax: 4 * MIB,
  wantedTopicsCachedBytesMax: 16 * MIB,
  /** Levels of a topic. Beyond: the connection is cut. */
  topicLevelsMax: 32,
  /** Drops kept for one device. Beyond: the oldest is forgotten. */
  dropsPerDeviceMax: 100,
  /** A drop's topic and its reason, characters. Beyond: the rest is left out. */
  dropCharsMax: 512,
  /** Drops waiting to be written. Beyond: they are counted and not kept. */
  dropsWaitingMax: 1_000,

  // --- Chunks -------------------------------------------------------------------------------------------------
  /** Datapoints of one chunk; sealing makes far smaller ones. Beyond: encoding throws, decoding calls it corrupt. */
  chunkDatapointsMax: 65_536,
  /** Datapoints of a chunk that sealing makes, unless more of them have one time. */
  chunkDatapointsWanted: 4096,
  /** Characters of the texts in it, about. */
  chunkTextCharsWanted: 1024 * 1024,
  /** Bytes from which on a chunk is left as it is when others are put together, because its texts are large. */
  chunkBytesFull: 64 * KIB,
  /** Bytes of the distinct texts of one chunk. Beyond: encoding throws, decoding calls it corrupt. */
  chunkTextBytesMax: 64 * MIB,
  /** Window of a compressed part of a chunk, as a power of two; writing needs 21. Beyond: it is corrupt. */
  chunkWindowLogMax: 23,
} as const;
