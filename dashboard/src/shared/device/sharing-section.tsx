// The part of a gateway’s or project’s page that says whom it is shared with; for its owner and admins.
import { useSession } from '../../api/use-session.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { Section } from '../page/section.tsx';
import { SharedWith } from './shared-with.tsx';
import type { Shared } from './use-share-change.ts';

export function SharingSection({ of, owner }: { readonly of: Shared; readonly owner: string }) {
  const { device: words } = usePageStrings();
  const state = useSession();
  if (state.status !== 'user' || !(state.isAdmin || state.username === owner)) return null;
  return (
    <Section title={words.sharing} words={words.shareWithDevices}>
      <SharedWith of={of} />
    </Section>
  );
}
