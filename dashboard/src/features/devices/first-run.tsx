// What a fresh service shows in place of the list: three ways to begin, side by side. When the first value arrives, its
// chart takes the place of the waiting dot.
import { Button, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useId, useState } from 'react';
import { api, call, type Device, type Schemas } from '../../api/client.ts';
import { factsQuery, mqttDoorOf, originFor } from '../../api/facts.ts';
import { guestAccessQuery } from '../../api/guest-access.ts';
import { keys } from '../../api/query-keys.ts';
import { session } from '../../api/session.ts';
import { useSession } from '../../api/use-session.ts';
import { GuestAccessChoice } from '../../shared/account/guest-access.tsx';
import { AddressNote } from '../../shared/page/address-note.tsx';
import { CodeBlock } from '../../shared/page/code-block.tsx';
import { CopyButton } from '../../shared/page/copy-button.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './first-run.module.css';

const FirstChart = lazy(async () => ({ default: (await import('./first-chart.tsx')).FirstChart }));
const pollMs = 2_000;

export function FirstRun({ onCreate }: { readonly onCreate: () => void }) {
  const { firstRun } = usePageStrings();
  const state = useSession();
  const isAdmin = state.status === 'user' && state.isAdmin;
  const access = useQuery({ ...guestAccessQuery, enabled: isAdmin });
  // What is asked stands above, so nothing is shown before it is known whether it is.
  if (isAdmin && access.isPending) return null;
  return (
    <section>
      <Title order={2} fz={20}>
        {firstRun.title}
      </Title>
      <Text c="dimmed" mt={4} mb="lg">
        {firstRun.words}
      </Text>
      {isAdmin && access.data !== undefined && <Strangers state={access.data} />}
      <div className={classes.ways}>
        <PushNow />
        <Gateway />
        <Way title={firstRun.importTitle} words={firstRun.importWords}>
          <Button component={Link} to="/import" variant="default" leftSection={<Icon name="import" />}>
            {firstRun.importOpen}
          </Button>
          <Button variant="subtle" mt="xs" onClick={onCreate}>
            {firstRun.byHand}
          </Button>
        </Way>
      </div>
    </section>
  );
}

/** Asked once of an admin; stays where it is while it is answered, so that nothing moves. */
function Strangers({ state }: { readonly state: Schemas['GuestAccess'] }) {
  const { strangers } = usePageStrings();
  const [isAsked] = useState(!state.answered);
  const id = useId();
  if (!isAsked) return null;
  return (
    <article className={classes.question} aria-labelledby={id}>
      <Title order={3} fz={16} id={id}>
        {strangers.title}
      </Title>
      <Text fz="sm" c="dimmed" mt={4} mb="md">
        {strangers.words}
      </Text>
      <GuestAccessChoice state={state} labelledBy={id} />
    </article>
  );
}

interface WayProps {
  readonly title: string;
  readonly words: string;
  readonly children: ReactNode;
}

function Way({ title, words, children }: WayProps) {
  return (
    <article className={classes.way}>
      <Title order={3} fz={16}>
        {title}
      </Title>
      <Text fz="sm" c="dimmed" mt={4} mb="md">
        {words}
      </Text>
      {children}
    </article>
  );
}

function PushNow() {
  const { firstRun } = usePageStrings();
  const state = useSession();
  const first = useQuery({
    queryKey: [...keys.devices, 'first'],
    refetchInterval: pollMs,
    queryFn: () => call(api.GET('/api/v2/devices', { params: { query: { limit: 1, offset: 0 } } })),
  });
  const device = first.data?.find(({ sensors }) => sensors.some(({ last_value }) => last_value !== undefined));
  const { data: facts } = useQuery(factsQuery);
  const lines = curlLines(originFor(facts), state.status === 'user' ? '$TOKEN' : undefined);
  const copied = curlLines(originFor(facts), session.token);
  return (
    <Way title={firstRun.pushTitle} words={firstRun.pushWords}>
      <CodeBlock text={lines} copied={copied} />
      {state.status === 'guest' && (
        <Text fz="xs" c="dimmed" mt={6}>
          {firstRun.pushAsGuest}
        </Text>
      )}
      <div className={classes.arrival} role="status">
        {device === undefined ? <Waiting /> : <Arrived device={device} />}
      </div>
    </Way>
  );
}

function Waiting() {
  const { firstRun } = usePageStrings();
  return (
    <>
      <span className={classes.dot} />
      <Text span fz="sm" c="dimmed">
        {firstRun.waiting}
      </Text>
    </>
  );
}

function Arrived({ device }: { readonly device: Device }) {
  const { firstRun } = usePageStrings();
  return (
    <div className={`${classes.arrived} d-fade-in`}>
      <Text fw={650}>{firstRun.arrived}</Text>
      <Suspense fallback={<div className={classes.chartPlace} />}>
        <FirstChart device={device} />
      </Suspense>
      <Button component={Link} to="/devices/$device" params={{ device: device.id } as never} mt="sm">
        {firstRun.open(device.name ?? device.id)}
      </Button>
    </div>
  );
}

function Gateway() {
  const { firstRun } = usePageStrings();
  const state = useSession();
  const { data: facts } = useQuery(factsQuery);
  const mqtt = mqttDoorOf(facts)?.address ?? '';
  return (
    <Way title={firstRun.gatewayTitle} words={firstRun.gatewayWords}>
      <dl className={classes.facts}>
        <dt>{firstRun.address}</dt>
        <dd>
          {originFor(facts)}
          <CopyButton text={originFor(facts)} />
        </dd>
        <dt>{firstRun.mqtt}</dt>
        <dd>
          {mqtt}
          <CopyButton text={mqtt} />
        </dd>
        <dt>{firstRun.account}</dt>
        <dd>{state.status === 'user' ? state.username : firstRun.accountGuest}</dd>
      </dl>
      <AddressNote />
    </Way>
  );
}

/** Makes a device with a sensor, and pushes a value. */
function curlLines(origin: string, token: string | undefined): string {
  const post = `curl -X POST ${origin}/api/v2/devices`;
  const json = `-H 'Content-Type: application/json'`;
  const bearer = token === undefined ? '' : ` \\\n  -H "Authorization: Bearer ${token}"`;
  const device = JSON.stringify({ id: 'field-3', name: 'Field 3', sensors: [{ id: 'TC', unit: '°C' }] });
  return [
    `${post} \\\n  ${json}${bearer} \\\n  -d '${device}'`,
    `${post}/field-3/sensors/TC/values \\\n  ${json}${bearer} \\\n  -d '{"value": 21.5}'`,
  ].join('\n\n');
}
