import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocketFrames } from './websocket-frames.ts';

const text = 1;
const more = 0;
const ping = 9;

function frame(kind: number, payload: number, { isFinal = true } = {}): Buffer {
  const head = [(isFinal ? 0x80 : 0) | kind];
  if (payload < 126) head.push(0x80 | payload);
  else if (payload < 65_536) head.push(0x80 | 126, payload >> 8, payload & 255);
  else head.push(0x80 | 127, 0, 0, 0, 0, 0, payload >> 16, (payload >> 8) & 255, payload & 255);
  return Buffer.concat([Buffer.from(head), Buffer.alloc(4 + payload)]);
}

for (const payload of [0, 1, 125, 126, 65_535, 65_536]) {
  test(`a message of ${payload} bytes has begun until its last byte has come, wherever it is cut`, () => {
    const bytes = frame(text, payload);
    for (const at of [1, 2, 3, 6, 7, bytes.length - 1]) {
      if (at >= bytes.length) continue;
      const frames = new WebSocketFrames();
      frames.take(bytes.subarray(0, at));
      assert.equal(frames.begun, at);
      frames.take(bytes.subarray(at));
      assert.equal(frames.begun, 0);
    }
  });
}

test('the frames of a message add up, though a ping comes between them', () => {
  const frames = new WebSocketFrames();
  frames.take(frame(text, 100, { isFinal: false }));
  assert.equal(frames.begun, 100);
  frames.take(Buffer.concat([frame(ping, 4), frame(more, 50, { isFinal: false })]));
  assert.equal(frames.begun, 150);
  frames.take(frame(more, 0).subarray(0, 1));
  assert.equal(frames.begun, 151);
  frames.take(frame(more, 0).subarray(1));
  assert.equal(frames.begun, 0);
});

test('a thousand empty frames in one piece leave nothing', () => {
  const frames = new WebSocketFrames();
  frames.take(Buffer.concat(Array.from({ length: 1_000 }, () => frame(text, 0))));
  assert.equal(frames.begun, 0);
});
