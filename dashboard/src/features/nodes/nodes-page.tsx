// The servers of the service, for admins: whether each lives, how far it is behind, what it does for all, who is connected to it. Read
// again every few seconds as long as the page is seen.
import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiProblem } from '../../api/api-problem.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { listed } from '../../strings/listed.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { NodeList } from './node-list.tsx';
import { OnlyNode } from './only-node.tsx';

export function NodesPage() {
  const { nodes: words } = usePageStrings();
  const { data, error, refetch } = useQuery({
    queryKey: keys.nodes,
    queryFn: () => call(api.GET('/api/v2/nodes')),
    // Who may not see them need not ask again.
    refetchInterval: ({ state }) => (isForAdmins(state.error) ? false : limits.nodesPollMs),
  });
  const shown = isForAdmins(error) ? undefined : data;
  return (
    <>
      <PageHeader title={words.title} subtitle={shown === undefined ? '\u00a0' : <Summary nodes={shown.nodes} />} />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {shown === undefined && error === null && <Skeleton height={240} />}
      {shown !== undefined && <Nodes told={shown} />}
    </>
  );
}

function Nodes({ told: { shared, nodes } }: { readonly told: Schemas['Nodes'] }) {
  const { nodes: words } = usePageStrings();
  const [first] = nodes;
  if (first === undefined) return <EmptyState title={words.empty} words={words.emptyWords} />;
  if (!shared) return <OnlyNode node={first} />;
  return (
    <>
      <NodeList nodes={nodes} />
      <Text c="dimmed" fz="sm" mt="lg" maw={640}>
        {nodes.length === 1 ? words.alone : words.several}
      </Text>
    </>
  );
}

function Summary({ nodes }: { readonly nodes: readonly Schemas['Node'][] }) {
  const { nodes: words } = usePageStrings();
  const silent = nodes.filter(({ alive }) => !alive).length;
  return listed([words.count(nodes.length), ...(silent === 0 ? [] : [words.silentCount(silent)])]);
}

function isForAdmins(error: Error | null): boolean {
  return error instanceof ApiProblem && (error.status === 401 || error.isGone);
}
