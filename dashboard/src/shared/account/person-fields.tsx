// The fields of a person (spec.md 5.1 and the further channels), for the account that an admin makes or changes and for
// one's own profile. Whether a phone number is one of its country is for the server to say: its word stands beside it.
import { SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { usePageStrings } from '../../strings/strings.ts';
import type { Form } from '../form/use-form.ts';
import { EntryList } from '../list/entry-list.tsx';

const personTexts = ['firstName', 'lastName', 'email'] as const;
const personLists = ['phone', 'address', 'twitter', 'facebook', 'telegram', 'webhook'] as const;
type PersonList = (typeof personLists)[number];
/** The lists that an account is made with (spec.md 5.1); further channels are added in the profile. */
export const firstLists: readonly PersonList[] = ['phone', 'address', 'facebook', 'twitter'];

export type PersonValues = { readonly [F in (typeof personTexts)[number]]: string } & {
  readonly [F in PersonList]: readonly string[];
};

export function personValues(user: Partial<Schemas['User']> = {}): PersonValues {
  return {
    ...{ firstName: user.firstName ?? '', lastName: user.lastName ?? '', email: user.email ?? '' },
    ...{ phone: user.phone ?? [], address: user.address ?? [], twitter: user.twitter ?? [] },
    ...{ facebook: user.facebook ?? [], telegram: user.telegram ?? [], webhook: user.webhook ?? [] },
  };
}

/** As the server takes it; entries left empty are none. */
export function personBody(values: PersonValues) {
  const list = (entries: readonly string[]) => entries.map((entry) => entry.trim()).filter((entry) => entry !== '');
  const { firstName, lastName, email, phone, address, twitter, facebook, telegram, webhook } = values;
  return {
    ...{ firstName: firstName.trim(), lastName: lastName.trim(), email: email.trim() },
    ...{ phone: list(phone), address: list(address), twitter: list(twitter) },
    ...{ facebook: list(facebook), telegram: list(telegram), webhook: list(webhook) },
  };
}

const kinds = {
  phone: { means: 'phoneMeans', type: 'tel', autoComplete: 'tel' },
  address: { means: 'addressMeans', type: 'text', autoComplete: 'street-address' },
  twitter: { means: 'twitterMeans', type: 'text', autoComplete: 'off' },
  facebook: { means: 'facebookMeans', type: 'text', autoComplete: 'off' },
  telegram: { means: 'telegramMeans', type: 'text', autoComplete: 'off' },
  webhook: { means: 'webhookMeans', type: 'url', autoComplete: 'off' },
} as const;

export interface PersonFieldsProps {
  readonly form: Form<PersonValues>;
  /** Whether they are one's own, so that the browser may fill them in. */
  readonly isOwn?: boolean;
  /** The lists to show; all where left out. */
  readonly lists?: readonly PersonList[];
  /** What stands below the e-mail address. */
  readonly belowEmail?: ReactNode;
}

export function PersonFields({ form, isOwn = false, lists = personLists, belowEmail }: PersonFieldsProps) {
  const { person } = usePageStrings();
  const fill = (name: string) => (isOwn ? name : 'off');
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="md">
        <TextInput label={person.firstName} autoComplete={fill('given-name')} {...form.field('firstName')} />
        <TextInput label={person.lastName} autoComplete={fill('family-name')} {...form.field('lastName')} />
      </SimpleGrid>
      <TextInput
        label={person.email}
        description={person.emailMeans}
        type="email"
        autoComplete={fill('email')}
        {...form.field('email')}
      />
      {belowEmail}
      {lists.map((name) => (
        <EntryList
          key={name}
          label={person[name]}
          means={person[kinds[name].means]}
          type={kinds[name].type}
          autoComplete={fill(kinds[name].autoComplete)}
          entries={form.values[name]}
          onChange={(entries) => form.set(name, entries)}
          errorAt={(index) => placedError(form, name, index)}
        />
      ))}
    </Stack>
  );
}

/** Empty entries are not sent, so the server counts without them. */
function placedError(form: Form<PersonValues>, name: PersonList, index: number): string | undefined {
  const entries = form.values[name];
  if ((entries[index] ?? '').trim() === '') return index === 0 ? form.errorAt(`/${name}`) : undefined;
  const sent = entries.slice(0, index).filter((entry) => entry.trim() !== '').length;
  return form.errorAt(`/${name}/${sent}`) ?? (index === 0 ? form.errorAt(`/${name}`) : undefined);
}
