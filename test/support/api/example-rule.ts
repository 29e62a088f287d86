// A notification for tests, and its creation through the API.
import assert from 'node:assert/strict';
import type { TestServer } from '../test-server.ts';
import { make } from './calls.ts';

export const condition = { devices: ['d1'], sensors: ['TC', 'TC1'], expression: 'TC<40;TC1>10' };
export const action = { usernames: ['awa', 'nobody'], channels: ['sms', 'none'], message: '{id}: {TC}' };
export const rule = {
  ...{ description: 'Cold', condition, action, throttling: 3600, expires: '2026-06-08T20:20:27.5+02:00' },
};

/** Makes a notification; returns its id. */
export async function addRule(server: TestServer, as: string, json: unknown = rule): Promise<string> {
  const { text } = await make(server, { as, call: 'POST /notifications', json, expect: 200 });
  assert.match(text, /^[0-9a-f]{24}$/);
  return text;
}
