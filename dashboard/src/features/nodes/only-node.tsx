// The one server of a service whose data are in a folder: its figures, and what there is beyond one server.
import { Code, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { Age } from '../../shared/device/age.tsx';
import { Facts } from '../../shared/page/facts.tsx';
import { Section } from '../../shared/page/section.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { Connections, Rate } from './node-list.tsx';
import { NodeState } from './node-state.tsx';

export function OnlyNode({ node }: { readonly node: Schemas['Node'] }) {
  const { nodes: words } = usePageStrings();
  const facts: readonly (readonly [string, ReactNode])[] = [
    [words.state, <NodeState key="state" node={node} />],
    [words.started, <Age key="started" at={node.started} />],
    [words.connections, <Connections key="connections" node={node} />],
    [words.rate, <Rate key="rate" node={node} />],
    [words.machine, <bdi key="machine">{node.host ?? words.untold}</bdi>],
    [words.releaseName, node.release ?? words.untold],
  ];
  return (
    <Section title={words.one} words={words.oneWords}>
      <Facts facts={facts} />
      <Text c="dimmed" fz="sm" maw={640}>
        {words.beyond} <Code>docs/scaling.md</Code>.
      </Text>
    </Section>
  );
}
