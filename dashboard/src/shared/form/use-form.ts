// Forms that keep what was typed when the server refuses, and show its `detail` beside the field its `pointer` names.
// `form.field('id')` gives value, onChange and error for a Mantine input; what no field takes is `form.problem`. Values,
// touched fields, errors and sending are kept by @mantine/form; what the server says of fields is added here.
import { useForm as useMantineForm } from '@mantine/form';
import { type ChangeEvent, type FormEvent, useState } from 'react';
import { ApiProblem, type FieldFault } from '../../api/api-problem.ts';
import { useStrings } from '../../strings/strings.ts';
import { faultWords } from '../fault-words.ts';

export interface FormOptions<T> {
  readonly initial: T;
  /** What is wrong with what is typed, by field; checked while typing, shown once a field was left or sent. */
  readonly check?: (values: T) => Partial<Record<keyof T, string>>;
  /** Sends it. A refusal that it throws is shown; anything else too. */
  readonly submit: (values: T) => Promise<void>;
  /** The field a pointer such as `/sensors/0/id` belongs to; by default its first step. */
  readonly fieldOf?: (pointer: string) => keyof T | undefined;
}

export interface FieldBinding {
  readonly value: string;
  readonly onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) => void;
  readonly onBlur: () => void;
  readonly error: string | undefined;
}

export interface Form<T> {
  readonly values: T;
  readonly set: <K extends keyof T>(name: K, value: T[K]) => void;
  readonly field: (name: keyof T & string) => FieldBinding;
  readonly errorOf: (name: keyof T & string) => string | undefined;
  /** What the server said of a place within a field, by its whole pointer, such as `/phone/1`. */
  readonly errorAt: (pointer: string) => string | undefined;
  /** Whether the server has said something of any field. */
  readonly isRefused: boolean;
  /** What the server said that belongs to no field. */
  readonly problem: unknown;
  readonly isSending: boolean;
  /** Empties it for the next one. */
  readonly reset: () => void;
  readonly onSubmit: (event?: FormEvent) => void;
}

export function useForm<T extends object>(options: FormOptions<T>): Form<T> {
  // A field is touched once it was left. The errors are those of the server, until the field changes.
  const form = useMantineForm<T>({
    initialValues: options.initial,
    touchTrigger: 'focus',
    clearInputErrorOnChange: false,
  });
  const [places, setPlaces] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState<unknown>();
  const strings = useStrings();
  const { values } = form;
  const faults: Partial<Record<keyof T, string>> = options.check?.(values) ?? {};

  const touch = (names: readonly string[]) =>
    form.setTouched((touched) => ({ ...touched, ...Object.fromEntries(names.map((name) => [name, true])) }));
  const set = <K extends keyof T>(name: K, value: T[K]) => {
    // Not setFieldValue: that copies all values deeply, at each letter that is typed.
    form.setValues({ [name]: value } as unknown as Partial<T>);
    form.clearFieldError(name as string);
    setPlaces({});
  };
  const errorOf = (name: keyof T & string) =>
    (form.errors[name] as string | undefined) ?? (form.getTouched()[name] === true ? faults[name] : undefined);
  const send = form.onSubmit(async () => {
    try {
      await options.submit(values);
    } catch (error) {
      const { byField, byPointer, rest } = placeFaults(error, values, {
        fieldOf: options.fieldOf,
        wordsOf: (fault) => faultWords(fault, strings),
      });
      form.setErrors(byField);
      setPlaces(byPointer);
      setProblem(rest);
    }
  });
  return {
    ...{ values, set, errorOf, problem },
    isSending: form.submitting,
    isRefused: Object.keys(places).length > 0,
    reset: form.reset,
    errorAt: (pointer) => places[pointer],
    field: (name) => ({
      value: String(values[name] ?? ''),
      onChange: (event) => set(name, event.currentTarget.value as T[typeof name]),
      onBlur: () => touch([name]),
      error: errorOf(name),
    }),
    onSubmit: (event) => {
      event?.preventDefault();
      if (form.submitting) return;
      touch(Object.keys(values));
      setProblem(undefined);
      if (Object.values(faults).every((fault) => fault === undefined)) send();
    },
  };
}

function placeFaults<T extends object>(
  error: unknown,
  values: T,
  parts: { readonly fieldOf: FormOptions<T>['fieldOf'] | undefined; readonly wordsOf: (fault: FieldFault) => string },
) {
  const { fieldOf, wordsOf } = parts;
  const byField: Partial<Record<keyof T, string>> = {};
  const taken = takenField(values);
  const placed = error instanceof ApiProblem && error.code === 'exists' ? error.at(`/${taken}`) : error;
  const faults = placed instanceof ApiProblem ? placed.faults : [];
  let unplaced = faults.length === 0;
  for (const fault of faults) {
    const { pointer } = fault;
    const field = fieldOf?.(pointer) ?? firstStep(pointer);
    if (field in values) byField[field as keyof T] = wordsOf(fault);
    else unplaced = true;
  }
  const byPointer = Object.fromEntries(faults.map((fault) => [fault.pointer, wordsOf(fault)]));
  return { byField, byPointer, rest: unplaced ? error : undefined };
}

/** What is there already has the name that was chosen for it. */
function takenField(values: object): string {
  return 'username' in values ? 'username' : 'id';
}

function firstStep(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');
}
