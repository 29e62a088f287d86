// The projects of who is signed in, and how much each puts together.
import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { api, callPage } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useRemovals } from '../../shared/device/removals.ts';
import { RecordLink, RecordList } from '../../shared/list/record-list.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { ProjectForm, projectKey } from './project-form.tsx';

const query = { limit: 1000, offset: 0 };

export function ProjectsPage() {
  const { projects, gateways, devices } = usePageStrings();
  const removals = useRemovals();
  const [isCreating, { open, close }] = useDisclosure(false);
  const { data, error, refetch } = useQuery({
    queryKey: keys.projectList(query),
    queryFn: () => callPage(api.GET('/api/v2/projects', { params: { query } })),
  });
  const list = data?.page.filter(({ id }) => !removals.has(projectKey(id)));
  return (
    <>
      <PageHeader
        title={projects.title}
        subtitle={list === undefined || list.length === 0 ? '\u00a0' : projects.count(list.length)}
        actions={
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            {projects.create}
          </Button>
        }
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {list?.length === 0 && (
        <EmptyState title={projects.empty} words={projects.emptyWords}>
          <Button onClick={open}>{projects.emptyNext}</Button>
        </EmptyState>
      )}
      {list === undefined && error === null && <RowsSkeleton />}
      <RecordList label={projects.title}>
        {list?.map(({ id, name, owner, device_ids, gateway_ids }) => (
          <RecordLink
            key={id}
            to="/projects/$project"
            params={{ project: id }}
            title={name || id}
            detail={[devices.count(device_ids.length), gateways.count(gateway_ids.length), owner].join(' · ')}
          />
        ))}
      </RecordList>
      <ProjectForm isOpen={isCreating} onClose={close} />
    </>
  );
}
