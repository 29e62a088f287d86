// What one does to a notification from the list as from its page: pause, restart, delete. Shown at once; taken back where
// the server refuses.
import { useQueryClient } from '@tanstack/react-query';
import { api, call } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import { removeWithUndo } from '../../../shared/device/removals.ts';
import { problemWords } from '../../../shared/page/problem-notice.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import type { Rule } from '../editor/draft.ts';

export function ruleKey(id: string): string {
  return `notification/${id}`;
}

export function useRuleActs() {
  const strings = usePageStrings();
  const queries = useQueryClient();
  const again = () => queries.invalidateQueries({ queryKey: keys.notifications });
  const onFault = (error: unknown) => {
    toasts.show({ text: problemWords(error, strings), isBad: true });
    void again();
  };
  return {
    setStatus: async ({ id }: Rule, status: 'active' | 'inactive') => {
      const params = { path: { notification: id } };
      await call(api.PUT('/api/v2/notifications/{notification}/status', { params, body: status as never })).catch(
        onFault,
      );
      await again();
    },
    remove: ({ id, description }: Rule) => {
      const params = { path: { notification: id } };
      removeWithUndo({
        key: ruleKey(id),
        text: strings.notifications.removed(description || id),
        remove: async () => {
          await call(api.DELETE('/api/v2/notifications/{notification}', { params, keepalive: true }));
          await again();
        },
        onFault,
      });
    },
  };
}
