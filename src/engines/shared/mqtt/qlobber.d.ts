// The parts of qlobber that this service uses; the package brings no types.

declare module 'qlobber' {
  export class Qlobber<Value> {
    constructor(options: object);
    add(filter: string, value: Value): void;
    remove(filter: string, value?: Value): void;
    match(topic: string): Value[];
  }

  export class QlobberTrue {
    constructor(options: object);
    add(filter: string): void;
    test(topic: string): boolean;
  }
}

declare module 'qlobber/aedes/qlobber-sub.js' {
  class QlobberSub {
    constructor(options: object);
    readonly subscriptionsCount: number;
    add(filter: string, subscription: QlobberSub.Subscription): void;
    remove(filter: string, subscription: { readonly clientId: string; readonly topic: string }): void;
    match(topic: string): QlobberSub.Subscription[];
  }
  namespace QlobberSub {
    interface Subscription {
      readonly clientId: string;
      readonly topic: string;
      readonly qos: number;
      readonly rh?: number | undefined;
      readonly rap?: boolean | undefined;
      readonly nl?: boolean | undefined;
    }
  }
  export = QlobberSub;
}
