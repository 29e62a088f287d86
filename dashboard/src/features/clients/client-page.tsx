// An MQTT client: its connection and session, its last will, its subscriptions, what was refused; and its end.
import { Button, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { unlessGone } from '../../api/api-problem.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Age } from '../../shared/device/age.tsx';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import rows from '../../shared/list/column-rows.module.css';
import { CopyButton } from '../../shared/page/copy-button.tsx';
import { Facts } from '../../shared/page/facts.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import page from '../../shared/page/record-page.module.css';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { clientAt, placeOf } from './client-place.ts';
import { ClientState } from './client-state.tsx';
import classes from './clients.module.css';

type Client = Schemas['MqttClient'];
type Transport = NonNullable<Client['transport']>;

const route = getRouteApi('/clients/$client');

export function ClientPage() {
  const path = route.useParams();
  const { data, error, refetch } = useQuery({
    queryKey: keys.client(path.client),
    refetchInterval: 15_000,
    queryFn: () => call(api.GET('/api/v2/mqtt/clients/{client}', { params: { path } })),
  });
  const client = unlessGone(data, error);
  const id = clientAt(path.client);
  return (
    <>
      <PageHeader
        title={id}
        subtitle={
          <>
            {client?.owner ?? '\u00a0'} <CopyButton text={id} />
          </>
        }
        actions={client !== undefined && <Acts client={client} />}
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {client === undefined && error === null && <Skeleton height={320} />}
      {client !== undefined && (
        <>
          <ConnectionFacts client={client} />
          <div className={page.columns}>
            <Subscriptions client={client} />
            <div className={classes.stack}>
              <Refused client={client} />
              <Will client={client} />
            </div>
          </div>
        </>
      )}
    </>
  );
}

function Acts({ client: { id, connected, clean_session: isClean } }: { readonly client: Client }) {
  const { clients } = usePageStrings();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isCutting, cutting] = useDisclosure(false);
  const [isEnding, ending] = useDisclosure(false);
  const disconnect = async (session: 'keep' | 'end') => {
    const params = { path: { client: placeOf(id) }, query: { session } };
    await call(api.POST('/api/v2/mqtt/clients/{client}/disconnect', { params }));
    const isGone = isClean || session === 'end';
    if (isGone) await navigate({ to: '/clients' });
    await queries.invalidateQueries({ queryKey: isGone ? keys.clientLists : keys.clients });
    toasts.show({ text: session === 'end' ? clients.sessionEnded(id) : clients.disconnected(id) });
  };
  return (
    <>
      {connected && (
        <Button variant="default" leftSection={<Icon name="close" />} onClick={cutting.open}>
          {clients.disconnect}
        </Button>
      )}
      {!isClean && (
        <Button variant="default" leftSection={<Icon name="trash" />} onClick={ending.open}>
          {clients.endSession}
        </Button>
      )}
      <ConfirmDanger
        isOpen={isCutting}
        onClose={cutting.close}
        title={clients.disconnectQuestion(id)}
        words={clients.disconnectWords}
        action={clients.disconnect}
        onConfirm={() => disconnect('keep')}
      />
      <ConfirmDanger
        isOpen={isEnding}
        onClose={ending.close}
        title={clients.endSessionQuestion(id)}
        words={clients.endSessionWords}
        action={clients.endSession}
        onConfirm={() => disconnect('end')}
      />
    </>
  );
}

function ConnectionFacts({ client }: { readonly client: Client }) {
  const { clients } = usePageStrings();
  const { transport, protocol, address, keep_alive: keepAlive, session_expiry: keptS, waiting, expires } = client;
  const since = client.connected_since ?? client.disconnected_since;
  const facts: readonly (readonly [string, ReactNode] | undefined)[] = [
    [clients.state, <ClientState key="state" client={client} />],
    [clients.since, <Age key="since" at={since} />],
    address === undefined ? undefined : [clients.from, address],
    protocol === undefined
      ? undefined
      : [clients.protocol, clients.protocolOver(protocol, clients.transports[transport as Transport])],
    keepAlive === undefined ? undefined : [clients.keepAlive, clients.seconds(keepAlive)],
    [clients.session, client.clean_session ? clients.clean : clients.kept],
    keptS === undefined || keptS === 0 ? undefined : [clients.keptFor, clients.seconds(keptS)],
    expires === undefined ? undefined : [clients.ends, <Age key="ends" at={expires} />],
    client.messages_in === undefined ? undefined : [clients.messagesIn, client.messages_in],
    client.messages_out === undefined ? undefined : [clients.messagesOut, client.messages_out],
    [clients.waits, `${clients.messages(waiting.messages)} · ${clients.bytes(waiting.bytes)}`],
    waiting.unsent_bytes === 0 ? undefined : [clients.unsent, clients.bytes(waiting.unsent_bytes)],
  ];
  return <Facts facts={facts.filter((fact) => fact !== undefined)} />;
}

function Subscriptions({ client: { subscriptions, subscription_count: count } }: { readonly client: Client }) {
  const { clients } = usePageStrings();
  const words =
    count > subscriptions.length
      ? clients.subscriptionsShown(subscriptions.length, count)
      : clients.subscriptionsCount(count);
  return (
    <Section title={clients.subscriptions} words={count === 0 ? clients.noSubscriptions : words}>
      <ul className={classes.list} aria-label={clients.subscriptions}>
        {subscriptions.map(({ filter, qos }) => (
          <li key={filter}>
            <span className={classes.filter}>{filter}</span>
            <span className={rows.quiet}>
              {clients.qos} {qos}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Refused({ client: { refused } }: { readonly client: Client }) {
  const { clients } = usePageStrings();
  const reasons = Object.entries(refused) as [keyof typeof clients.reasons, number][];
  return (
    <Section title={clients.refused} words={clients.refusedWords}>
      {reasons.length === 0 && <Text c="dimmed">{clients.nothingRefused}</Text>}
      <ul className={classes.list} aria-label={clients.refused}>
        {reasons.map(([reason, count]) => (
          <li key={reason}>
            <span>{clients.reasons[reason]}</span>
            <span className={classes.count}>{clients.times(count)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Will({ client: { will } }: { readonly client: Client }) {
  const { clients } = usePageStrings();
  if (will === undefined) return null;
  const { topic, qos, retain, bytes, payload, payload_base64: base64 } = will;
  return (
    <Section title={clients.will} words={clients.willWords}>
      <Facts
        facts={[
          [clients.topic, topic],
          [clients.qos, retain ? `${qos}, ${clients.retained}` : qos],
          [clients.payload, payload ?? base64 ?? clients.payloadHidden(bytes)],
        ]}
      />
    </Section>
  );
}
