// Evaluates rules for datapoints and stores the results. Only the watcher calls it, one step at a time. Each evaluation
// asks the permission function whether the author may see the device now (I6). The rules in memory change before the
// results are stored: after a failed step the caller must load the rules again.

import type { ClockWatch } from '../../../base/time/clock-watch.ts';
import type { Reading } from '../../datapoints/ingest/reading.ts';
import { calibrate } from '../../devices/calibration.ts';
import type { Device } from '../../devices/device.ts';
import type { SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Fence } from '../../ports/coordination.ts';
import { scope } from '../../scopes.ts';
import type { Actor } from '../../users/user.ts';
import type { MessageBuilder } from '../outbox/message-builder.ts';
import type { NotificationCounters } from '../outbox/notification-counters.ts';
import type { Outbox } from '../outbox/outbox.ts';
import {
  applyDatapoint,
  applyTime,
  type FiringContext,
  type FiringEvent,
  mayFire,
  serializeDeviceState,
} from '../rules/firing.ts';
import type { Rule } from '../rules/rule.ts';
import {
  EvaluationStep,
  namesOf,
  type RuleEvaluation,
  type WatchedDevice,
  type WatchedSensor,
} from './evaluation-step.ts';
import type { RuleAlarms, RuleAlarmTurn } from './rule-alarms.ts';
import type { RuleEntry } from './rule-entry.ts';
import type { RuleLoader } from './rule-loader.ts';
import type { RuleTimer, RuleTimers } from './rule-timers.ts';
import type { StepLoading } from './step-loading.ts';
import type { SeenPush } from './watch-queue.ts';
import type { RecordedFiring, WatchStore } from './watch-store.ts';

interface EvaluateOptions {
  /** Datapoints up to this seq have been evaluated before. */
  readonly seenSeq: number;
  /** True where the position must be stored even if no rule fired and no state changed. */
  readonly isPositionDue: boolean;
  /** The lease under which the results are stored. */
  readonly fence: Fence;
}

export class Evaluator {
  readonly #watchStore: WatchStore;
  readonly #permissions: Permissions;
  readonly #messages: MessageBuilder;
  readonly #counters: NotificationCounters;
  readonly #clock: ClockWatch;
  readonly #oldMs: number;
  readonly #timers: RuleTimers;
  readonly #outbox: Pick<Outbox, 'wakeFor'>;
  readonly #ruleAlarms: RuleAlarms;
  readonly #onAlarmsChanged: () => void;
  readonly #loading: StepLoading;
  readonly #rules: RuleLoader;

  constructor(parts: {
    readonly watchStore: WatchStore;
    readonly permissions: Permissions;
    readonly messages: MessageBuilder;
    readonly counters: NotificationCounters;
    readonly clocks: ClockWatch;
    /** Hours: rules ignore datapoints that were received later than this after their timestamp; 0: no limit. */
    readonly oldHours: number;
    readonly timers: RuleTimers;
    readonly outbox: Pick<Outbox, 'wakeFor'>;
    readonly ruleAlarms: RuleAlarms;
    /** Called when a change of alarms is stored. */
    readonly onAlarmsChanged: () => void;
    readonly loading: StepLoading;
    readonly rules: RuleLoader;
  }) {
    this.#watchStore = parts.watchStore;
    this.#permissions = parts.permissions;
    this.#messages = parts.messages;
    this.#counters = parts.counters;
    this.#clock = parts.clocks;
    this.#oldMs = parts.oldHours === 0 ? Number.POSITIVE_INFINITY : parts.oldHours * 3_600_000;
    this.#timers = parts.timers;
    this.#outbox = parts.outbox;
    this.#ruleAlarms = parts.ruleAlarms;
    this.#onAlarmsChanged = parts.onAlarmsChanged;
    this.#loading = parts.loading;
    this.#rules = parts.rules;
  }

  /** Drops the last value of a sensor whose datapoints were removed or corrected. */
  forgetValue(sensor: SensorKey): void {
    this.#loading.forgetValue(sensor);
  }

  /** Evaluates pushes in order of arrival with the rules of their devices, and stores the results. */
  async evaluate(pushes: readonly SeenPush[], { seenSeq, isPositionDue, fence }: EvaluateOptions): Promise<void> {
    const step = new EvaluationStep(fence);
    this.#clock.look();
    // Last values up to this seq are read from the store.
    const upToSeq = Math.max(seenSeq, (pushes[0]?.firstSeq ?? 0) - 1);
    await this.#loading.load(step, pushes, upToSeq);
    for (const push of pushes) {
      const watch = step.watches.get(push.sensor.key);
      // A removed sensor, or a new one with its id, is not in the map.
      if (watch === undefined) continue;
      if (watch.also !== undefined) {
        await this.#evaluateByNames(step, watch, push, seenSeq);
        continue;
      }
      for (let index = 0; index < push.readings.length; index++) {
        if (push.firstSeq + index <= seenSeq) continue;
        // Before the value changes, because timers up to this datapoint are evaluated with the earlier values.
        if (watch.watched.hasTimes && !this.#timers.isHeld) await this.#applyElapsedTime(step, watch, push.receivedMs);
        if (!this.#mayConcernRules(push, index, { step, watch })) continue;
        for (const entry of watch.rules.entries) {
          this.#evaluateDatapoint(step, entry, { push, index, watch });
          if (step.needsPause) await this.#pause(step);
        }
      }
    }
    this.#loading.keepValues(step);
    const last = pushes.at(-1);
    if (last !== undefined && (step.hasResults || isPositionDue)) {
      await this.#record(step, Math.max(seenSeq, last.firstSeq + last.readings.length - 1));
    }
  }

  /** A sensor that rules name by several ids. Its value is the new one by all of them before any rule is evaluated. */
  async #evaluateByNames(step: EvaluationStep, first: WatchedSensor, push: SeenPush, seenSeq: number): Promise<void> {
    const names = [...namesOf(first)];
    for (let index = 0; index < push.readings.length; index++) {
      if (push.firstSeq + index <= seenSeq) continue;
      for (const watch of names)
        if (watch.watched.hasTimes && !this.#timers.isHeld) await this.#applyElapsedTime(step, watch, push.receivedMs);
      const concerned = names.filter((watch) => this.#mayConcernRules(push, index, { step, watch }));
      const watches = new Map<RuleEntry, [WatchedSensor, ...WatchedSensor[]]>();
      for (const watch of concerned)
        for (const entry of watch.rules.entries) watches.set(entry, [watch, ...(watches.get(entry) ?? [])]);
      for (const [entry, named] of watches) {
        this.#evaluateDatapoint(step, entry, { push, index, watch: named[0], names: named.map(({ name }) => name) });
        if (step.needsPause) await this.#pause(step);
      }
    }
  }

  /** A step may have many rules: storing or yielding between them keeps memory and the event loop free for requests. */
  async #pause(step: EvaluationStep): Promise<void> {
    if (step.isFull) await this.#record(step, undefined);
    await step.pieces.next();
  }

  /** Evaluates timers that are due, stores the results and arranges the next ones. */
  async evaluateTimers(
    due: readonly RuleTimer[],
    { upToSeq, fence }: { readonly upToSeq: number; readonly fence: Fence },
  ): Promise<void> {
    const step = new EvaluationStep(fence);
    for (const { entry, device: id } of due) {
      const device = { id };
      await this.#loading.load(step, [{ device }], upToSeq);
      this.#evaluateRule(step, { entry, device: id, watched: step.watchedDevices.get(id), untilMs: this.#clock.now() });
      if (step.needsPause) await this.#pause(step);
    }
    step.releaseValues();
    if (step.hasResults) await this.#record(step, upToSeq);
    for (const { entry, device } of due) this.#timers.arrange(entry, device);
  }

  /**
   * Sets the sensor's value to the datapoint's. @returns false where no rule can fire or change its state because of
   * it.
   */
  #mayConcernRules(
    push: SeenPush,
    index: number,
    { step, watch }: { readonly step: EvaluationStep; readonly watch: WatchedSensor },
  ): boolean {
    const { receivedMs, skipsRules } = push;
    const { rules, sensor } = watch;
    const { value, timestampMs } = push.readings.at(index) as Reading;
    step.move(watch, value);
    // Without a timestamp (`NaN`) the last comparison is false: such a datapoint is never too old.
    if (skipsRules || receivedMs - timestampMs > this.#oldMs) return false;
    const cannotFire = typeof value === 'number' && rules.cannotFireAt(calibrate(value, sensor.calibration));
    // An open alarm may end, whatever the value; a rule that is throttled may begin to hold.
    return !cannotFire || this.#ruleAlarms.hasAny(watch.watched.device.key);
  }

  /** Applies the time that passed before the datapoint, for the rules that it concerns. */
  async #applyElapsedTime(step: EvaluationStep, { rules, watched }: WatchedSensor, receivedMs: number): Promise<void> {
    for (const entry of rules.entries) {
      if (!entry.record.hasTimes) continue;
      this.#evaluateRule(step, { entry, device: watched.device.id, watched, untilMs: receivedMs });
      if (step.needsPause) await this.#pause(step);
    }
  }

  /** Evaluates one rule for one datapoint. */
  #evaluateDatapoint(
    step: EvaluationStep,
    entry: RuleEntry,
    {
      push,
      index,
      watch,
      names = [watch.name],
    }: {
      readonly push: SeenPush;
      readonly index: number;
      readonly watch: WatchedSensor;
      readonly names?: readonly SensorId[];
    },
  ): void {
    const { watched } = watch;
    const { lookup } = watched;
    const { id: device } = watched.device;
    const seq = push.firstSeq + index;
    const atMs = push.receivedMs;
    if (seq <= entry.afterSeq || entry.isGone) return;
    if (!entry.hasMemory && !mayFire(entry.rule, entry.ruleState, { atMs, lookup, time: this.#clock })) {
      this.#turnAlarm(step, { entry, watched, sensor: watch.name, atMs });
      return;
    }
    this.#evaluateRule(step, { entry, device, watched, datapoint: { seq, sensor: watch.name, names, atMs, lookup } });
    this.#timers.arrange(entry, device);
  }

  /** Evaluates one rule for a datapoint or for time that has passed; adds firings and the new state to the step. */
  #evaluateRule(step: EvaluationStep, evaluation: RuleEvaluation): void {
    const { entry, device, watched, datapoint, untilMs = 0 } = evaluation;
    // The step may have loaded the rule again, and goes on with what it began with.
    if (entry.isGone) return;
    const { rule, hasMemory, ruleState, record } = entry;
    const memory = entry.memoryOf(device);
    const seq = datapoint?.seq;
    // A step with many firings is stored in parts. After a crash between two of them this rule has evaluated the
    // datapoint before.
    if (seq !== undefined && memory.seq !== undefined && seq <= memory.seq) return;
    const before = hasMemory ? serializeDeviceState(memory) : '';
    const author = step.actors.get(record.author);
    const context: FiringContext = {
      ...{ rule, memory, ruleState, time: this.#clock },
      sensors: watched ?? none,
      mayNotify: author !== undefined && watched !== undefined && this.#mayNotify(rule, author, watched.device),
    };
    const events = datapoint === undefined ? applyTime(context, untilMs) : applyDatapoint(context, datapoint);
    if (events.length > 0 && author !== undefined && watched !== undefined)
      for (const event of events) this.#addFiring(step, event, { entry, author, watched, seq });
    if (watched !== undefined) {
      const sensor = datapoint?.sensor ?? events.at(-1)?.sensor ?? memory.since?.sensor;
      this.#turnAlarm(step, { entry, watched, sensor, atMs: datapoint?.atMs ?? events.at(-1)?.atMs ?? untilMs });
    }
    if (!hasMemory || serializeDeviceState(memory) === before) return;
    if (seq !== undefined) memory.seq = seq;
    const { key, watchedSinceMs } = record;
    const memoryNow = serializeDeviceState(memory);
    step.memories.set(`${key} ${device}`, { rule: key, device, memory: memoryNow, watchedSinceMs });
    step.resultChars += memoryNow.length;
  }

  /** Begins or ends the alarm of a rule about a device, where its condition has come to hold or holds no longer. */
  #turnAlarm(step: EvaluationStep, turn: Omit<RuleAlarmTurn, 'author' | 'mayNotify'>): void {
    const { entry, watched } = turn;
    const author = step.actors.get(entry.record.author);
    const mayNotify = () => author !== undefined && this.#mayNotify(entry.rule, author, watched.device);
    this.#ruleAlarms.look({ ...turn, author, mayNotify }, step.alarms);
  }

  /** Whether a rule may send messages about a device now: it has not expired, and its author may read the data. */
  #mayNotify(rule: Rule, author: Actor, device: Device): boolean {
    if (this.#clock.now() >= rule.expiresMs && this.#clock.forAge.now() >= rule.expiresMs) return false;
    return (this.#permissions.scopesOf(author, device) & scope.dataView) !== 0;
  }

  /** Makes the messages of an event and adds them to the step, which stores them later. */
  #addFiring(
    step: EvaluationStep,
    event: FiringEvent,
    {
      entry,
      author,
      watched: { device, lookup },
      seq,
    }: {
      readonly entry: RuleEntry;
      readonly author: Actor;
      readonly watched: WatchedDevice;
      readonly seq: number | undefined;
    },
  ): void {
    const { record, rule, timesSent } = entry;
    const isDescribed = (this.#permissions.scopesOf(author, device) & scope.view) !== 0;
    const messages = this.#messages.make({ id: record.id, rule, author, device, isDescribed, event, lookup });
    const isCounted = event.kind === 'fires';
    const base = { rule: record.key, author: record.author, isCounted, timesSent };
    step.firings.push({ entry, firing: { ...base, atMs: event.atMs, seq, messages } });
    for (const { text, occasion = '' } of messages) step.resultChars += text.length + occasion.length;
    if (!isCounted) return;
    entry.timesSent += 1;
    entry.afterSeq = Math.max(entry.afterSeq, seq ?? 0);
  }

  async #record(step: EvaluationStep, followedSeq: number | undefined): Promise<void> {
    const { firings: decided, memories, alarms } = step;
    step.firings = [];
    step.memories = new Map();
    step.alarms = new Map();
    step.resultChars = 0;
    const firings = await this.#settled(decided);
    const record = {
      firings: firings.map(({ firing }) => firing),
      memories: [...memories.values()],
      alarms: [...alarms.values()],
      followedSeq,
    };
    const unrecorded = new Set(await this.#watchStore.record(record, step.fence));
    if (alarms.size > 0) this.#onAlarmsChanged();
    for (const { entry, firing } of firings) {
      if (!unrecorded.has(firing)) this.#count(firing);
      // The rule was changed or removed while it was evaluated, for example with its author. Loaded once for all firings.
      else if (!entry.isGone) await this.#rules.refresh(entry.record.id);
    }
    const queued = firings.flatMap(({ firing }) => firing.messages.filter(({ state }) => state === 'queued'));
    if (queued.length > 0) this.#outbox.wakeFor(new Set(queued.map(({ channel }) => channel)));
  }

  /** The firings with their messages in the state to be stored. */
  async #settled(firings: EvaluationStep['firings']): Promise<EvaluationStep['firings']> {
    const settled: EvaluationStep['firings'] = [];
    for (const { entry, firing } of firings) {
      settled.push({ entry, firing: { ...firing, messages: await this.#messages.settle(firing.messages) } });
    }
    return settled;
  }

  #count({ isCounted, messages }: RecordedFiring): void {
    if (isCounted) this.#counters.firings += 1;
    for (const { channel, state } of messages) this.#counters.end(channel, state);
  }
}

const none = { keyOf: () => undefined } as const;
