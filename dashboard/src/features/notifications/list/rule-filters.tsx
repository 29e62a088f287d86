// Over many notifications: a field that finds by what a row says, and chips for what wants looking at. Both stand in the
// address; all of the list is at hand, so no request is made.
import { Group } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useHoldingRules } from '../../../api/alarms.ts';
import type { Device } from '../../../api/client.ts';
import { useUsername } from '../../../api/use-session.ts';
import { ChoiceChips } from '../../../shared/list/choice-chips.tsx';
import { FindField } from '../../../shared/list/find-field.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import type { Rule } from '../editor/draft.ts';
import { stateOf } from '../editor/rule-parts.tsx';
import { useReach } from '../reach.ts';
import { ruleWords } from '../rule-words.ts';
import classes from '../rules.module.css';
import { type NotificationsSearch, ruleStates } from './notifications-search.ts';

export function RuleFilters({ search }: { readonly search: NotificationsSearch }) {
  const { notifications } = usePageStrings();
  const navigate = useNavigate();
  const change = (changed: NotificationsSearch) =>
    void navigate({ to: '/notifications', search: { ...search, ...changed }, replace: true });
  return (
    <Group gap="sm" mb="md" role="search">
      <FindField
        className={classes.find}
        label={notifications.find}
        find={search.find}
        onFind={(find) => change({ find })}
      />
      <Group gap={6} role="group" aria-label={notifications.outboxFilters}>
        <ChoiceChips
          choices={ruleStates}
          words={notifications.only}
          chosen={search.only}
          onChoose={(only) => change({ only })}
        />
      </Group>
    </Group>
  );
}

/** Whether a rule is asked for. */
export function useFitting({ find, only }: NotificationsSearch, known: readonly Device[]): (rule: Rule) => boolean {
  const strings = usePageStrings();
  const reach = useReach();
  const holding = useHoldingRules();
  const me = useUsername();
  const part = (find ?? '').toLocaleLowerCase();
  return (rule) => {
    const state = stateOf(rule, reach);
    if (only === 'holding' && !holding.has(rule.id)) return false;
    if (only === 'failing' && state !== 'failing' && state !== 'unreachable') return false;
    if (only === 'paused' && state !== 'paused' && state !== 'expired') return false;
    const { devices = [], expression = '' } = rule.condition;
    const said = [rule.description, ruleWords(rule, strings, { known, me }), ...devices, expression].join('\n');
    return said.toLocaleLowerCase().includes(part);
  };
}
