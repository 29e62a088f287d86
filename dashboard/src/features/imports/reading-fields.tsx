// Where the values belong, by whose clock they were written, and how the file is to be read where it was not found out.

import { Autocomplete, Button, Collapse, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { DeviceInput } from '../../shared/device/device-input.tsx';
import { idFromName } from '../../shared/form/id-from-name.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { listed } from '../../strings/listed.ts';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import { type ChosenFile, type Encoding, encodings } from './chosen-file.ts';
import type { ImportAnswer, ImportSettings } from './import-call.ts';
import classes from './imports.module.css';
import { MissingDevice } from './missing-device.tsx';
import { timeFormatWords } from './time-format-words.ts';

export interface ReadingFieldsProps {
  readonly chosen: ChosenFile;
  readonly settings: ImportSettings;
  readonly change: (changed: Partial<ImportSettings>) => void;
  readonly onEncoding: (encoding: Encoding) => void;
  readonly found: ImportAnswer['file'] | undefined;
}

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

export function ReadingFields(props: ReadingFieldsProps) {
  const { settings, change, found } = props;
  const { strings, tag } = usePageLocale();
  const { imports } = strings;
  const [isOpen, { toggle }] = useDisclosure(false);
  const suggested = idFromName(props.chosen.file.name.replace(/\.\w+$/, ''));
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <div>
          <DeviceInput
            label={imports.device}
            description={imports.deviceMeans}
            value={settings.device}
            onChange={(device) => change({ device })}
          />
          <MissingDevice device={settings.device.trim()} />
          {settings.device === '' && suggested !== '' && (
            <Button variant="light" size="compact-sm" mt={6} onClick={() => change({ device: suggested })}>
              {imports.deviceSuggest(suggested)}
            </Button>
          )}
        </div>
        <Autocomplete
          label={imports.timezone}
          description={imports.timezoneMeans}
          data={zones}
          limit={12}
          value={settings.timezone}
          onChange={(timezone) => change({ timezone })}
        />
      </SimpleGrid>
      <div>
        {found !== undefined && (
          <Text fz="sm" c="dimmed">
            {strings.shared.labelled(imports.found, foundWords(found, imports, tag))}
          </Text>
        )}
        <SkippedLines head={props.chosen.head} skip={found?.skip ?? 0} />
        <Button variant="subtle" size="compact-sm" ms={-8} onClick={toggle} aria-expanded={isOpen}>
          {imports.readOtherwise}
        </Button>
        <Collapse expanded={isOpen}>
          <Otherwise {...props} />
        </Collapse>
      </div>
    </Stack>
  );
}

function foundWords(found: ImportAnswer['file'], imports: Strings['imports'], tag: string): string {
  const { format, delimiter, decimal, header, time_format: times } = found;
  const formats: Readonly<Record<string, string>> = { csv: imports.csv, ndjson: imports.ndjson, json: imports.json };
  const between = delimiter as 'comma' | 'semicolon' | 'tab' | 'pipe' | undefined;
  return listed([
    formats[format] ?? format,
    ...(between === undefined ? [] : [imports[between]]),
    ...(decimal === undefined ? [] : [decimal === 'comma' ? imports.decimalComma : imports.decimalPoint]),
    ...(header === undefined ? [] : [header ? imports.header : imports.noHeader]),
    ...(times === undefined ? [] : [imports.times(timeFormatWords(times, tag))]),
    ...(found.skip === undefined || found.skip === 0 ? [] : [imports.skipped(found.skip)]),
  ]);
}

const skippedShownMax = 20;

/** What loggers write before their table, to be looked at: nothing is left out in silence. */
function SkippedLines({ head, skip }: { readonly head: string; readonly skip: number }) {
  const { imports } = usePageStrings();
  if (skip === 0) return null;
  const lines = head.split(/\r?\n/, Math.min(skip, skippedShownMax));
  return (
    <figure className={classes.skipped}>
      <Text component="figcaption" fz="sm">
        {imports.skippedTitle}
      </Text>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keys as well. */}
      <pre tabIndex={0}>{lines.join('\n') + (skip > skippedShownMax ? '\n…' : '')}</pre>
    </figure>
  );
}

function Otherwise({ chosen, settings, change, onEncoding }: ReadingFieldsProps) {
  const { imports } = usePageStrings();
  const auto = { value: 'auto', label: imports.auto };
  const choice = (name: 'delimiter' | 'decimal' | 'header') => ({
    value: settings[name],
    // What was said of columns was said of others.
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      change({ [name]: event.currentTarget.value, roles: undefined }),
  });
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} mt="xs">
      {chosen.kind === 'csv' && (
        <>
          <NativeSelect
            label={imports.delimiter}
            data={[auto, ...(['comma', 'semicolon', 'tab', 'pipe'] as const).map((value) => ({ value, label: imports[value] }))]} // biome-ignore format: one line
            {...choice('delimiter')}
          />
          <NativeSelect
            label={imports.decimal}
            data={[auto, { value: 'point', label: imports.decimalPoint }, { value: 'comma', label: imports.decimalComma }]} // biome-ignore format: one line
            {...choice('decimal')}
          />
          <NativeSelect
            label={imports.headerLine}
            data={[auto, { value: 'true', label: imports.headerTrue }, { value: 'false', label: imports.headerFalse }]}
            {...choice('header')}
          />
          <TextInput
            label={imports.skip}
            placeholder={imports.skipExample}
            inputMode="numeric"
            value={settings.skip}
            onChange={(event) => change({ skip: event.currentTarget.value })}
          />
        </>
      )}
      <TextInput
        label={imports.timeFormat}
        placeholder={imports.timeFormatExample}
        value={settings.timeFormat}
        onChange={(event) => change({ timeFormat: event.currentTarget.value })}
      />
      {chosen.kind !== 'json' && (
        <NativeSelect
          label={imports.encoding}
          data={[...encodings]}
          value={chosen.encoding}
          onChange={(event) => onEncoding(event.currentTarget.value as Encoding)}
        />
      )}
    </SimpleGrid>
  );
}
