// How a gateway is connected: addresses, account, and the lines that push a value and say that it is there.
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { factsQuery, mqttDoorOf, originFor } from '../../api/facts.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { AddressNote } from '../../shared/page/address-note.tsx';
import { CodeBlock } from '../../shared/page/code-block.tsx';
import { CopyButton } from '../../shared/page/copy-button.tsx';
import { Section } from '../../shared/page/section.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { type Gateway, useGatewayDevices } from './gateway.ts';
import classes from './gateways.module.css';

export function Connect({ gateway }: { readonly gateway: Gateway }) {
  const { gateways } = usePageStrings();
  const state = useSession();
  const { data: facts } = useQuery(factsQuery);
  const { port, tlsPort } = facts?.mqtt ?? {};
  const door = mqttDoorOf(facts);
  const { hostname, origin } = new URL(originFor(facts));
  const devices = useGatewayDevices(gateway.id, limits.relatedDevicesMax).data?.page;
  // Anybody's public device may name this gateway.
  const first = devices?.find(({ owner, sensors }) => owner === gateway.owner && sensors.length > 0);
  const topic = `devices/${first?.id ?? 'field-3'}/sensors/${first?.sensors[0]?.id ?? 'TC'}/value`;
  const username = state.status === 'user' ? state.username : undefined;
  const rows = [
    ...(port === undefined && tlsPort !== undefined ? [] : [[gateways.mqttAddress, door?.address ?? '']]),
    ...(tlsPort === undefined ? [] : [[gateways.mqttTls, `${hostname}:${tlsPort}`]]),
    [gateways.httpAddress, origin],
    [gateways.clientId, gateway.id],
    [gateways.account, username ?? gateways.accountNone],
  ] as [string, string][];
  return (
    <Section
      title={gateways.connect}
      words={
        username === undefined ? (
          gateways.connectWords
        ) : (
          <>
            {gateways.connectWords}{' '}
            <Anchor component={Link} to="/profile" search={{ tab: 'keys' } as never} fz="sm" underline="always">
              {gateways.toKeys}
            </Anchor>
          </>
        )
      }
    >
      <dl className={classes.connect}>
        {rows.map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>
              <span className="d-ellipsis">{value}</span> <CopyButton text={value} />
            </dd>
          </div>
        ))}
      </dl>
      <AddressNote />
      {door?.options !== undefined && (
        <CodeBlock text={publishLines({ gateway: gateway.id, options: door.options, username, topic })} />
      )}
      <Text fz="sm" c="dimmed" mt="md" mb={6}>
        {gateways.heartbeatWords}
      </Text>
      <CodeBlock text={heartbeatLines({ gateway: gateway.id, origin, isUser: username !== undefined })} />
    </Section>
  );
}

interface PublishParts {
  readonly gateway: string;
  readonly options: string;
  readonly username: string | undefined;
  /** Of one of its devices, where there is one. */
  readonly topic: string;
}

function publishLines({ gateway, options, username, topic }: PublishParts): string {
  const account = username === undefined ? '' : ` \\\n  -u '${quoted(username)}' -P "$PASSWORD"`;
  return [
    `mosquitto_pub ${options} -q 1 \\\n  -i '${quoted(gateway)}'${account} \\`,
    `  -t '${quoted(topic)}' -m '{"value": 21.5}'`,
  ].join('\n');
}

function heartbeatLines(parts: {
  readonly gateway: string;
  readonly origin: string;
  readonly isUser: boolean;
}): string {
  const bearer = parts.isUser ? ` \\\n  -H "Authorization: Bearer $TOKEN"` : '';
  return `curl -X PUT '${parts.origin}/api/v2/gateways/${encodeURIComponent(parts.gateway)}/health'${bearer}`;
}

/** As a shell takes it within single quotes. */
function quoted(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}
