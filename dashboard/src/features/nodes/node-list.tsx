// Several servers, a line each; on a phone a card each, whose figures have their names beside them.
import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { limits } from '../../limits.ts';
import { Age } from '../../shared/device/age.tsx';
import rows from '../../shared/list/column-rows.module.css';
import { comma, listed } from '../../strings/listed.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { NodeState } from './node-state.tsx';
import classes from './nodes.module.css';

type Node = Schemas['Node'];

export function NodeList({ nodes }: { readonly nodes: readonly Node[] }) {
  const { nodes: words } = usePageStrings();
  const storedPerS = nodes.reduce((sum, { datapoints_per_second: rate = 0 }) => sum + rate, 0);
  return (
    <>
      <div className={`${rows.row} ${rows.head} ${classes.row}`} aria-hidden="true">
        <span>{words.server}</span>
        <span>{words.state}</span>
        <span>{words.behind}</span>
        <span>{words.work}</span>
        <span>{words.connections}</span>
        <span className={classes.last}>{words.rate}</span>
      </div>
      <ul className={classes.list} aria-label={words.list}>
        {nodes.map((node) => (
          <li key={node.id} className={`${rows.row} ${classes.row}`}>
            <Names node={node} />
            <Figure name={words.state}>
              <NodeState node={node} />
            </Figure>
            <Figure name={words.behind}>
              <Behind node={node} readLaterMax={storedPerS * limits.nodesBehindS} />
            </Figure>
            <Figure name={words.work}>
              <Work leases={node.leases} />
            </Figure>
            <Figure name={words.connections}>
              <Connections node={node} />
            </Figure>
            <Figure name={words.rate} isLast>
              <Rate node={node} />
            </Figure>
          </li>
        ))}
      </ul>
    </>
  );
}

function Names({ node: { id, host, release, started, answering } }: { readonly node: Node }) {
  const { nodes: words } = usePageStrings();
  return (
    <div className={rows.names}>
      <span className={classes.name}>
        <span className={`${rows.name} d-ellipsis`} dir="auto" title={host ?? id}>
          {host ?? id}
        </span>
        {answering && (
          <Badge size="sm" variant="light" color="gray" className={classes.badge}>
            {words.answering}
          </Badge>
        )}
      </span>
      <span className={rows.quiet}>
        {release !== undefined && <>{words.release(release)} · </>}
        {words.started} <Age at={started} />
      </span>
    </div>
  );
}

interface FigureProps {
  readonly name: string;
  readonly isLast?: boolean;
  readonly children: ReactNode;
}

/** The name is beside the figure on a phone, and for screen readers everywhere; else it stands over the column. */
function Figure({ name, isLast = false, children }: FigureProps) {
  return (
    <div className={isLast ? `${classes.figure} ${classes.last}` : classes.figure}>
      <span className={classes.label}>{name} </span>
      <span>{children}</span>
    </div>
  );
}

function Behind({ node: { behind }, readLaterMax }: { readonly node: Node; readonly readLaterMax: number }) {
  const { nodes: words } = usePageStrings();
  const { datapoints, changes } = behind;
  const parts = [
    ...(datapoints > readLaterMax ? [words.datapoints(datapoints)] : []),
    ...(changes > 0 ? [words.changes(changes)] : []),
  ];
  return parts.length === 0 ? <span className="d-quiet">{words.upToDate}</span> : listed(parts);
}

function Work({ leases }: { readonly leases: readonly string[] }) {
  const { nodes: words } = usePageStrings();
  if (leases.length === 0) return <span className="d-quiet">{words.noWork}</span>;
  const named = leases.map((lease) => words.works[lease.replace(/\/\d+$/, '') as keyof typeof words.works] ?? lease);
  return listed([...new Set(named)]);
}

export function Connections({ node: { connections } }: { readonly node: Node }) {
  const { nodes: words } = usePageStrings();
  if (connections === undefined) return <span className="d-quiet">{words.untold}</span>;
  return (
    <>
      <bdi className={classes.part}>{words.http(connections.http)}</bdi>
      {comma()}
      <bdi className={classes.part}>{words.mqtt(connections.mqtt)}</bdi>
    </>
  );
}

export function Rate({ node: { datapoints_per_second: rate } }: { readonly node: Node }) {
  const { nodes: words } = usePageStrings();
  return rate === undefined ? <span className="d-quiet">{words.untold}</span> : words.perSecond(rate);
}
