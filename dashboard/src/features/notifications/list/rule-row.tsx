// A notification in the list: switch, what it says, state, when it fired last and what came of it, next possible, how often, delete; and where its last
// message failed, why and what to do.
import { ActionIcon } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Device } from '../../../api/client.ts';
import { useUsername } from '../../../api/use-session.ts';
import { Icon } from '../../../shared/page/icon.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import type { Rule } from '../editor/draft.ts';
import { Failure, Holds, LastFired, NextPossible, RuleState, StatusSwitch } from '../editor/rule-parts.tsx';
import { ruleWords } from '../rule-words.ts';
import classes from '../rules.module.css';
import { useRuleActs } from './rule-acts.ts';

interface RuleRowProps {
  readonly rule: Rule;
  /** What the rules of the list are about, as far as it is at hand. */
  readonly known: readonly Device[];
}

export function RuleRow({ rule, known }: RuleRowProps) {
  const strings = usePageStrings();
  const { notifications } = strings;
  const { remove } = useRuleActs();
  const sentence = ruleWords(rule, strings, { known, me: useUsername() });
  const title = rule.description || sentence;
  return (
    <li className={classes.row}>
      <span className={classes.above}>
        <StatusSwitch rule={rule} label={notifications.activeOf(title)} />
      </span>
      <span className={classes.words}>
        <Link
          to="/notifications/$notification"
          params={{ notification: rule.id }}
          className={`${classes.title} d-clamp`}
        >
          {title}
        </Link>
        {title !== sentence && <div className={`${classes.sentence} d-clamp`}>{sentence}</div>}
        <Holds rule={rule} />
        <div className={classes.narrow}>
          <RuleState rule={rule} />
          <span>
            <span className="d-quiet">{notifications.lastFired}</span> <LastFired rule={rule} quiet />
          </span>
        </div>
      </span>
      <span className={classes.cell}>
        <RuleState rule={rule} />
      </span>
      <span className={classes.cell}>
        <LastFired rule={rule} quiet />
      </span>
      <span className={classes.cell}>
        <NextPossible rule={rule} />
      </span>
      <span className={classes.cell}>{rule.times_sent}</span>
      <span className={classes.above}>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={notifications.removeOf(title)}
          onClick={() => remove(rule)}
        >
          <Icon name="trash" />
        </ActionIcon>
      </span>
      <Failure rule={rule} />
    </li>
  );
}

export function RuleRowHead() {
  const { notifications } = usePageStrings();
  return (
    <div className={`${classes.row} ${classes.head}`} aria-hidden="true">
      <span />
      <span>{notifications.rule}</span>
      <span>{notifications.state}</span>
      <span>{notifications.lastFired}</span>
      <span>{notifications.nextPossible}</span>
      <span>{notifications.timesFired}</span>
    </div>
  );
}
