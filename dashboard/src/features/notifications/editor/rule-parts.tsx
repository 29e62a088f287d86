// How a notification stands, in pieces that its row and its page show: state, next possible firing, what failed and what
// to do, and the switch that pauses it.

import { Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { useHoldingRules } from '../../../api/alarms.ts';
import { Age } from '../../../shared/device/age.tsx';
import { reasonWords } from '../../../shared/message-reason.ts';
import { useNow } from '../../../shared/page/use-now.ts';
import type { Strings } from '../../../strings/catalogue.ts';
import { listed } from '../../../strings/listed.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import { useRuleActs } from '../list/rule-acts.ts';
import { obstacleOfRule, outcomeOf, type Reach, useReach } from '../reach.ts';
import classes from '../rules.module.css';
import type { Rule } from './draft.ts';

type State = 'active' | 'paused' | 'expired' | 'failing' | 'unreachable';

export function stateOf(rule: Rule, reach: Reach): State {
  if (rule.expired === true) return 'expired';
  if (rule.status === 'inactive') return 'paused';
  if (obstacleOfRule(rule, reach) !== undefined) return 'unreachable';
  return isFailing(rule) ? 'failing' : 'active';
}

/** Whether the last that became of a message was that it failed. */
function isFailing({ last_failure: failure, last_success: success }: Rule): boolean {
  return failure !== undefined && (success === undefined || Date.parse(failure) >= Date.parse(success));
}

export function RuleState({ rule }: { readonly rule: Rule }) {
  const { notifications } = usePageStrings();
  const state = stateOf(rule, useReach());
  return (
    <span className={classes.state} data-state={state}>
      {notifications.states[state]}
    </span>
  );
}

/** When it fired last, and what became of what it did then: a firing is no message that arrived. */
export function LastFired({ rule, quiet = false }: { readonly rule: Rule; readonly quiet?: boolean }) {
  const { notifications } = usePageStrings();
  const outcome = outcomeOf(rule);
  return (
    <>
      <Age at={rule.last_notification} quiet={quiet} />
      {outcome !== undefined && <span className={classes.outcome}> {notifications.outcomes[outcome]}</span>}
    </>
  );
}

/** Says that its condition holds now, where it does. */
export function Holds({ rule }: { readonly rule: Rule }) {
  const { now } = usePageStrings();
  return useHoldingRules().has(rule.id) ? <span className={classes.holds}>{now.holds}</span> : null;
}

export function NextPossible({ rule }: { readonly rule: Rule }) {
  const { notifications } = usePageStrings();
  const nowMs = useNow();
  const state = stateOf(rule, useReach());
  if (state === 'expired' || state === 'paused') return <span className="d-quiet">–</span>;
  const last = rule.last_notification;
  const nextMs = last === undefined ? 0 : Date.parse(last) + rule.throttling * 1_000;
  if (nextMs <= nowMs) return <span>{notifications.nextNow}</span>;
  return <Age at={new Date(nextMs).toISOString()} />;
}

export function Failure({ rule }: { readonly rule: Rule }) {
  const strings = usePageStrings();
  const { notifications } = strings;
  const found = obstacleOfRule(rule, useReach());
  if (found !== undefined && rule.status === 'active') {
    const ways = found.channels.map((way) => notifications.channels[way as keyof typeof notifications.channels] ?? way);
    return (
      <Text className={classes.failure} component="div">
        {notifications.reachesNobody[found.obstacle]} {listed(ways)}. <b>{notifications.mends[found.obstacle]}</b>
      </Text>
    );
  }
  if (!isFailing(rule)) return null;
  const reason = rule.last_failure_reason ?? String(rule.last_failure_code ?? '');
  return (
    <Text className={classes.failure} component="div">
      {notifications.failed} <Age at={rule.last_failure} />
      {strings.shared.labelled('', '')}
      {reasonWords(reason, strings)}. <b>{adviceOn(reason, notifications)}</b>
    </Text>
  );
}

/** What to do about a reason of the service. */
export function adviceOn(reason: string, { advice }: Strings['notifications']): string {
  const known: readonly (readonly [RegExp, string])[] = [
    [/no such user/i, advice.user],
    [/sign in/i, advice.signIn],
    [/DUNDUN_|not set|credentials|nothing sends/i, advice.provider],
    [/takes no messages|takes messages only/i, advice.unwelcome],
    [/cap of/i, advice.cap],
    [/has no |there is no address|no such account|number|refuses the address|webhook address/i, advice.address],
    [/more messages than/i, advice.throttle],
  ];
  return known.find(([pattern]) => pattern.test(reason))?.[1] ?? advice.other;
}

export function StatusSwitch({ rule, label }: { readonly rule: Rule; readonly label: string }) {
  const { setStatus } = useRuleActs();
  const [wanted, setWanted] = useState<boolean>();
  const isOn = wanted ?? rule.status === 'active';
  return (
    <Switch
      aria-label={label}
      checked={isOn}
      onChange={(event) => {
        const next = event.currentTarget.checked;
        setWanted(next);
        void setStatus(rule, next ? 'active' : 'inactive').finally(() => setWanted(undefined));
      }}
    />
  );
}
