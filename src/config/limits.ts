// Every bound of the service in one place: name, unit, reason, and what happens there (I4).
// Constants only, so that any floor may import it.

const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  // --- Requests -----------------------------------------------------------------------------------------------
  /** A request body, bytes. Beyond: 413. */
  bodyBytesMax: 16 * MIB,
  /** Memory that is kept for large bodies, bytes each and how many; other bodies, and small ones, have memory of their own. */
  bodyMemoryBytes: 3 * MIB,
  bodyMemories: 4,
  bodyMemoryBytesMin: 64 * KIB,
  /** Datapoints in one push. Beyond: 413. Gateways in the field send up to 30 000. */
  pushDatapointsMax: 30_000,
  /** One datapoint value or one JSON field (`meta`, an actuator's value) as JSON, bytes. Beyond: 413. */
  valueBytesMax: 64 * KIB,
  /** Levels of nesting in a JSON body. Beyond: 400. */
  nestingLevelsMax: 32,
  /** A text field such as a name or a unit, characters. Beyond: 413. */
  textCharsMax: 4 * KIB,
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
  /** Milliseconds within which a whole request must have arrived; slower senders are cut. */
  requestMsMax: 120_000,
  /** The body of an import, bytes; it is read as it comes. Beyond: what came before is stored, the answer says so. */
  importBodyBytesMax: 1024 * MIB,
  /** Imports at once. Beyond: 503. */
  importsAtOnceMax: 16,
  /** What is looked at to find out how an imported file is written: characters, and lines. */
  importSampleChars: 64 * KIB,
  importSampleLines: 200,
  /** A line of an imported file, characters, and its columns. Beyond: that line is refused. */
  importLineCharsMax: 256 * KIB,
  importColumnsMax: 2_000,
  /** Datapoints of an import stored in one commit, and characters of their values. */
  importBatchDatapoints: 5_000,
  importBatchChars: 2 * MIB,
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
  transferToldMs: 10_000,
  /** Refused lines that the command line shows. Beyond: it counts them. */
  refusedShownMax: 20,
  /** A pattern of times, characters. Beyond: 400. */
  timeFormatCharsMax: 64,
  /** HTTP connections at once. Beyond: the connection is refused. */
  httpConnectionsMax: 20_000,

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
  rehearsedDatapointsMax: 30_000,
  rehearsedFiringsMax: 1_000,
  /** Sensors that it may need then. Beyond: 413. */
  rehearsedSensorsMax: 100,
  /** Rules read in one step at start. */
  watchLoadStep: 1_000,
  /** Rules looked at before other work gets a turn. */
  watchTurnRules: 2_000,
  /** Milliseconds between two notes of how far it has come, where nothing else is written. */
  watchNotedMs: 5_000,
  /** Milliseconds after which it tries again what failed, and the longest it sleeps before it looks at the clock. */
  watchRetryMs: 1_000,
  watchAlarmMsMax: 3_600_000,
  /** Characters of last values it holds in memory. Beyond: they are read when they are needed. */
  watchValueCharsMax: 32 * MIB,
  /** A message as it is sent, its variables replaced, characters. Beyond: the rest is left out. */
  sentCharsMax: 8 * KIB,
  /** Notifications of one user. Beyond: 422. Guest's are those of all who do not sign in. */
  notificationsPerUserMax: 10_000,

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
  /** Names of accounts on X whose ids are remembered, and for how many milliseconds; names change hands. */
  accountNamesMax: 10_000,
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
  /** The same where rows are written as text by whoever reads them. */
  textStepRows: 16_384,
  /** The same where what is read is put together, and no row is made of it; and the rows of a step that come of it, about. */
  foldStepRows: 100_000,
  foldRowsWanted: 5_000,
  /** Bytes of sent texts that are kept to be written into again. Beyond: they are left to the collector. */
  textRoomBytesMax: 4 * MIB,
  /** Rows that the main thread reads by itself; longer steps are read by a thread of their own. */
  readHereRows: 500,
  /** Long steps that wait for that thread. Beyond: 503. */
  readsWaitingMax: 1_000,
  /** Bytes of datapoints held for one long read, about; its steps have fewer rows where values are large. */
  readBytes: 8 * MIB,
  /** Sensors read by one request. Beyond: 400. */
  sensorsReadMax: 1000,
  /** Bytes of a JSON list made before any of it is sent. Beyond: it is read a second time and streamed. */
  listBytesMax: 4 * MIB,
  /** Datapoints a thinned-out read (`points`) gives at most for one sensor. Beyond: 400. */
  pointsMax: 30_000,
  /** Rows of one row group of a Parquet file, and characters of text in it: what is held to be written together. */
  parquetGroupRows: 20_000,
  parquetGroupChars: 4 * MIB,
  /** Milliseconds in which a reader of a stream must take some of it. Beyond: its connection is cut. */
  streamStallMs: 120_000,
  /** Whole records (devices, gateways, projects) read in one step of a long list. */
  recordStepRows: 100,
  /** Ids of devices, and of gateways, that a project names. Beyond: 400. */
  projectIdsMax: 10_000,
  /** Projects read in one step of a long list; each may name many ids. */
  projectStepRows: 10,

  // --- Live streams -------------------------------------------------------------------------------------------
  /** Live streams at once. Beyond: 503. */
  liveStreamsMax: 1_000,
  /** Live streams of one address. Beyond: 429. */
  liveStreamsPerAddressMax: 50,
  /** Bytes waiting for the reader of one live stream, about. Beyond: it is cut, with the reason. */
  liveBytesMax: 4 * MIB,
  /** Bytes waiting for the readers of all of them; the same answer. */
  liveBytesAllMax: 128 * MIB,
  /** Datapoints sent again to a reader that comes back. Beyond: the newest, after a `gap`. */
  liveMissedMax: 1_000,
  /** Milliseconds between signs of life of a quiet stream; its token and rights are looked at then too. */
  liveHeartbeatMs: 15_000,
  /** Milliseconds in which a live reader must take what it was sent. Beyond: its connection is cut. */
  liveStallMs: 30_000,

  // --- Ingest -------------------------------------------------------------------------------------------------
  /** Datapoints waiting for their commit. Beyond: HTTP 503 with Retry-After; MQTT waits (back-pressure). */
  queueDatapointsMax: 120_000,
  /** Bytes of datapoints waiting for their commit; the same answers. */
  queueBytesMax: 64 * MIB,
  /** Datapoints in one commit; more waits for the next, so that no commit keeps the others waiting long. */
  commitDatapointsMax: 30_000,
  /** Milliseconds a commit waits at most while more comes in. */
  gatherMsMax: 8,
  /** When commits are spared where datapoints come in a stream; domain/datapoints/pacing.ts says what each means. */
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
  /** MQTT publishes that wait for room in the queue. Beyond: the connection is cut. */
  roomWaitersMax: 100_000,
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
  sealTextCharsMax: 32 * MIB,
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
  keptDatapointsMax: 10_000_000,
  /** Datapoints of the log held in memory. Beyond: commits wait for sealing. */
  headRowsMax: 1_000_000,
  /** Characters of values that are no numbers among these; the same. While sealing fails, both: 503 for datapoints. */
  headTextCharsMax: 96 * MIB,
  /** Damaged rows of the log of which each is told at once; of more their number. */
  damagedRowsTold: 20,
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
  decodedRoomBytesMax: 3 * MIB,
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

  // --- Room on the disk ---------------------------------------------------------------------------------------
  /** Bytes of the disk that datapoints leave free, so that all else goes on; of a small disk this share of it. Beyond: 507. */
  diskReserveBytesMax: 256 * MIB,
  diskReserveShare: 0.05,
  /** Bytes among these that must be free on the disk itself, for the write-ahead log; the others may be free in the database. */
  diskWorkBytes: 96 * MIB,
  /** The share of cap and reserve by which it must be better before datapoints are taken again. */
  roomAgainShare: 0.02,
  /** Milliseconds between two looks at it. */
  roomMeasuredMs: 1_000,
  /** Seconds a client is asked to wait when there is no room. */
  roomRetryAfterS: 60,
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
  repeatMemoryMax: 262_144,
  /** Milliseconds an MQTT publish is remembered for that. */
  repeatWindowMs: 24 * 3_600_000,

  // --- Caches -------------------------------------------------------------------------------------------------
  /** Devices, sensors, actuators and shares held in memory for ingest and access checks. Beyond: the oldest goes. */
  directoryPartsMax: 250_000,
  /** Gateways held in memory for MQTT. Beyond: the oldest goes. */
  gatewaysCachedMax: 50_000,
  /** Gateways whose last heartbeat is held in memory. Beyond: of the oldest, what was written last counts. */
  gatewaysSeenMax: 100_000,
  /** Milliseconds by which the `last_seen` on disk may trail: what a crash may take of it. */
  lastSeenTrailMs: 10_000,
  /** Times of gateways written in one unit. */
  sightingsWrittenMax: 1_000,
  /** Users held in memory. */
  usersCachedMax: 20_000,
  /** Milliseconds a user's record may be older than the store: what the command line changes is seen by then. */
  userFreshMs: 1_000,
  /** Verified tokens held in memory. */
  tokensCachedMax: 50_000,

  // --- Sign-in ------------------------------------------------------------------------------------------------
  /** Verified logins remembered. */
  loginsRememberedMax: 20_000,
  /** Milliseconds a verified login is remembered. */
  loginRememberedMs: 600_000,
  /** Password hashes under way at once; each takes some 20 MiB and tens of milliseconds. */
  hashesAtOnceMax: 2,
  /** Password checks waiting for one of those. Beyond: 503. */
  hashesWaitingMax: 100,
  /** Failed logins of one name from one address before they are slowed down (429). */
  loginFailuresMax: 10,
  /** Milliseconds until such a failure is forgotten; each further failure doubles the wait up to this. */
  loginFailureForgetMs: 900_000,
  /** Names and addresses whose failures are counted. Beyond: the oldest is forgotten. */
  loginFailuresTrackedMax: 50_000,
  /** A password, characters. Beyond: 400. */
  passwordCharsMax: 1024,
  /** A username, characters. Beyond: 400. */
  usernameCharsMax: 128,
  /** An entry of a profile (a name, an address), characters, and entries of one of its lists. Beyond: 400. */
  profileTextCharsMax: 512,
  profileEntriesMax: 20,
  /** Accounts that callers of one address make for themselves in an hour, and all callers. Beyond: 429. */
  registrationsPerAddressMax: 10,
  registrationsMax: 200,
  /** Addresses whose registrations are counted. Beyond: the oldest is forgotten. */
  registrationAddressesMax: 10_000,
  /** API keys of one user, and characters of a key's name. Beyond: 422, 400. */
  keysPerUserMax: 100,
  keyNameCharsMax: 128,
  /** Devices that one key names. Beyond: 400. */
  keyDevicesMax: 1_000,
  /** API keys held in memory. Beyond: the oldest is forgotten. */
  keysCachedMax: 20_000,
  /** Milliseconds between two notes of a key's last use. */
  keyUseNotedMs: 60_000,
  /** Renewal sessions of one user. Beyond: the oldest ends. */
  renewalsPerUserMax: 20,
  /** Milliseconds after which a renewal session that is not used ends. */
  renewalIdleMs: 14 * 24 * 3_600_000,
  /** Milliseconds of use after which that end is moved, so that not every renewal writes. */
  renewalMovedMs: 24 * 3_600_000,
  /** A file of users to be imported, bytes. Beyond: it is refused. */
  importBytesMax: 64 * MIB,
  /** Seconds a token of version 2 is good for (spec 5.3). */
  tokenLifetimeS: 600,
  /** Seconds a token of versions 1 and 1.1 is good for (spec 5.3). */
  olderTokenLifetimeS: 60,

  // --- MQTT ---------------------------------------------------------------------------------------------------
  /** An MQTT packet, bytes. Beyond: the connection is cut. */
  mqttPacketBytesMax: 16 * MIB,
  /** A piece of an MQTT packet kept to be continued in the quick lane, bytes. Beyond: the broker gathers it. */
  quickPacketBytesMax: 4 * KIB,
  /** A body in the lane of usual pushes, bytes; several times what a reading with its timestamp takes. */
  quickBodyBytesMax: 256,
  /** Request line and headers in that lane, bytes. Beyond: Node.js's server reads them. */
  quickHeadBytesMax: 4 * KIB,
  /** Different headers that the lane knows the meaning of. Beyond: it forgets them, and reads them anew. */
  quickHeadersMax: 1_024,
  /** Pushes of one connection that are stored together. Beyond: the others wait for these. */
  quickPushesMax: 100,
  /** Answers that a client has not read, bytes. Beyond: Node.js's server has the connection, and stops reading from it. */
  quickAnswerBytesMax: 64 * KIB,
  /** A topic in the quick lane, bytes; longer than that of any sensor with ASCII ids. Beyond: the broker has it. */
  quickTopicBytesMax: 576,
  /** MQTT connections at once. Beyond: refused. */
  mqttConnectionsMax: 20_000,
  /** Bytes waiting to be read by one subscriber. Beyond: it is cut, with the reason in the log. */
  subscriberBytesMax: 256 * KIB,
  /** Messages on their way to subscribers. Beyond: ingest waits as it does for a full queue (503, back-pressure). */
  deliveriesMax: 50_000,
  /** Bytes of messages on their way to subscribers; the same answers. */
  deliveryBytesMax: 64 * MIB,
  /** Bytes handed to subscribers before their sockets get a turn to take them in. */
  deliveryTurnBytes: 64 * KIB,
  /** Packets a client may send before its connection is accepted. Beyond: it is cut. */
  earlyPacketsMax: 1_000,
  /** Filters of one session. Beyond: SUBACK 128. */
  sessionFiltersMax: 1_000,
  /** Messages kept for one session that is away. Beyond: the newest is not kept, and counted. */
  sessionMessagesMax: 10_000,
  /** Stored sessions. Beyond: a new persistent session is refused with CONNACK 3. */
  sessionsMax: 100_000,
  /** Retained messages. Beyond: the newest is not retained, and counted. */
  retainedMax: 100_000,
  /** Inbound QoS 2 messages of one client awaiting PUBREL. Beyond: the connection is cut. */
  inflightMax: 1_000,
  /** A client id, characters. Beyond: CONNACK 2. */
  clientIdCharsMax: 256,
  /** Topics whose meaning is held in memory. */
  topicsCachedMax: 150_000,
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
