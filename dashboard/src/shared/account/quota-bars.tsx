// How much somebody has of each kind that is counted, and may have; a bar stands only where there is a limit.
import { Progress } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import styles from './quota-bars.module.css';
import { isInBytes, type QuotaKind, quotaKinds, sizeText } from './quotas.ts';

export function QuotaBars({ quotas }: { readonly quotas: Schemas['Quotas'] }) {
  const { quota } = usePageStrings();
  const { tag: locale } = usePageLocale();
  // What has neither a limit nor anything used says nothing.
  const shown = quotaKinds.filter((kind) => quotas[kind].limit !== undefined || quotas[kind].used > 0);
  const amount = (kind: QuotaKind, count: number) =>
    isInBytes(kind) ? sizeText(count, locale) : count.toLocaleString(locale);
  return (
    <ul className={styles.list}>
      {shown.map((kind) => {
        const { used, limit } = quotas[kind];
        const share = limit === undefined ? 0 : limit === 0 ? 100 : Math.min(100, (used / limit) * 100);
        return (
          <li key={kind} className={styles.row}>
            <span>{quota.kinds[kind]}</span>
            <span className={styles.amount}>
              {limit === undefined ? amount(kind, used) : quota.of(amount(kind, used), amount(kind, limit))}
            </span>
            {limit !== undefined && (
              <Progress
                className={styles.bar}
                size="xs"
                value={share}
                color={share >= 100 ? 'red' : share >= 90 ? 'yellow' : 'gray'}
                aria-label={quota.kinds[kind]}
              />
            )}
          </li>
        );
      })}
    </ul>
  );
}
