// A user: for admins what they are and how they are reached, their role, a new password, the removal; for others as much
// as they may see.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { SignIns, sessionsQuery } from '../../shared/account/sign-ins.tsx';
import { Age } from '../../shared/device/age.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { RemoveUser } from './remove-user.tsx';
import { ResetPassword } from './reset-password.tsx';
import { UserCredit } from './user-credit.tsx';
import { UserForm } from './user-form.tsx';
import { UserKeys, userKeysQuery } from './user-keys.tsx';
import { UserQuotas } from './user-quotas.tsx';
import { UserRole } from './user-role.tsx';

const route = getRouteApi('/users/$user');

export function UserPage() {
  const path = route.useParams();
  const { users } = usePageStrings();
  const state = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: keys.user(path.user),
    queryFn: () => call(api.GET('/api/v2/users/{user}', { params: { path } })),
  });
  const name = [data?.firstName, data?.lastName].join(' ').trim();
  const isAdmin = state.status === 'user' && state.isAdmin;
  return (
    <>
      <PageHeader
        title={data?.username ?? path.user}
        subtitle={
          <>
            {name}
            {name !== '' && data?.createdTime !== undefined && ' · '}
            {data?.createdTime !== undefined && (
              <>
                {users.headSince} <Age at={new Date(data.createdTime).toISOString()} />
              </>
            )}
            {name === '' && data?.createdTime === undefined && '\u00a0'}
          </>
        }
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.username === 'guest' && <p>{users.guestWords}</p>}
      {data?.username === 'guest' && isAdmin && <UserQuotas user={data} />}
      {data !== undefined && isAdmin && data.username !== 'guest' && <Sections key={data.id} user={data} />}
    </>
  );
}

function Sections({ user }: { readonly user: Schemas['User'] }) {
  const sessions = useQuery(sessionsQuery(user.id));
  const apiKeys = useQuery(userKeysQuery(user.id));
  return (
    <>
      <UserForm user={user} />
      <UserRole user={user} />
      <UserQuotas user={user} />
      <UserCredit user={user} />
      <ResetPassword user={user} />
      <SignIns user={user} />
      <UserKeys user={user} />
      {/* Once the lists above it are there, so that it does not move away from under the hand. */}
      {!sessions.isPending && !apiKeys.isPending && <RemoveUser user={user} />}
    </>
  );
}
