// Where a file is dropped or chosen; the field itself takes the focus and the keys.
import { Text } from '@mantine/core';
import { type DragEvent, useState } from 'react';
import { Icon } from '../../shared/page/icon.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './drop-zone.module.css';

const accepted = '.csv,.tsv,.txt,.dat,.ndjson,.jsonl,.json,text/csv,text/plain,application/json';

export function DropZone({ onFile }: { readonly onFile: (file: File) => void }) {
  const { imports } = usePageStrings();
  const [isOver, setOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (file !== undefined) onFile(file);
  };
  return (
    <label
      className={classes.zone}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <Icon name="import" size={32} />
      <Text component="span" fw={650} fz="lg">
        {imports.drop}
      </Text>
      <span className={classes.choose}>{imports.choose}</span>
      <Text component="span" fz="sm" c="dimmed">
        {imports.dropMeans}
      </Text>
      <input
        type="file"
        accept={accepted}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file !== undefined) onFile(file);
        }}
      />
    </label>
  );
}
