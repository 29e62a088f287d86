// The first lines as they would be stored, what must be said before, what is well to know, and what is refused of them.
import { Alert, List, Table, Text, Title } from '@mantine/core';
import { formatValue } from '../../shared/device/value.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import type { ImportAnswer } from './import-call.ts';
import { allSaid } from './import-words.ts';
import classes from './imports.module.css';
import { RefusedLines } from './refused-lines.tsx';

export function Samples({ answer }: { readonly answer: ImportAnswer }) {
  const locale = usePageLocale();
  const { strings } = locale;
  const { imports } = strings;
  const { samples = [] } = answer;
  const problems = allSaid(locale, answer.problems, answer.problem_codes);
  const notes = allSaid(locale, answer.notes, answer.note_codes);
  return (
    <>
      {problems.length > 0 && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} title={imports.problems}>
          <List>
            {problems.map((problem) => (
              <List.Item key={problem}>{problem}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      {notes.map((note) => (
        <Text key={note} fz="sm" c="dimmed">
          {note}
        </Text>
      ))}
      {samples.length > 0 && <SampleTable samples={samples} />}
      <RefusedLines answer={answer} />
    </>
  );
}

const shownMax = 8;

function SampleTable({ samples }: { readonly samples: NonNullable<ImportAnswer['samples']> }) {
  const { tag, strings } = usePageLocale();
  const { imports } = strings;
  const hasDevices = new Set(samples.map(({ device_id }) => device_id)).size > 1;
  return (
    <div>
      <Title order={3} fz={16} mb="xs" id="samples">
        {imports.samples}
      </Title>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keys as well. */}
      <section className={classes.scroll} tabIndex={0} aria-labelledby="samples">
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{imports.line}</Table.Th>
              {hasDevices && <Table.Th>{imports.device}</Table.Th>}
              <Table.Th>{imports.sensor}</Table.Th>
              <Table.Th>{imports.what}</Table.Th>
              <Table.Th>{imports.when}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {samples.slice(0, shownMax).map(({ line, device_id, sensor_id, value, timestamp }) => (
              <Table.Tr key={`${line}/${device_id}/${sensor_id}`}>
                <Table.Td>{line}</Table.Td>
                {hasDevices && <Table.Td>{device_id}</Table.Td>}
                <Table.Td>{sensor_id}</Table.Td>
                <Table.Td>{formatValue(value, tag)}</Table.Td>
                <Table.Td>{timestamp === undefined ? imports.noTime : localTime(timestamp, tag)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </div>
  );
}

export function localTime(timestamp: string, tag: string): string {
  return new Date(timestamp).toLocaleString(tag, { dateStyle: 'medium', timeStyle: 'medium' });
}
