// "Send a value": lines to copy, filled in; the dot at their foot lights up when a value arrives.
import { Group, NativeSelect, SegmentedControl, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Device } from '../../../api/client.ts';
import { factsQuery, mqttDoorOf, originFor } from '../../../api/facts.ts';
import type { LiveDatapoint } from '../../../api/use-live.ts';
import { formatValue } from '../../../shared/device/value.tsx';
import { AddressNote } from '../../../shared/page/address-note.tsx';
import { CodeBlock } from '../../../shared/page/code-block.tsx';
import { usePageLocale } from '../../../strings/strings.ts';
import { type Language, languages, linesFor } from './snippet-lines.ts';
import classes from './snippets.module.css';

export interface SnippetsProps {
  readonly device: Device;
  readonly arrived: LiveDatapoint | undefined;
  /** The key that was just made, which goes into the lines. */
  readonly madeKey: string | undefined;
}

export function Snippets({ device, arrived, madeKey }: SnippetsProps) {
  const { tag, strings } = usePageLocale();
  const words = strings.device;
  const { data: facts } = useQuery(factsQuery);
  const [language, setLanguage] = useState<Language>('curl');
  const [chosen, setChosen] = useState<string>();
  const sensor = chosen ?? device.sensors[0]?.id;
  const isOpen = device.visibility === 'public' && facts?.guestAccess !== 'none';
  const door = mqttDoorOf(facts);
  const isWebSocketAlone = door !== undefined && door.options === undefined;
  if (sensor === undefined) return <Text c="dimmed">{words.snippetsNone}</Text>;
  const lines = linesFor(language, {
    origin: originFor(facts),
    mqttOptions: door?.options ?? '',
    ...{ device: device.id, sensor, needsKey: !isOpen },
  }).replaceAll('DUNDUN_KEY', madeKey ?? 'DUNDUN_KEY');
  const keyWords = madeKey === undefined ? words.snippetsKey : words.snippetsKeyMade;
  return (
    <>
      <Text c="dimmed" fz="sm" mb="sm">
        {words.snippetsWords} {isOpen ? words.snippetsOpen : keyWords}
      </Text>
      <Group gap="sm" mb="sm">
        <div className={classes.languages}>
          <SegmentedControl
            size="sm"
            aria-label={words.snippetsLanguage}
            value={language}
            onChange={(value) => setLanguage(value as Language)}
            data={languages.filter((one) => one !== 'mosquitto_pub' || !isWebSocketAlone)}
          />
        </div>
        <NativeSelect
          aria-label={words.snippetsSensor}
          value={sensor}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={device.sensors.map(({ id, name }) => ({ value: id, label: name || id }))}
          maw="100%"
        />
      </Group>
      <CodeBlock text={lines} />
      <AddressNote />
      <div className={classes.arrival} role="status" data-arrived={arrived !== undefined || undefined}>
        <span className={classes.dot} />
        {arrived === undefined ? (
          <span>{words.snippetsWaiting}</span>
        ) : (
          <span key={arrived.date_received} className="d-fade-in">
            {words.snippetsArrived(arrived.sensor_id, formatValue(arrived.value, tag))}
          </span>
        )}
      </div>
    </>
  );
}
