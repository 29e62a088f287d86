// The dialog that makes an API key and shows it this once.
import { Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { MoreFields } from '../../shared/form/more-fields.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { CodeBlock } from '../../shared/page/code-block.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export interface CreateKeyProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly isAdmin: boolean;
}

export function CreateKey({ isOpen, onClose, isAdmin }: CreateKeyProps) {
  const { profile } = usePageStrings();
  const [made, setMade] = useState<string>();
  const close = () => {
    setMade(undefined);
    onClose();
  };
  return (
    <Dialog
      opened={isOpen}
      onClose={close}
      // The key is gone once the dialog is: it closes by its button alone then.
      closeOnClickOutside={made === undefined}
      title={made === undefined ? profile.keyCreate : profile.keyMade}
    >
      {made === undefined ? (
        <Fields isAdmin={isAdmin} onMade={setMade} onCancel={close} />
      ) : (
        <Made made={made} onDone={close} />
      )}
    </Dialog>
  );
}

function Made({ made, onDone }: { readonly made: string; readonly onDone: () => void }) {
  const { profile } = usePageStrings();
  return (
    <Stack gap="md" role="status">
      <Text>{profile.keyMadeWords}</Text>
      <div>
        <CodeBlock text={made} />
      </div>
      <Group justify="flex-end">
        <Button onClick={onDone}>{profile.keyMadeDone}</Button>
      </Group>
    </Stack>
  );
}

const scopeNames = [
  'devices:view',
  'devices:update',
  'devices:delete',
  'devices-data:view',
  'devices-data:create',
  'gateways:view',
  'gateways:update',
  'gateways:delete',
  'projects:view',
  'projects:update',
  'projects:delete',
  'metrics:view',
  'admin',
] as const;

/** What admins alone can give a key. */
const ofAdmins: ReadonlySet<string> = new Set(['metrics:view', 'admin']);

/** What most keys are for. */
const presets = {
  all: undefined,
  push: ['devices:view', 'devices-data:create'],
  read: ['devices:view', 'devices-data:view'],
} as const;

const initial = {
  name: '',
  preset: 'all' as keyof typeof presets | 'chosen',
  scopes: [] as readonly string[],
  devices: [] as readonly string[],
  expires: '',
};

interface FieldsProps {
  readonly isAdmin: boolean;
  readonly onMade: (key: string) => void;
  readonly onCancel: () => void;
}

function Fields({ isAdmin, onMade, onCancel }: FieldsProps) {
  const { profile } = usePageStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial,
    check: ({ name, preset, scopes }) => ({
      ...(name.trim() === '' ? { name: profile.keyNameMissing } : {}),
      ...(preset === 'chosen' && scopes.length === 0 ? { scopes: profile.keyScopesMissing } : {}),
    }),
    submit: async (values) => {
      const { key } = await call(api.POST('/api/v2/auth/keys', { body: bodyOf(values) }));
      // Shown before anything else can go wrong: nobody can ask for it again.
      onMade(key);
      await queries.invalidateQueries({ queryKey: keys.apiKeys });
    },
  });
  const labels = { all: profile.keyAll, push: profile.keyPush, read: profile.keyRead, chosen: profile.keyChosen };
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          data-autofocus
          required
          label={profile.keyName}
          placeholder={profile.keyNameExample}
          autoComplete="off"
          {...form.field('name')}
        />
        <NativeSelect
          label={profile.keyScopes}
          data={Object.entries(labels).map(([value, label]) => ({ value, label }))}
          {...form.field('preset')}
        />
        {form.values.preset === 'chosen' && (
          <Checkbox.Group
            aria-label={profile.keyScopes}
            value={[...form.values.scopes]}
            onChange={(scopes) => form.set('scopes', scopes)}
            error={form.errorOf('scopes')}
          >
            <SimpleGrid cols={2} spacing="xs" mb={4}>
              {scopeNames
                .filter((scope) => isAdmin || !ofAdmins.has(scope))
                .map((scope) => (
                  <Checkbox key={scope} value={scope} label={scope === 'admin' ? profile.keyAdmin : scope} />
                ))}
            </SimpleGrid>
          </Checkbox.Group>
        )}
        <MoreFields isNeeded={form.isRefused}>
          <TagsInput
            label={profile.keyDevices}
            description={profile.keyDevicesMeans}
            value={[...form.values.devices]}
            onChange={(devices) => form.set('devices', devices)}
            error={form.errorOf('devices')}
          />
          <TextInput
            type="date"
            label={profile.keyExpires}
            description={profile.keyExpiresMeans}
            {...form.field('expires')}
          />
        </MoreFields>
        <FormButtons submit={profile.keySubmit} isSending={form.isSending} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

function bodyOf({ name, preset, scopes, devices, expires }: typeof initial) {
  const chosen = preset === 'chosen' ? scopes : presets[preset];
  return {
    name: name.trim(),
    ...(chosen === undefined ? {} : { scopes: [...chosen] as never }),
    ...(devices.length === 0 ? {} : { devices: [...devices] }),
    // To the end of the day where the browser is.
    ...(expires === '' ? {} : { expires: new Date(`${expires}T23:59:59`).toISOString() }),
  };
}
