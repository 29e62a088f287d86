// "Why can … see this?", in a sentence and the rights that follow; about oneself, and for owner and admins about anybody.
import { Badge, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useUsername } from '../../api/use-session.ts';
import { UserInput } from '../../shared/account/user-input.tsx';
import { scopeNames, useScopeWords } from '../../shared/device/scopes.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './explain.module.css';

interface Reason {
  readonly reason: string;
  readonly by?: string;
  readonly gateway?: string;
  readonly project?: string;
}

interface Explanation {
  readonly username: string;
  readonly scopes: readonly {
    readonly scope: string;
    readonly held: boolean;
    readonly from: readonly Reason[];
  }[];
}

export function Explain({ device, isManager }: { readonly device: string; readonly isManager: boolean }) {
  const { device: words } = usePageStrings();
  const me = useUsername();
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState(isManager ? '' : me);
  const { data, error } = useQuery({
    queryKey: keys.explanation(device, asked),
    enabled: asked !== '',
    queryFn: () => {
      const params = { path: { device }, query: { username: asked } };
      return call(api.GET('/api/v2/devices/{device}/permissions/explain', { params }));
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    setAsked(typed.trim());
  };
  return (
    <section className={classes.explain}>
      <h3 className={classes.heading}>{isManager ? words.explain : words.explainMe}</h3>
      {isManager && (
        <form onSubmit={send}>
          <Group gap="sm" align="flex-end">
            <UserInput label={words.explainWho} value={typed} onChange={setTyped} />
            <Button type="submit" variant="default" disabled={typed.trim() === ''}>
              {words.explainAsk}
            </Button>
          </Group>
        </form>
      )}
      {error !== null && <ProblemNotice error={error} />}
      <div role="status">{data !== undefined && <Answer explanation={data} />}</div>
    </section>
  );
}

function Answer({ explanation }: { readonly explanation: Explanation }) {
  const { device: words } = usePageStrings();
  const scopeWords = useScopeWords();
  const held = new Set(
    explanation.scopes.filter((one) => one.held).map(({ scope }) => scope.replace(/^devices/, 'device')),
  );
  const shown = scopeNames.filter((name) => held.has(name));
  return (
    <>
      <Text mt="sm">{sentenceOf(explanation, words)}</Text>
      <Group gap={6} mt={8}>
        {shown.map((name) => (
          <Badge key={name} variant="default" tt="none" fw={500} size="lg">
            {scopeWords[name]}
          </Badge>
        ))}
      </Group>
    </>
  );
}

function sentenceOf({ username, scopes }: Explanation, words: Strings['device']): string {
  const from = scopes.flatMap((scope) => scope.from);
  const has = (reason: string) => from.some((one) => one.reason === reason);
  if (has('owner')) return words.explainOwner(username);
  if (has('admin')) return words.explainAdmin(username);
  // What the device itself shares is named first.
  const shares = from.filter(({ reason }) => reason === 'share');
  const share = shares.find(({ gateway, project }) => gateway === undefined && project === undefined) ?? shares[0];
  const by = share?.by ?? words.explainOwnerWord;
  if (share?.gateway !== undefined) return words.explainReached(username, by, words.explainGateway(share.gateway));
  if (share?.project !== undefined) return words.explainReached(username, by, words.explainProject(share.project));
  if (has('share')) return has('public') ? words.explainBoth(username, by) : words.explainShare(username, by);
  return has('public') ? words.explainPublic(username) : words.explainNothing(username);
}
