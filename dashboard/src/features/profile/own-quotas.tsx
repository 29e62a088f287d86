// How much of everything one has, and may have.
import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { QuotaBars } from '../../shared/account/quota-bars.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function OwnQuotas() {
  const { quota } = usePageStrings();
  const { data, error, refetch } = useQuery({
    queryKey: keys.ownQuota,
    queryFn: () => call(api.GET('/api/v2/users/me/quota')),
  });
  return (
    <Section title={quota.title} words={quota.ownWords}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data !== undefined && <QuotaBars quotas={data} />}
    </Section>
  );
}
