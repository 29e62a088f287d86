// Who is an admin; the server keeps the last one.
import { Switch } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function UserRole({ user }: { readonly user: Schemas['User'] }) {
  const { users } = usePageStrings();
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>();
  const set = async (admin: boolean) => {
    setError(undefined);
    try {
      await call(api.PUT('/api/v2/users/{user}', { params: { path: { user: user.id } }, body: { admin } }));
      const undo = () => void set(!admin);
      toasts.show({ text: admin ? users.roleGiven(user.username) : users.roleTaken(user.username), undo });
    } catch (fault) {
      setError(fault);
    }
    await queries.invalidateQueries({ queryKey: keys.users });
  };
  return (
    <Section title={users.role} words={users.roleWords}>
      <Switch
        label={users.admin}
        description={users.adminMeans}
        checked={user.admin === true}
        onChange={(event) => void set(event.currentTarget.checked)}
      />
      {error !== undefined && <ProblemNotice error={error} />}
    </Section>
  );
}
