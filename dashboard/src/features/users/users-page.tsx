// The people who have an account here, searched by the server; admins make new ones.
import { Badge, Box, Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { inNaturalOrder } from '../../api/natural-order.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession, useUsername } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { FindField } from '../../shared/list/find-field.tsx';
import { RecordHead, RecordLink, RecordList } from '../../shared/list/record-list.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { CreateUser } from './create-user.tsx';

const route = getRouteApi('/users');

export function UsersPage() {
  const { users } = usePageStrings();
  const { find } = route.useSearch();
  const state = useSession();
  const navigate = useNavigate();
  const [isCreating, { open, close }] = useDisclosure(false);
  const query = { ...(find === undefined ? {} : { username: find }), limit: limits.usersShownMax, offset: 0 };
  const { data, error, refetch } = useQuery({
    queryKey: keys.userList(query),
    queryFn: () => callPage(api.GET('/api/v2/users', { params: { query } })),
    placeholderData: keepPreviousData,
  });
  const isAdmin = state.status === 'user' && state.isAdmin;
  return (
    <>
      <PageHeader
        title={users.title}
        subtitle={data === undefined ? '\u00a0' : users.count(data.total)}
        actions={
          isAdmin && (
            <Button leftSection={<Icon name="plus" />} onClick={open}>
              {users.create}
            </Button>
          )
        }
      />
      <Box mb="md" w={{ base: '100%', xs: 280 }}>
        <FindField
          label={users.find}
          find={find}
          onFind={(next) => void navigate({ to: '/users', search: { find: next }, replace: true })}
        />
      </Box>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.total === 0 && (
        <EmptyState title={users.nothingFits} words={users.nothingFitsWords}>
          <Button variant="default" onClick={() => void navigate({ to: '/users', search: {} })}>
            {users.showAll}
          </Button>
        </EmptyState>
      )}
      {data === undefined && error === null && <RowsSkeleton />}
      {data !== undefined && data.total > 0 && (
        <RecordHead title={users.headName} detail={users.headPerson} at={users.headSince} />
      )}
      <RecordList label={users.list}>
        {inNaturalOrder(data?.page ?? [], ({ username }) => username).map((user) => (
          <UserRow key={user.id} user={user} />
        ))}
      </RecordList>
      {data !== undefined && data.total > data.page.length && <p>{users.moreThanShown(data.page.length)}</p>}
      <CreateUser isOpen={isCreating} onClose={close} />
    </>
  );
}

function UserRow({ user }: { readonly user: Schemas['User'] }) {
  const { users } = usePageStrings();
  const own = useUsername();
  const name = [user.firstName, user.lastName].join(' ').trim();
  return (
    <RecordLink
      to="/users/$user"
      params={{ user: user.id }}
      title={
        <>
          {user.username}
          {user.admin === true && (
            <Badge ms={8} size="sm" variant="light">
              {users.admin}
            </Badge>
          )}
          {user.username === own && (
            <Badge ms={8} size="sm" variant="light" color="gray">
              {users.you}
            </Badge>
          )}
        </>
      }
      detail={user.username === 'guest' ? users.guestShort : [name, user.email].filter(Boolean).join(' · ')}
      at={user.createdTime === undefined ? undefined : new Date(user.createdTime).toISOString()}
    />
  );
}
