// Whether a server lives: a dot, and words.
import type { Schemas } from '../../api/client.ts';
import { Age } from '../../shared/device/age.tsx';
import page from '../../shared/page/record-page.module.css';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './nodes.module.css';

export function NodeState({ node: { alive, last_seen: seen } }: { readonly node: Schemas['Node'] }) {
  const { nodes: words } = usePageStrings();
  return (
    <span className={`${page.state} ${classes.state}`} data-state={alive ? 'alive' : 'silent'}>
      {alive ? (
        words.alive
      ) : (
        <span>
          {words.silent} <Age at={seen} />
        </span>
      )}
    </span>
  );
}
