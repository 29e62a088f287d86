// What one process asks the others on the same data, because only they have it in memory: their connections. Each kind is a question
// with its answer, both plain values, because an engine may send them as JSON. A kind whose values change gets a new name, because
// servers of the release before are asked, too. What each process answers is in wiring/wire-questions.ts.

import type { ClientSelection, ClientState, ClientTotals, ToldClient, Whose } from '../clients/told-client.ts';
import type { GatewayId } from '../gateways/gateway.ts';

/** By kind: what is asked, and what is answered. */
export interface QuestionKinds {
  /** How many of its MQTT clients are among these. */
  readonly 'clients-counted': { readonly asked: ClientSelection; readonly answer: ClientTotals };
  /**
   * Some of them, those of one state, in its order. Answered are as many as one answer takes, at least one where there is one:
   * `looked` says how many it went through, because one that left meanwhile is not among them.
   */
  readonly 'clients-listed': {
    readonly asked: ClientSelection & {
      readonly state: ClientState;
      readonly offset: number;
      readonly limit: number;
    };
    readonly answer: { readonly clients: readonly ToldClient[]; readonly looked: number };
  };
  /** The MQTT client of this id, where it has it. */
  readonly 'client-found': {
    readonly asked: { readonly client: string };
    readonly answer: { readonly client?: ToldClient | undefined };
  };
  /** Ends the connection of this MQTT client, where it has it and it is this user's, or everybody's are meant. Answered when it is closed. */
  readonly 'client-disconnected': {
    readonly asked: {
      readonly client: string;
      readonly user: Whose;
      readonly keepSession: boolean;
      /** Who asked for it, for the log. */
      readonly by: string;
    };
    readonly answer: { readonly isDone: boolean };
  };
  /** Which of these gateways are connected to it. */
  readonly 'gateways-connected': {
    readonly asked: { readonly gateways: readonly GatewayId[] };
    readonly answer: { readonly gateways: readonly GatewayId[] };
  };
}

export type QuestionKind = keyof QuestionKinds;

/** @throws Refusal, which the asker gets. */
export type QuestionHandlers = {
  readonly [K in QuestionKind]: (asked: QuestionKinds[K]['asked']) => Promise<QuestionKinds[K]['answer']>;
};

export interface GivenAnswer<K extends QuestionKind> {
  readonly server: string;
  /** Its place among the servers, by which all of them have the same order. */
  readonly place: number;
  readonly answer: QuestionKinds[K]['answer'];
}

export interface Answers<K extends QuestionKind> {
  /** In the order of the places of the servers. */
  readonly given: readonly GivenAnswer<K>[];
  /** Living servers that did not answer within `limits.answerMsMax`, or are of a release that knows no such question. */
  readonly silent: readonly string[];
}

export interface Questions {
  /** The place of this process among the servers. */
  readonly place: number;
  /** Whether there is nobody to ask. */
  readonly isAlone: boolean;
  /**
   * Asks all other living processes, or the one named. Waits for `limits.answerMsMax` at most.
   * @throws Refusal that another process has answered with; `storage` where nobody can be asked.
   */
  ask<K extends QuestionKind>(
    kind: K,
    asked: QuestionKinds[K]['asked'],
    options?: { readonly server?: string },
  ): Promise<Answers<K>>;
  /** Sets what this process answers. Call once, before the servers listen. */
  answer(handlers: QuestionHandlers): void;
}

/** The part of the port for code that only asks. */
export type Asks = Pick<Questions, 'ask' | 'place' | 'isAlone'>;
