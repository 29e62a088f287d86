// Changes of rules that all processes apply before they are acknowledged. Wraps the watcher's RuleChanges. The
// announcement comes after the watcher's turn, because another process applies it in a turn of its own: two processes
// that announced within their turns would wait for each other.
import type { Announcer } from '../../ports/coordination.ts';
import type { UserKey } from '../../users/user.ts';
import type { NotificationId } from './notification.ts';
import type { RuleChanges, RuleWeight, SeqSource } from './rule-changes.ts';

export class AnnouncedRuleChanges implements RuleChanges {
  readonly #ruleChanges: RuleChanges;
  readonly #coordination: Announcer;

  constructor(parts: { readonly ruleChanges: RuleChanges; readonly coordination: Announcer }) {
    this.#ruleChanges = parts.ruleChanges;
    this.#coordination = parts.coordination;
  }

  reserve(author: UserKey, rule: RuleWeight, before?: RuleWeight): () => void {
    return this.#ruleChanges.reserve(author, rule, before);
  }

  async add<T>(id: NotificationId, write: (seqs: Pick<SeqSource, 'newest'>) => Promise<T>): Promise<T> {
    try {
      return await this.#ruleChanges.add(id, write);
    } finally {
      await this.#announce(id);
    }
  }

  async change<T>(id: NotificationId, write: (seqs: SeqSource) => Promise<T>): Promise<T> {
    try {
      return await this.#ruleChanges.change(id, write);
    } finally {
      await this.#announce(id);
    }
  }

  #announce(rule: NotificationId): Promise<void> {
    return this.#coordination.announce({ kind: 'rule-changed', rule });
  }
}
