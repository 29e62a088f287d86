// The second half of the sentence: who is told how and what, or which actuator is set; how often, and until when.

import { Anchor, Button, Checkbox, Group, SegmentedControl, Stack, TagsInput, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call } from '../../../api/client.ts';
import { factsQuery } from '../../../api/facts.ts';
import { meQuery } from '../../../api/me.ts';
import { namedDevicesQuery } from '../../../api/named-devices.ts';
import { keys } from '../../../api/query-keys.ts';
import { useSession, useUsername } from '../../../api/use-session.ts';
import { limits } from '../../../limits.ts';
import type { Form } from '../../../shared/form/use-form.ts';
import { CopyButton } from '../../../shared/page/copy-button.tsx';
import { listed } from '../../../strings/listed.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import { useReach } from '../reach.ts';
import { ChoiceBlank, Fault, Line, PopoverBlank, TakeAway, TextBlank } from './blank.tsx';
import { type Draft, sensorsOf } from './draft.ts';
import { DurationBlank } from './duration.tsx';
import classes from './editor.module.css';
import { Add, type PartProps } from './when.tsx';

const channels = ['email', 'sms', 'voice', 'telegram', 'twitter', 'webhook', 'none'] as const;
export type Channel = (typeof channels)[number];

export function Tell({ form, faultOf }: PartProps) {
  const { notifications } = usePageStrings();
  const isMessage = form.values.kind === 'message';
  return (
    <div>
      <SegmentedControl
        size="xs"
        mb="xs"
        aria-label={notifications.what}
        value={form.values.kind}
        onChange={(kind) => form.set('kind', kind as Draft['kind'])}
        data={[
          { value: 'message', label: notifications.kindMessage },
          { value: 'actuation', label: notifications.kindActuation },
        ]}
      />
      {isMessage ? <Message form={form} faultOf={faultOf} /> : <Actuation form={form} faultOf={faultOf} />}
      <Limits form={form} faultOf={faultOf} />
    </div>
  );
}

function Message({ form, faultOf }: PartProps) {
  const { notifications } = usePageStrings();
  const me = useUsername();
  const { usernames, channels: chosen } = form.values;
  const reach = useReach();
  const people = usernames.map((name) => (name === me ? notifications.me : name));
  const ways = chosen.map((channel) => notifications.channels[channel as Channel] ?? channel);
  return (
    <>
      <Line>
        {notifications.tell}
        <PopoverBlank
          label={notifications.people}
          text={listed(people)}
          placeholder={notifications.nobody}
          isWrong={faultOf('usernames') !== undefined}
        >
          <People form={form} />
        </PopoverBlank>
        {notifications.by}
        <PopoverBlank
          label={notifications.ways}
          text={listed(ways)}
          placeholder={notifications.noWay}
          isWrong={faultOf('channels') !== undefined}
        >
          <Checkbox.Group value={[...chosen]} onChange={(next) => form.set('channels', next)}>
            <Stack gap={10}>
              {channels.map((channel) => {
                const obstacle = reach.obstacleOf(channel, usernames);
                return (
                  <Checkbox
                    key={channel}
                    value={channel}
                    label={notifications.channels[channel]}
                    description={
                      obstacle === undefined ? notifications.channelMeans[channel] : notifications.lacks[obstacle]
                    }
                    disabled={obstacle !== undefined && !chosen.includes(channel)}
                  />
                );
              })}
            </Stack>
          </Checkbox.Group>
        </PopoverBlank>
      </Line>
      <Fault text={faultOf('usernames')} />
      <Fault text={faultOf('channels')} />
      <Reach form={form} />
      <Words form={form} faultOf={faultOf} />
    </>
  );
}

function People({ form }: { readonly form: Form<Draft> }) {
  const { notifications } = usePageStrings();
  const [typed, setTyped] = useState('');
  const query = { username: typed, limit: limits.pickerHitsMax, offset: 0 };
  const { data = [] } = useQuery({
    queryKey: keys.userList(query),
    queryFn: () => call(api.GET('/api/v2/users', { params: { query } })),
  });
  return (
    <TagsInput
      data-autofocus
      label={notifications.people}
      description={notifications.peopleMeans}
      data={data.map(({ username }) => username)}
      value={[...form.values.usernames]}
      onChange={(names) => form.set('usernames', names)}
      searchValue={typed}
      onSearchChange={setTyped}
      acceptValueOnBlur
      comboboxProps={{ withinPortal: false }}
    />
  );
}

/** What stands in the way of reaching oneself: an address that is missing; and the key that webhooks are signed with. */
function Reach({ form }: { readonly form: Form<Draft> }) {
  const { notifications } = usePageStrings();
  const state = useSession();
  const isUser = state.status === 'user';
  const reach = useReach();
  const { data: me } = useQuery({ ...meQuery, enabled: isUser });
  const { usernames, channels: chosen } = form.values;
  if (!isUser) return chosen.some((way) => way !== 'none') ? <Hint text={notifications.guestHint} /> : null;
  if (me === undefined || !usernames.includes(state.username)) return null;
  const reached: Record<string, unknown> = { ...me, sms: me.phone, voice: me.phone };
  const unprovided = chosen.filter((way) => reach.obstacleOf(way, usernames) === 'provider');
  const missing = chosen.filter(
    (way) => way !== 'none' && !unprovided.includes(way) && String(reached[way] ?? '') === '',
  );
  // Nothing was chosen that sends, because nothing can.
  const obstacles = channels.filter((way) => way !== 'none').map((way) => reach.obstacleOf(way, [state.username]));
  const isStuck = chosen.every((way) => way === 'none') && !obstacles.includes(undefined);
  return (
    <>
      {isStuck && (
        <Hint text={notifications.nothingSends}>
          {obstacles.includes('address') && (
            <Anchor component={Link} to="/profile" fz="sm">
              {notifications.toProfile}
            </Anchor>
          )}
        </Hint>
      )}
      {unprovided.length > 0 && (
        <Hint
          text={notifications.unprovided(listed(unprovided.map((way) => notifications.channels[way as Channel])))}
        />
      )}
      {missing.length > 0 && (
        <Hint text={notifications.missing(listed(missing.map((way) => notifications.channels[way as Channel])))}>
          <Anchor component={Link} to="/profile" fz="sm">
            {notifications.toProfile}
          </Anchor>
        </Hint>
      )}
      {chosen.includes('webhook') && me.webhook_key !== undefined && (
        <Hint text={notifications.webhookKey}>
          <CopyButton text={me.webhook_key}>{notifications.copyKey}</CopyButton>
        </Hint>
      )}
    </>
  );
}

function Hint({ text, children }: { readonly text: string; readonly children?: React.ReactNode }) {
  return (
    <Group gap="xs" mt={4}>
      <Text fz="sm" c="dimmed">
        {text}
      </Text>
      {children}
    </Group>
  );
}

function Words({ form, faultOf }: PartProps) {
  const { notifications } = usePageStrings();
  const { message, recoveryMessage } = form.values;
  const insert = (variable: string) => form.set('message', `${message}${message === '' ? '' : ' '}${variable}`);
  return (
    <>
      <Textarea
        className={classes.words}
        aria-label={notifications.message}
        dir="auto"
        placeholder={notifications.messageExample}
        autosize
        minRows={2}
        maxRows={8}
        size="md"
        {...form.field('message')}
        error={faultOf('message')}
      />
      <Group gap={6} mt={6}>
        <Text fz="sm" c="dimmed">
          {notifications.insert}
        </Text>
        {[...sensorsOf(form.values), 'id'].map((name) => (
          <Button key={name} variant="default" size="compact-xs" maw="100%" onClick={() => insert(`{${name}}`)}>
            {name === 'id' ? notifications.variableId : notifications.variableValue(name)}
          </Button>
        ))}
        {(['device', 'value', 'unit', 'link'] as const).map((word) => (
          <Button key={`word ${word}`} variant="default" size="compact-xs" onClick={() => insert(`{${word}}`)}>
            {notifications.variables[word]}
          </Button>
        ))}
      </Group>
      <PathNote texts={[message, recoveryMessage ?? '']} />
      {recoveryMessage === undefined ? (
        <Add
          label={notifications.addRecovery}
          onClick={() => form.set('recoveryMessage', notifications.recoveryFirst)}
        />
      ) : (
        <>
          <Line>
            {notifications.recovery}
            <TakeAway label={notifications.takeRecovery} onClick={() => form.set('recoveryMessage', undefined)} />
          </Line>
          <Textarea
            className={classes.words}
            aria-label={notifications.recoveryLabel}
            autosize
            minRows={1}
            size="md"
            {...form.field('recoveryMessage')}
            error={faultOf('recoveryMessage')}
          />
        </>
      )}
    </>
  );
}

/** Says of a link that it does not say where the service is. */
function PathNote({ texts }: { readonly texts: readonly string[] }) {
  const { notifications } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  const isKnown = facts === undefined || facts.reachable?.isGuess === false;
  if (isKnown || !texts.some((text) => text.includes('{link}'))) return null;
  return (
    <Text fz="sm" c="dimmed" mt={6}>
      {notifications.linkIsPath}
    </Text>
  );
}

function Actuation({ form, faultOf }: PartProps) {
  const { notifications } = usePageStrings();
  const { devices, actuatorDevice, actuator, actuatorValue } = form.values;
  const { data = [] } = useQuery(namedDevicesQuery([...devices, actuatorDevice]));
  const actuators = data.find(({ id }) => id === actuatorDevice)?.actuators ?? [];
  return (
    <>
      <Line>
        {notifications.set}
        <TextBlank
          label={notifications.actuator}
          value={actuator}
          placeholder="valve-1"
          suggestions={actuators.map(({ id }) => id)}
          onChange={(id) => form.set('actuator', id)}
        />
        {notifications.of}
        <TextBlank
          label={notifications.actuatorDevice}
          value={actuatorDevice}
          placeholder="field-3"
          suggestions={data.map(({ id }) => id)}
          onChange={(id) => form.set('actuatorDevice', id)}
        />
        {notifications.to}
        <TextBlank
          label={notifications.actuatorValue}
          value={actuatorValue}
          onChange={(value) => form.set('actuatorValue', value)}
        />
      </Line>
      <Fault text={faultOf('actuator')} />
    </>
  );
}

function Limits({ form, faultOf }: PartProps) {
  const { notifications } = usePageStrings();
  const { throttlingS, expires, hysteresis } = form.values;
  const isLimited = throttlingS > 0 ? 'once' : 'always';
  return (
    <>
      <Line>
        <ChoiceBlank
          label={notifications.howOften}
          value={isLimited}
          onChange={(chosen) => form.set('throttlingS', chosen === 'once' ? 3_600 : 0)}
          options={[
            { value: 'once', label: notifications.notMoreThanOnce },
            { value: 'always', label: notifications.everyTime },
          ]}
        />
        {isLimited === 'once' && (
          <>
            {notifications.every}
            <DurationBlank
              label={notifications.throttlingLabel}
              seconds={throttlingS}
              isWrong={faultOf('throttlingS') !== undefined}
              onChange={(seconds) => form.set('throttlingS', Math.max(1, seconds))}
            />
          </>
        )}
        {expires !== undefined && (
          <>
            {notifications.until}
            <TextBlank
              label={notifications.untilLabel}
              type="datetime-local"
              value={expires}
              isWrong={faultOf('expires') !== undefined}
              onChange={(value) => form.set('expires', value)}
            />
            <TakeAway label={notifications.takeUntil} onClick={() => form.set('expires', undefined)} />
          </>
        )}
      </Line>
      <Fault text={faultOf('throttlingS')} />
      <Fault text={faultOf('expires')} />
      {hysteresis !== undefined && (
        <Line>
          {notifications.hysteresis}
          <TextBlank
            label={notifications.hysteresisLabel}
            value={hysteresis}
            placeholder={notifications.hysteresisExample}
            isWrong={faultOf('hysteresis') !== undefined}
            onChange={(text) => form.set('hysteresis', text)}
          />
          <TakeAway label={notifications.takeHysteresis} onClick={() => form.set('hysteresis', undefined)} />
        </Line>
      )}
      <Fault text={faultOf('hysteresis')} />
      <Group gap={4}>
        {expires === undefined && <Add label={notifications.addUntil} onClick={() => form.set('expires', '')} />}
        {hysteresis === undefined && (
          <Add label={notifications.addHysteresis} onClick={() => form.set('hysteresis', '')} />
        )}
      </Group>
    </>
  );
}
