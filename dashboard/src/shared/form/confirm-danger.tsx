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
  /** What else is to be known before, a paragraph each. */
  readonly notes?: readonly string[];
  /** A question that must be answered first, such as why. */
  readonly asks?: ConfirmQuestion | undefined;
  /** Where given, this must be typed first. */
  readonly typedId?: string | undefined;
  readonly action: string;
  /** Where the act takes nothing away, its button is not red. */
  readonly isHarmless?: boolean;
  /** The act, with the answer to what is asked; the dialog closes when it succeeds and shows why where it fails. */
  readonly onConfirm: (answer: string) => Promise<void>;
}

export interface ConfirmQuestion {
  readonly label: string;
  readonly description: string;
  readonly placeholder: string;
  /** What is said where there is no answer. */
  readonly missing: string;
  readonly maxLength: number;
}

export function ConfirmDanger(props: ConfirmDangerProps) {
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={props.title}>
      {/* Inside, so that each opening begins anew. */}
      <Question {...props} />
    </Dialog>
  );
}

function Question(props: ConfirmDangerProps) {
  const { words, losses = [], notes = [], asks, typedId, action, isHarmless = false, onConfirm, onClose } = props;
  const { shared } = useStrings();
  const [typed, setTyped] = useState('');
  const [answer, setAnswer] = useState('');
  const [isMissing, setMissing] = useState(false);
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
    if (asks !== undefined && answer.trim() === '') {
      setMissing(true);
      return;
    }
    setActing(true);
    setError(undefined);
    try {
      await onConfirm(answer.trim());
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
      {notes.map((note) => (
        <Text key={note} mt="xs">
          {note}
        </Text>
      ))}
      {asks !== undefined && (
        <TextInput
          mt="md"
          label={asks.label}
          description={asks.description}
          placeholder={asks.placeholder}
          maxLength={asks.maxLength}
          value={answer}
          error={isMissing && answer.trim() === '' ? asks.missing : undefined}
          onChange={(event) => setAnswer(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
      )}
      {typedId !== undefined && (
        <TextInput
          mt="md"
          label={shared.typeToConfirm(typedId)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus={asks === undefined}
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
