// What servers that share a log make of its length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import type { Store } from '../log/store.ts';
import { SealControl } from './seal-control.ts';

const { sealRowsMin, sealRowsMax, headRowsMax } = limits;

function debtOf({ rows, isOurs }: { readonly rows: number; readonly isOurs: boolean }): number {
  const control = new SealControl({
    store: {} as Store,
    log: {
      ...{ rows, textChars: 0, lastSeq: rows, sealedSeq: 0, hasRows: true, isCutOff: false },
      ...{ without: { rows: 0, bytes: 0 }, nextPass: () => undefined, sealed: () => {} },
    },
    isOurs: () => isOurs,
    inTurn: (work) => work(),
    countSensors: async () => 0,
    onFailure: () => {},
    onDamaged: () => {},
    afterPass: async () => {},
    onEnded: () => {},
  });
  return control.debt;
}

test('a server that does not seal is held up by no log that the one which seals may let grow so long', () => {
  assert.ok(debtOf({ rows: sealRowsMax, isOurs: true }) > 0, 'it begins a pass earlier, with as few sensors');
  assert.equal(debtOf({ rows: sealRowsMax, isOurs: false }), 0);
  assert.equal(debtOf({ rows: sealRowsMin, isOurs: true }), 0);
});

test('a full log holds every server up', () => {
  for (const isOurs of [true, false]) {
    assert.equal(debtOf({ rows: headRowsMax, isOurs }), 1);
    assert.ok(debtOf({ rows: headRowsMax - 1, isOurs }) < 1);
  }
});
