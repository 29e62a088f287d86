// What a server answers to a stream of packets, held against what the model has it answer.
import assert from 'node:assert/strict';
import type { Packet } from 'mqtt-packet';
import type { Came } from '../../support/mqtt/packet-client.ts';
import type { Qos } from './session-model.ts';

/** An answer that is to come: its kind, packet id, and the reason codes that are right. */
export interface Answer {
  readonly cmd: Packet['cmd'];
  readonly messageId?: number;
  readonly codes?: readonly number[];
}

/**
 * Answers of one kind come in the order of what they answer; between kinds there is none, nor among PUBCOMPs: [MQTT-4.6.0-1] to
 * [MQTT-4.6.0-4] order all but these.
 */
export function assertAnswers(came: readonly Came[], expected: readonly Answer[], isOfFive: boolean): void {
  for (const cmd of new Set([...came, ...expected].map((one) => one.cmd))) {
    const [ours, theirs] = [came, expected].map((all) => {
      const some = (all as readonly (Came | Answer)[]).filter((one) => one.cmd === cmd);
      return cmd === 'pubcomp' ? some.toSorted((a, b) => (a.messageId ?? 0) - (b.messageId ?? 0)) : some;
    });
    assert.deepEqual(
      ours?.map(({ messageId }) => messageId),
      theirs?.map(({ messageId }) => messageId),
      `${cmd} in their order`,
    );
    for (const [n, one] of (theirs as readonly Answer[]).entries()) {
      const answer = ours?.[n] as { readonly reasonCode?: number; readonly granted?: readonly number[] };
      const codes =
        cmd === 'suback' || (isOfFive && cmd === 'unsuback') ? (answer.granted ?? []) : [answer.reasonCode ?? 0];
      if (one.codes === undefined || (!isOfFive && cmd !== 'suback')) continue;
      assert.ok(
        codes.length === 1 && one.codes.includes(codes[0] as Qos),
        `${cmd} ${one.messageId} says ${codes}, not ${one.codes}`,
      );
    }
  }
}
