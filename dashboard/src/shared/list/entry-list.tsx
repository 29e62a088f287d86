// A list of texts, each in a field of its own (phone numbers, addresses): what the server says of one stands beside it.
import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { usePageStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';

export interface EntryListProps {
  readonly label: string;
  readonly means: string;
  readonly type?: 'text' | 'tel' | 'url';
  readonly autoComplete?: string;
  readonly entries: readonly string[];
  readonly onChange: (entries: readonly string[]) => void;
  /** What is wrong with the entry at a place. */
  readonly errorAt: (index: number) => string | undefined;
}

export function EntryList(props: EntryListProps) {
  const { label, means, type = 'text', autoComplete = 'off', onChange, errorAt } = props;
  const { person } = usePageStrings();
  const entries = props.entries.length === 0 ? [''] : props.entries;
  const replace = (index: number, text: string) => onChange(entries.with(index, text));
  return (
    <Stack gap={6} role="group" aria-label={label}>
      {entries.map((entry, index) => (
        <Input.Wrapper
          // biome-ignore lint/suspicious/noArrayIndexKey: an entry is known by its place alone.
          key={index}
          {...(index === 0 ? { label, description: means } : {})}
          labelElement="div"
        >
          <Group gap={6} wrap="nowrap" align="flex-start" mt={index === 0 ? 6 : 0}>
            <TextInput
              flex={1}
              aria-label={person.nth(label, index + 1)}
              type={type}
              autoComplete={index === 0 ? autoComplete : 'off'}
              value={entry}
              onChange={(event) => replace(index, event.currentTarget.value)}
              error={errorAt(index)}
            />
            {entries.length > 1 && (
              <ActionIcon
                variant="subtle"
                color="gray"
                size={36}
                aria-label={person.removeNth(label, index + 1)}
                onClick={() => onChange(entries.toSpliced(index, 1))}
              >
                <Icon name="close" />
              </ActionIcon>
            )}
          </Group>
        </Input.Wrapper>
      ))}
      {entries.every((entry) => entry.trim() !== '') && (
        <Group>
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => onChange([...entries, ''])}
          >
            {person.add(label)}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
