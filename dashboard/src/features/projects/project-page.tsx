// A project: its devices together on a chart, in a list and on a map, and its gateways.
import { Anchor, Button, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { unlessGone } from '../../api/api-problem.ts';
import { api, call, type Device } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { DeviceList } from '../../shared/device/device-list.tsx';
import { removeWithUndo } from '../../shared/device/removals.ts';
import { SharingSection } from '../../shared/device/sharing-section.tsx';
import { DeviceMap, positionsOf } from '../../shared/map/device-map.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice, problemWords } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { JointChart } from './joint-chart.tsx';
import { type Project, ProjectForm, projectKey } from './project-form.tsx';
import classes from './projects.module.css';

const route = getRouteApi('/projects/$project');

export function ProjectPage() {
  const { projects } = usePageStrings();
  const path = route.useParams();
  const search = route.useSearch();
  const [isEditing, { open, close }] = useDisclosure(false);
  const {
    data: answered,
    error,
    refetch,
  } = useQuery({
    queryKey: keys.project(path.project),
    refetchInterval: 30_000,
    queryFn: () => {
      const params = { path, query: { full: true } };
      return call(api.GET('/api/v2/projects/{project}', { params }));
    },
  });
  const data = unlessGone(answered, error);
  const devices: readonly Device[] = data?.devices ?? [];
  return (
    <>
      <PageHeader
        title={data?.name || path.project}
        subtitle={data === undefined ? '\u00a0' : projects.holds(data.device_ids.length, data.gateway_ids.length)}
        actions={data !== undefined && <Acts project={data} onEdit={open} />}
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={420} />}
      {data !== undefined && data.device_ids.length === 0 && (
        <EmptyState title={projects.noDevices} words={projects.noDevicesWords}>
          <Button onClick={open}>{projects.chooseDevices}</Button>
        </EmptyState>
      )}
      {devices.length > 0 && (
        <>
          <div className={classes.chart}>
            <JointChart project={path.project} devices={devices} search={search} />
          </div>
          <div className={classes.columns}>
            <Section title={projects.devices}>
              <DeviceList label={projects.devices} devices={devices} />
            </Section>
            <Places devices={devices} />
          </div>
        </>
      )}
      {data !== undefined && <Gateways project={data} />}
      {data !== undefined && (
        <div className={classes.gatewayPart}>
          <SharingSection of={{ kind: 'project', id: data.id }} owner={data.owner} />
        </div>
      )}
      {data !== undefined && <ProjectForm isOpen={isEditing} onClose={close} project={data} />}
    </>
  );
}

function Acts({ project: { id, name }, onEdit }: { readonly project: Project; readonly onEdit: () => void }) {
  const strings = usePageStrings();
  const { projects, shared } = strings;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = () => {
    removeWithUndo({
      key: projectKey(id),
      text: projects.removed(name || id),
      remove: async () => {
        await call(api.DELETE('/api/v2/projects/{project}', { params: { path: { project: id } }, keepalive: true }));
        await queries.invalidateQueries({ queryKey: keys.projects });
      },
      onFault: (error) => toasts.show({ text: problemWords(error, strings), isBad: true }),
    });
    void navigate({ to: '/projects' });
  };
  return (
    <>
      <Button variant="default" leftSection={<Icon name="edit" />} onClick={onEdit}>
        {projects.editShort}
      </Button>
      <Button variant="default" leftSection={<Icon name="trash" />} onClick={remove}>
        {shared.remove}
      </Button>
    </>
  );
}

function Places({ devices }: { readonly devices: readonly Device[] }) {
  const { projects } = usePageStrings();
  if (devices.every(({ location }) => location?.latitude === undefined)) return null;
  return (
    <Section title={projects.map}>
      <DeviceMap devices={positionsOf(devices)} height={320} />
    </Section>
  );
}

function Gateways({ project }: { readonly project: Project }) {
  const { projects } = usePageStrings();
  const { gateways = [] } = project;
  if (gateways.length === 0) return null;
  return (
    <div className={classes.gatewayPart}>
      <Section title={projects.gateways}>
        <ul className={classes.gateways}>
          {gateways.map(({ id, name }) => (
            <li key={id}>
              <Anchor component={Link} to="/gateways/$gateway" params={{ gateway: id } as never}>
                {name || id}
              </Anchor>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
