// A file on its way: how far it is, a button that stops it, one that goes on where it broke off; at the end the report.
import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { keys } from '../../api/query-keys.ts';
import { byteSize } from '../../shared/page/byte-size.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import type { ChosenFile } from './chosen-file.ts';
import type { ImportJob } from './import-job.ts';
import { ImportReport } from './import-report.tsx';

export interface ImportProgressProps {
  readonly job: ImportJob;
  readonly chosen: ChosenFile;
  readonly device: string;
  readonly onBack: () => void;
  readonly onImport: () => void;
}

type State = 'running' | 'stopped' | 'broken' | 'done';

export function ImportProgress({ job, chosen, device, onBack, onImport }: ImportProgressProps) {
  const { tag, strings } = usePageLocale();
  const { imports, shared } = strings;
  const queries = useQueryClient();
  const [state, setState] = useState<State>('running');
  const [error, setError] = useState<unknown>();
  const [, setBytes] = useState(0);
  const isStopping = useRef(false);
  const go = async () => {
    setState('running');
    setError(undefined);
    try {
      while (!isStopping.current && (await job.advance())) setBytes(job.bytesDone);
      setState(isStopping.current ? 'stopped' : 'done');
    } catch (fault) {
      setError(fault);
      setState('broken');
    }
    for (const queryKey of [keys.devices, keys.imports, ['device'], ['day']])
      void queries.invalidateQueries({ queryKey });
  };
  const begin = useEffectEvent(() => void go());
  const hasBegun = useRef(false);
  useEffect(() => {
    if (!hasBegun.current) begin();
    hasBegun.current = true;
    return () => {
      // Left the page: what is stored stays.
      isStopping.current = true;
    };
  }, []);
  const done = state === 'done' ? chosen.file.size : Math.min(job.bytesDone, chosen.file.size);
  return (
    <Stack gap="md">
      <div>
        <Group justify="space-between" mb={6}>
          <Text fw={600} role="status">
            {{
              running: job.isDry ? imports.checking : imports.importing,
              stopped: imports.stopped,
              broken: imports.brokeOff,
              done: '',
            }[state] || headline(job, strings)}
          </Text>
          <Text fz="sm" c="dimmed">
            {imports.progress(byteSize(done, tag), byteSize(chosen.file.size, tag))}
          </Text>
        </Group>
        <Progress
          value={(100 * done) / Math.max(1, chosen.file.size)}
          aria-label={job.isDry ? imports.checking : imports.importing}
          animated={state === 'running'}
          size="lg"
        />
      </div>
      {error !== undefined && <ProblemNotice error={error} />}
      {job.total !== undefined && <ImportReport answer={job.total} device={device} />}
      <Group>
        {state === 'running' && (
          <Button
            variant="default"
            onClick={() => {
              isStopping.current = true;
            }}
          >
            {imports.stop}
          </Button>
        )}
        {state === 'broken' && <Button onClick={() => void go()}>{imports.goOn}</Button>}
        {state === 'done' && job.isDry && <Button onClick={onImport}>{imports.start}</Button>}
        {state !== 'running' && (
          <Button variant="default" onClick={onBack}>
            {shared.back}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function headline(job: ImportJob, { imports }: ReturnType<typeof usePageLocale>['strings']): string {
  const accepted = job.total?.accepted ?? 0;
  return job.isDry ? imports.checked(accepted) : imports.stored(accepted);
}
