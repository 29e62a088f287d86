// Takes all values of a device in a span out, as a file. The file is written as it comes; the browser keeps what is large
// on its disk.
import { Button, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { DeviceInput } from '../../shared/device/device-input.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { byteSize } from '../../shared/page/byte-size.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import { downloadValues } from './download-values.ts';

export function ExportForm({ device }: { readonly device: string }) {
  const { tag, strings } = usePageLocale();
  const { imports } = strings;
  const [bytes, setBytes] = useState(0);
  const form = useForm({
    initial: { device, from: '', to: '', format: 'csv' },
    check: (values) => (values.device.trim() === '' ? { device: imports.exportMissing } : {}),
    fieldOf: (pointer) => (/device/.test(pointer) ? 'device' : undefined),
    submit: async (values) => {
      setBytes(0);
      const file = await downloadValues({ ...values, device: values.device.trim(), onBytes: setBytes });
      toasts.show({ text: imports.exportDone(file) });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <DeviceInput
            required
            label={imports.device}
            value={form.values.device}
            onChange={(value) => form.set('device', value)}
            error={form.errorOf('device')}
          />
          <NativeSelect
            label={imports.format}
            data={[
              { value: 'csv', label: imports.formatCsv },
              { value: 'ndjson', label: imports.formatNdjson },
              { value: 'parquet', label: imports.formatParquet },
            ]}
            {...form.field('format')}
          />
          <TextInput type="datetime-local" label={imports.from} {...form.field('from')} />
          <TextInput type="datetime-local" label={imports.to} {...form.field('to')} />
        </SimpleGrid>
        <Group>
          <Button type="submit" variant="default" loading={form.isSending}>
            {imports.export}
          </Button>
          <Text fz="sm" c="dimmed" role="status">
            {form.isSending && bytes > 0 ? imports.exportSoFar(byteSize(bytes, tag)) : ''}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}
