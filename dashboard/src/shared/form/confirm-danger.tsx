// Asks before what cannot be undone: names what is lost, with numbers, and asks for the id to be typed when it is much.
import { Button, Group, List, Text, TextInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useStrings } from '../../strings/strings.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';
import { Dialog } from './dialog.tsx';

export interface ConfirmDangerProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly words?: string;
  /** What goes with it, such as "12 sensors", "84 210 datapoints". */
  readonly losses?: readonly string[];
  /** Where given, this must be typed first. */
  readonly typedId?: string | undefined;
  readonly action: string;
  /** Where the act takes nothing away, its button is not red. */
  readonly isHarmless?: boolean;
  /** The act; the dialog closes when it succeeds and shows why where it fails. */
  readonly onConfirm: () => Promise<void>;
}

export function ConfirmDanger(props: ConfirmDangerProps) {
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={props.title}>
      {/* Inside, so that each opening begins anew. */}
      <Question {...props} />
    </Dialog>
  );
}

function Question({ words, losses = [], typedId, action, isHarmless = false, onConfirm, onClose }: ConfirmDangerProps) {
  const { shared } = useStrings();
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<unknown>();
  const [isActing, setActing] = useState(false);
  // Who left meanwhile may have opened another, which stays.
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  const act = async () => {
    setActing(true);
    setError(undefined);
    try {
      await onConfirm();
      if (isOpen.current) onClose();
    } catch (fault) {
      setError(fault);
    } finally {
      setActing(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void act();
      }}
    >
      {words !== undefined && <Text>{words}</Text>}
      {losses.length > 0 && (
        <>
          <Text mt="xs">{shared.confirmLoses}</Text>
          <List mt={4}>
            {losses.map((loss) => (
              <List.Item key={loss}>{loss}</List.Item>
            ))}
          </List>
        </>
      )}
      {typedId !== undefined && (
        <TextInput
          mt="md"
          label={shared.typeToConfirm(typedId)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
      )}
      {error !== undefined && <ProblemNotice error={error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          {shared.cancel}
        </Button>
        <Button
          type="submit"
          {...(isHarmless ? {} : { color: 'red' })}
          loading={isActing}
          disabled={typedId !== undefined && typed !== typedId}
        >
          {action}
        </Button>
      </Group>
    </form>
  );
}
