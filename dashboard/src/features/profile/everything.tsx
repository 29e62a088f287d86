// Everything one has as one file.
import { Button, Group, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { download } from '../../api/download.ts';
import { byteSize } from '../../shared/page/byte-size.ts';
import { Icon } from '../../shared/page/icon.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageLocale } from '../../strings/strings.ts';

export function Everything() {
  const { tag, strings } = usePageLocale();
  const { ownAccount, shared } = strings;
  const [bytes, setBytes] = useState(0);
  const [error, setError] = useState<unknown>();
  const [running, setRunning] = useState<AbortController>();
  // Who leaves the page ends it; the server sends one at a time.
  const last = useRef<AbortController>(undefined);
  useEffect(() => () => last.current?.abort(), []);
  const start = async () => {
    const ending = new AbortController();
    last.current = ending;
    setRunning(ending);
    setBytes(0);
    setError(undefined);
    try {
      const file = await download({ path: '/api/v2/users/me/export', onBytes: setBytes, signal: ending.signal });
      toasts.show({ text: ownAccount.saved(file) });
    } catch (fault) {
      if (!ending.signal.aborted) setError(fault);
    } finally {
      setRunning(undefined);
    }
  };
  return (
    <Section title={ownAccount.everything} words={ownAccount.everythingWords}>
      {error !== undefined && <ProblemNotice error={error} />}
      <Group>
        <Button
          variant="default"
          leftSection={<Icon name="download" size={16} />}
          loading={running !== undefined}
          onClick={() => void start()}
        >
          {ownAccount.download}
        </Button>
        {running !== undefined && (
          <Button variant="subtle" onClick={() => running.abort()}>
            {shared.cancel}
          </Button>
        )}
        <Text fz="sm" c="dimmed" role="status">
          {running === undefined ? '' : ownAccount.soFar(byteSize(bytes, tag))}
        </Text>
      </Group>
    </Section>
  );
}
