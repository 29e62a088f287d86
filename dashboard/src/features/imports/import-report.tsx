// What became of a file so far, in numbers, and what was refused of it.

import { Alert, Anchor, List, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { listed } from '../../strings/listed.ts';
import { usePageLocale } from '../../strings/strings.ts';
import type { ImportAnswer } from './import-call.ts';
import { localTime } from './import-samples.tsx';
import { saidWords } from './import-words.ts';
import { RefusedLines } from './refused-lines.tsx';

export function ImportReport({ answer, device }: { readonly answer: ImportAnswer; readonly device: string }) {
  const locale = usePageLocale();
  const { tag, strings } = locale;
  const { imports } = strings;
  const { lines, duplicates, missing, refused_count: refused, from, to, created, stopped, dry_run: isDry } = answer;
  const names = listed(created.map(({ device_id, sensor_id }) => `${device_id}/${sensor_id}`));
  const said = [
    imports.lines(lines),
    ...(duplicates > 0 ? [imports.known(duplicates)] : []),
    ...(missing > 0 ? [imports.missing(missing)] : []),
    ...(refused > 0 ? [imports.refused(refused)] : []),
    ...(from === undefined || to === undefined ? [] : [imports.span(localTime(from, tag), localTime(to, tag))]),
    ...(names === '' ? [] : [isDry ? imports.wouldCreate(names) : imports.created(names)]),
  ];
  const opened = device.trim() || created[0]?.device_id;
  return (
    <Stack gap="sm">
      <List>
        {said.map((text) => (
          <List.Item key={text}>{text}</List.Item>
        ))}
      </List>
      {stopped !== undefined && (
        <Alert color="red" variant="light">
          {imports.stoppedAt(stopped.line, saidWords(locale, stopped, stopped.detail))}
        </Alert>
      )}
      <RefusedLines answer={answer} />
      {!isDry && opened !== undefined && (
        <Text>
          <Anchor component={Link} to="/devices/$device" params={{ device: opened } as never}>
            {imports.open(opened)}
          </Anchor>
        </Text>
      )}
    </Stack>
  );
}
