// A chosen file: how it is understood, what its columns are, how its first lines would be stored; then the check, the
// import with its progress, and the report.

import { Button, Checkbox, Group, Radio, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiProblem } from '../../api/api-problem.ts';
import { keys } from '../../api/query-keys.ts';
import { randomKey } from '../../api/random-key.ts';
import { limits } from '../../limits.ts';
import { byteSize } from '../../shared/page/byte-size.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import type { Strings } from '../../strings/catalogue.ts';
import { listed } from '../../strings/listed.ts';
import { usePageLocale } from '../../strings/strings.ts';
import type { ChosenFile, Encoding } from './chosen-file.ts';
import { ColumnRoles } from './column-roles.tsx';
import { type Columns, type ImportAnswer, type ImportSettings, queryOf, sendImport } from './import-call.ts';
import { ImportJob } from './import-job.ts';
import { ImportProgress } from './import-progress.tsx';
import { Samples } from './import-samples.tsx';
import { refusedSetting } from './import-words.ts';
import { ReadingFields } from './reading-fields.tsx';

export interface ImportFormProps {
  readonly chosen: ChosenFile;
  readonly device: string;
  readonly onEncoding: (encoding: Encoding) => void;
  readonly onAnother: () => void;
}

const noColumns: Columns = [];

export function ImportForm({ chosen, device, onEncoding, onAnother }: ImportFormProps) {
  const { strings } = usePageLocale();
  const { imports } = strings;
  const [settings, setSettings] = useState<ImportSettings>(() => initialSettings(device));
  const [job, setJob] = useState<ImportJob>();
  const preview = usePreview(chosen, settings);
  const columns = preview.data?.file.columns ?? noColumns;
  const begin = (isDry: boolean) =>
    setJob(new ImportJob(chosen, queryOf(settings, { kind: chosen.kind, columns }), { isDry }));
  const change = (changed: Partial<ImportSettings>) => setSettings((before) => ({ ...before, ...changed }));
  const isTooLarge = chosen.kind === 'json' && chosen.file.size > limits.importArrayBytesMax;
  const isEmpty = chosen.file.size === 0;
  return (
    <Stack gap="xl">
      <FileHead chosen={chosen} onAnother={onAnother} />
      {isEmpty && <Text c="red">{imports.empty}</Text>}
      {isTooLarge && <Text c="red">{imports.tooLargeJson}</Text>}
      {job !== undefined && (
        <ImportProgress
          key={jobKey(job)}
          job={job}
          chosen={chosen}
          device={settings.device}
          onBack={() => setJob(undefined)}
          onImport={() => begin(false)}
        />
      )}
      {job === undefined && !isTooLarge && !isEmpty && (
        <>
          <ReadingFields
            chosen={chosen}
            settings={settings}
            change={change}
            onEncoding={onEncoding}
            found={preview.data?.file}
          />
          {preview.error !== null && (
            <ProblemNotice error={inWords(preview.error, imports)} retry={() => void preview.refetch()} />
          )}
          {preview.data !== undefined && (
            <>
              <ColumnRoles columns={columns} roles={settings.roles} onRoles={(roles) => change({ roles })} />
              <Samples answer={preview.data} />
              <Choices settings={settings} change={change} created={preview.data.created} />
              <Group>
                <Button disabled={preview.data.problems.length > 0} onClick={() => begin(false)}>
                  {imports.start}
                </Button>
                <Button variant="default" disabled={preview.data.problems.length > 0} onClick={() => begin(true)}>
                  {imports.check}
                </Button>
              </Group>
            </>
          )}
        </>
      )}
    </Stack>
  );
}

/** A refusal of a setting says what is wrong in the words of the page. */
function inWords(error: unknown, imports: Strings['imports']): unknown {
  const detail = refusedSetting(imports, error);
  return detail === undefined ? error : new ApiProblem({ status: 400, detail });
}

const jobKeys = new WeakMap<ImportJob, string>();

/** A job that follows another begins anew. */
function jobKey(job: ImportJob): string {
  const known = jobKeys.get(job) ?? randomKey();
  jobKeys.set(job, known);
  return known;
}

function initialSettings(device: string): ImportSettings {
  return {
    device,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    timeFormat: '',
    ...{ delimiter: 'auto', decimal: 'auto', header: 'auto', skip: '' },
    roles: undefined,
    createSensors: true,
    skipDuplicates: true,
  };
}

/** What would be done with the first lines. */
function usePreview(chosen: ChosenFile, settings: ImportSettings) {
  const queries = useQueryClient();
  const [asked] = useDebouncedValue(settings, limits.searchPauseMs);
  const { file, encoding, head, kind } = chosen;
  const name = [...keys.imports, file.name, file.size, file.lastModified, encoding];
  return useQuery({
    queryKey: [...name, asked],
    enabled: head !== '',
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const columns = queries.getQueriesData<ImportAnswer>({ queryKey: name }).find(([, answer]) => answer)?.[1]?.file.columns; // biome-ignore format: one line
      const query = queryOf(asked, { kind, columns: columns ?? noColumns });
      const lines = String(limits.importPreviewLines);
      return sendImport(chosen, { ...query, dry_run: 'true', lines }, { text: head, signal });
    },
  });
}

function FileHead({ chosen, onAnother }: { readonly chosen: ChosenFile; readonly onAnother: () => void }) {
  const { tag, strings } = usePageLocale();
  return (
    <Group justify="space-between" wrap="nowrap" gap="sm">
      <Group gap="sm" wrap="nowrap" miw={0}>
        <Text fw={650} truncate>
          {chosen.file.name}
        </Text>
        <Text c="dimmed" fz="sm" style={{ whiteSpace: 'nowrap' }}>
          {byteSize(chosen.file.size, tag)}
        </Text>
      </Group>
      <Button variant="default" size="xs" flex="none" onClick={onAnother}>
        {strings.imports.another}
      </Button>
    </Group>
  );
}

interface ChoicesProps {
  readonly settings: ImportSettings;
  readonly change: (changed: Partial<ImportSettings>) => void;
  readonly created: ImportAnswer['created'];
}

function Choices({ settings, change, created }: ChoicesProps) {
  const { strings } = usePageLocale();
  const { imports } = strings;
  const names = listed(created.map(({ device_id, sensor_id }) => `${device_id}/${sensor_id}`));
  return (
    <>
      <div>
        <Checkbox
          label={imports.createSensors}
          checked={settings.createSensors}
          onChange={(event) => change({ createSensors: event.currentTarget.checked })}
        />
        {names !== '' && (
          <Text fz="sm" c="dimmed" ms={32}>
            {imports.createSensorsWill(names)}
          </Text>
        )}
      </div>
      <Radio.Group
        label={imports.duplicates}
        value={settings.skipDuplicates ? 'skip' : 'keep'}
        onChange={(value) => change({ skipDuplicates: value === 'skip' })}
      >
        <Stack gap={6} mt={6}>
          <Radio value="skip" label={imports.duplicatesSkip} description={imports.duplicatesSkipMeans} />
          <Radio value="keep" label={imports.duplicatesKeep} />
        </Stack>
      </Radio.Group>
    </>
  );
}
