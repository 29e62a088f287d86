// What one can do about an alarm: each act is told to the server, and all that shows alarms is read anew.
import { useQueryClient } from '@tanstack/react-query';
import type { Alarm } from '../../api/alarms.ts';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { problemWords } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';

export interface AlarmActs {
  /** @throws ApiProblem */
  readonly acknowledge: (note: string) => Promise<void>;
  /** @throws ApiProblem */
  readonly assign: (username: string) => Promise<void>;
  readonly snooze: (untilMs: number) => void;
  readonly takeBack: (what: 'acknowledgement' | 'snooze' | 'assignee') => void;
}

export function useAlarmActs({ id }: Alarm): AlarmActs {
  const queries = useQueryClient();
  const strings = useStrings();
  const params = { path: { alarm: id } };
  const done = async (sent: Promise<unknown>) => {
    await sent;
    await queries.invalidateQueries({ queryKey: keys.alarms });
  };
  const orSay = (sent: Promise<unknown>) => {
    done(sent).catch((error: unknown) => toasts.show({ text: problemWords(error, strings), isBad: true }));
  };
  const takeBack = {
    acknowledgement: () => call(api.DELETE('/api/v2/alarms/{alarm}/acknowledgement', { params })),
    snooze: () => call(api.DELETE('/api/v2/alarms/{alarm}/snooze', { params })),
    assignee: () => call(api.DELETE('/api/v2/alarms/{alarm}/assignee', { params })),
  };
  return {
    acknowledge: (note) => done(acknowledge(id, note)),
    assign: (username) => done(call(api.PUT('/api/v2/alarms/{alarm}/assignee', { params, body: { username } }))),
    snooze: (untilMs) =>
      orSay(
        call(api.PUT('/api/v2/alarms/{alarm}/snooze', { params, body: { until: new Date(untilMs).toISOString() } })),
      ),
    takeBack: (what) => orSay(takeBack[what]()),
  };
}

function acknowledge(alarm: string, note: string): Promise<unknown> {
  const body = note.trim() === '' ? {} : { note };
  return call(api.PUT('/api/v2/alarms/{alarm}/acknowledgement', { params: { path: { alarm } }, body }));
}

/** All of them with one note, some at a time; what is refused is told when all have been tried. */
export function useAcknowledgeAll(alarms: readonly Alarm[]): (note: string) => Promise<void> {
  const queries = useQueryClient();
  return async (note) => {
    const left = alarms.map(({ id }) => id);
    const faults: unknown[] = [];
    const work = async () => {
      for (let id = left.shift(); id !== undefined; id = left.shift())
        await acknowledge(id, note).catch((fault: unknown) => faults.push(fault));
    };
    await Promise.all(Array.from({ length: limits.alarmsAtOnce }, work));
    await queries.invalidateQueries({ queryKey: keys.alarms });
    if (faults.length > 0) throw faults[0];
  };
}
