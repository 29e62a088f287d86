// A field for a new password, with a button that makes one up for those who hand it on.
import { Button, Group, PasswordInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { factsQuery } from '../../api/facts.ts';
import { usePageStrings } from '../../strings/strings.ts';
import type { FieldBinding } from '../form/use-form.ts';
import { CopyButton } from '../page/copy-button.tsx';

export interface NewPasswordProps {
  readonly label: string;
  readonly field: FieldBinding;
  /** Where it is for somebody else: one can be made up, and is then shown to be copied. */
  readonly onMade?: (password: string) => void;
}

export function NewPassword({ label, field, onMade }: NewPasswordProps) {
  const { person } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  const [isShown, setShown] = useState(false);
  return (
    <div>
      <PasswordInput
        required
        label={label}
        description={person.passwordMeans(facts?.passwordLengthMin ?? 8)}
        autoComplete="new-password"
        visible={isShown}
        onVisibilityChange={setShown}
        {...field}
      />
      {onMade !== undefined && (
        <Group gap="xs" mt={6}>
          <Button
            variant="default"
            size="xs"
            onClick={() => {
              onMade(makePassword());
              setShown(true);
            }}
          >
            {person.passwordMake}
          </Button>
          {isShown && field.value !== '' && <CopyButton text={field.value} />}
        </Group>
      )}
    </div>
  );
}

/** Without what is easily taken for something else when it is read out. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Four groups of four: some 79 bits, easily said over a phone. */
function makePassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // 31 letters of 256: a slight lean to the first ones, of no weight at this length.
  const text = [...bytes].map((byte) => letters[byte % letters.length]).join('');
  return (text.match(/.{4}/g) ?? []).join('-');
}
