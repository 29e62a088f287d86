// The blanks of the sentence: parts of a line of text that are filled in where they stand. Each says to screen readers
// what it is for.
import { ActionIcon, Popover } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import { Icon } from '../../../shared/page/icon.tsx';
import classes from './blank.module.css';

export function Line({ children }: { readonly children: ReactNode }) {
  return <div className={classes.line}>{children}</div>;
}

export function Fault({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p className={classes.fault} role="alert">
      {text}
    </p>
  );
}

interface TextBlankProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly type?: 'text' | 'datetime-local';
  readonly isDecimal?: boolean;
  readonly isWrong?: boolean;
  /** What may be chosen; anything may be typed all the same. */
  readonly suggestions?: readonly string[];
}

export function TextBlank(props: TextBlankProps) {
  const { label, value, onChange, placeholder = '', type = 'text', isDecimal = false, isWrong = false } = props;
  const list = useId();
  return (
    <>
      <input
        className={classes.blank}
        type={type}
        aria-label={label}
        aria-invalid={isWrong}
        placeholder={placeholder}
        value={value}
        spellCheck={false}
        autoComplete="off"
        data-empty={value === '' || undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
        {...(isDecimal ? { inputMode: 'decimal' as const } : {})}
        {...(props.suggestions === undefined ? {} : { list })}
      />
      {props.suggestions !== undefined && (
        <datalist id={list}>
          {props.suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </>
  );
}

interface ChoiceBlankProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly isWrong?: boolean;
}

export function ChoiceBlank<T extends string>(props: ChoiceBlankProps<T>) {
  const { label, value, onChange, options, isWrong = false } = props;
  return (
    <select
      className={classes.blank}
      aria-label={label}
      aria-invalid={isWrong}
      value={value}
      data-empty={value === '' || undefined}
      onChange={(event) => onChange(event.currentTarget.value as T)}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

interface PopoverBlankProps {
  readonly label: string;
  /** What is filled in, as text; empty where nothing is. */
  readonly text: string;
  readonly placeholder: string;
  readonly isWrong?: boolean;
  readonly children: ReactNode;
}

/** For what needs more room than a line: opens beneath. */
export function PopoverBlank({ label, text, placeholder, isWrong = false, children }: PopoverBlankProps) {
  return (
    <Popover position="bottom-start" width={320} trapFocus shadow="md" withinPortal>
      <Popover.Target>
        <button
          type="button"
          className={`${classes.blank} d-ellipsis`}
          aria-label={`${label}: ${text || placeholder}`}
          data-empty={text === '' || undefined}
          data-wrong={isWrong || undefined}
        >
          {text || placeholder}
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label={label}>{children}</Popover.Dropdown>
    </Popover>
  );
}

export function TakeAway({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
      <Icon name="close" size={16} />
    </ActionIcon>
  );
}
