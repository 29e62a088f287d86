// Every bound of the dashboard in one place: name, unit, reason, and what happens there.
// Constants only, so that any floor may import it.

export const limits = {
  /** Devices fetched at once as the list scrolls; the server's time for a page grows with it. */
  devicePageRows: 100,
  /** Devices whose day is read in one request, for sparklines and states: those in view. Beyond: fixed times count. */
  dayDevicesMax: 50,
  /** Milliseconds that a list or a map rests before the days of what is in view are read. */
  scrollPauseMs: 150,
  /** Milliseconds for which a day that was read counts; it moves by half an hour a step. */
  dayStaleMs: 300_000,
  /** Last values shown in a row. Beyond: "+n". */
  rowValuesMax: 4,
  /** Devices of a list up to which each shows all of its last values. Beyond: those that nearly all devices have. */
  columnsOfAllMax: 10,
  /** Points of a sparkline; it is some hundred pixels wide. */
  sparklinePoints: 48,
  /** Zooms into a chart that can be taken back one by one. */
  zoomsMax: 20,
  /** Lines a chart draws. Beyond: they cannot be told apart. */
  chartSeriesMax: 10,
  /** Points of each sensor in a chart of several devices; about one a pixel. */
  coursePoints: 800,
  /** Devices that the map of all shows. Beyond: the first of them, and it says so. */
  mapDevicesMax: 5_000,
  /** Markers in view up to which each has its name beside it. Beyond: they would lie over each other. */
  mapNamesMax: 40,
  /** Devices listed on the page of a gateway. Beyond: a link to the whole list. */
  relatedDevicesMax: 50,
  /** Devices whose names are looked up at once. Beyond: their ids are shown. */
  namedDevicesMax: 100,
  /** Devices offered at once where some are chosen. Beyond: one searches. */
  pickerHitsMax: 8,
  /** Devices of a notification that its replay draws. Beyond: it counts them and draws the first. */
  replayDevicesMax: 5,
  /** Milliseconds without a change before a notification is tried on the past. */
  replayPauseMs: 500,
  /** Messages the replay lists. Beyond: "+n". */
  replayMessagesMax: 6,
  /** Datapoints of a line that are read and drawn one by one. Beyond: means of even steps, with their lowest and highest. */
  chartPointsMax: 2_500,
  /** Steps a span is cut into where its datapoints are too many; a chart has some thousand pixels. */
  chartStepsMax: 750,
  /** Spans from which on a chart shows means of whole days: half a year. */
  dayMeansMs: 180 * 24 * 3_600_000,
  /** Datapoints a day up to which such a chart still draws each of them. */
  dayPointsMax: 2,
  /** Spans up to which sums are of hours, and up to which of days. Beyond: of months. */
  hourSumsMs: 3 * 24 * 3_600_000,
  daySumsMs: 400 * 24 * 3_600_000,
  /** Datapoints that tell how far apart those of a sensor usually are. */
  usualPoints: 40,
  /** Usual distances between two datapoints after which nothing was heard: the line breaks. */
  gapSteps: 5,
  /** Values that are listed where some are chosen to be deleted or corrected. Beyond: how many there are. */
  editedRowsMax: 50,
  /** Characters of the reason for it, the most that the server takes. */
  reasonCharsMax: 256,
  /** Values that are no numbers which are listed under a chart, newest first. */
  otherValuesMax: 100,
  /** Rows of a device's activity. Beyond: the older ones are left out. */
  activityRowsMax: 100,
  /** Notifications whose messages are looked through for it. */
  activityRulesMax: 50,
  /** Settings of actuators that are remembered while the page of their device is open. */
  activitySettingsMax: 20,
  /** Milliseconds between two readings of a chart that new datapoints ask for. */
  liveReadMs: 2_000,
  /** Milliseconds over which a tile says how a value has moved. */
  trendMs: 3 * 3_600_000,
  /** Rules and their messages that are looked through for the marks of one chart. */
  chartRulesMax: 100,
  chartFiringsMax: 1_000,
  /** Days after which a key ends, as offered: a month, a year. */
  keyMonthDays: 30,
  keyYearDays: 365,
  /** Milliseconds for which a device answers by the id that it had before, as the server has it. */
  formerIdMs: 365 * 24 * 3_600_000,
  /** Milliseconds without a key before a search is sent. */
  searchPauseMs: 200,
  /** Characters typed before the search has come that it begins with. Beyond: they are lost. */
  searchEarlyCharsMax: 64,
  /** Hits of each kind the search shows. */
  searchHitsMax: 6,
  /** Names offered under a field that completes. Beyond: type more. */
  completionsMax: 8,
  /** MQTT clients shown at once, the most that the server gives. Beyond: search. */
  clientsShownMax: 1_000,
  /** Milliseconds between two looks at the servers, which tell of themselves every second; none while nobody sees the page. */
  nodesPollMs: 5_000,
  /** Seconds of all that comes that a server may have to read yet without being behind: it told so up to a second ago. */
  nodesBehindS: 2,
  /** Alarms shown at once. Beyond: it says so. */
  alarmsShownMax: 200,
  /** Alarms that are looked through without help. Beyond: filters stand over them, and one press acknowledges all. */
  alarmsUnsortedMax: 5,
  /** Notifications that are looked through without help. Beyond: a field and filters stand over them. */
  rulesUnsortedMax: 5,
  /** Requests at a time while many alarms are acknowledged. */
  alarmsAtOnce: 4,
  /** Milliseconds between two readings of alarms where the stream tells of none. */
  alarmsReadMs: 60_000,
  /** Devices not heard for a day that are held against their habit, of one's own and of those shared. Beyond: all count as silent. */
  silentLookedAtMax: 20,
  /** Of these, those named where they are counted. */
  silentNamedMax: 3,
  /** Milliseconds by which "since the beginning of the day" is read again. */
  todayStaleMs: 60_000,
  /** Characters of a note to an alarm, the most that the server takes. */
  alarmNoteCharsMax: 1_000,
  /** Users shown at once, the most that the server gives. Beyond: search. */
  usersShownMax: 1_000,
  /** Milliseconds between two looks at what became of a test message, and looks before it is left to itself. */
  testPollMs: 1_000,
  testPollsMax: 30,
  /** Bytes of a file that a preview sends, and lines of them that it reads. */
  importPreviewBytes: 65_536,
  importPreviewLines: 50,
  /** Characters of a file in one request: what a slow line sends in seconds, so that progress is seen to move. */
  importPartChars: 1_048_576,
  /** Bytes of a JSON array, the most that the server takes. Beyond: lines of it are asked for. */
  importArrayBytesMax: 16 * 1_048_576,
  /** Refused lines shown. Beyond: their number. */
  importRefusedShownMax: 100,
  /** Milliseconds for which an act can be undone. */
  undoMs: 8_000,
  /** Milliseconds for which a button says that it has copied. */
  copiedMs: 2_000,
  /** Toasts on screen at once. Beyond: the oldest goes. */
  toastsMax: 3,
  /** Part of a token's life after which it is renewed. */
  renewAfter: 0.75,
  /** Settings read of an actuator, and actuators whose settings are marked on a device's chart. Beyond: the API has them. */
  settingsShownMax: 50,
  settingsMarkedMax: 20,
  /** Milliseconds between two looks at what became of settings. */
  settingsReadMs: 15_000,
  /** Milliseconds between two tries of a stream that broke; doubled each time up to the second. */
  streamRetryMsMin: 1_000,
  streamRetryMsMax: 30_000,
  /** Milliseconds by which a datapoint may be dated later than now, as the server has it. Beyond: it lies in the future. */
  futureMsMin: 5 * 60_000,
  /** Milliseconds for which it counts what was found there. */
  futureStaleMs: 60_000,
  /** Sensors of a device for which it is looked for at once, the most that the server takes. Beyond: on the page of each. */
  futureSensorsMax: 1_000,
  /** Sensors with such datapoints that the page of a device names. Beyond: their number. */
  futureShownMax: 10,
  /** Milliseconds by which the clocks of browser and server may differ. Beyond: that of the server counts. */
  clockDifferenceMs: 60_000,
  /** Milliseconds by which the end of a span moves on, so that the same question is asked for a while. */
  spanEndStepMs: 300_000,
  /** Milliseconds between two looks at the clock for ages in words. */
  ageTickMs: 10_000,
  /** Milliseconds after which what was read counts as stale and is read again when looked at. */
  staleMs: 10_000,
  /** Milliseconds after which a page that the server did not answer for is asked for again. */
  pageRetryMs: 5_000,
  /** Milliseconds for which words that could not be had are not asked for again by what is drawn. */
  wordsRefusedMs: 1_000,
  /** Times a sensor's usual interval after which it is late, and after which it is silent. */
  lateIntervals: 2.5,
  silentIntervals: 10,
  /** Milliseconds without a value after which a sensor whose interval is not known is late, and silent. */
  lateMs: 2 * 3_600_000,
  silentMs: 24 * 3_600_000,
  /** The shortest silence that counts as late, so that a sensor of every second does not blink. */
  lateMsMin: 60_000,
  /** Sensors, datapoints and rules that may go without the id being typed first. */
  dangerousDatapointsMax: 1_000,
} as const;
