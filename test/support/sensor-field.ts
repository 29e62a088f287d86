// A device with sensors of every kind of course: with a gap, old, long, of texts and mixed values, without any, and one with a
// rule that fires; and a device whose names are markup. For tests of a sensor's page and its chart.
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { TestServer } from './test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;

export const soil = '/devices/field-3/sensors/TC';
/** The one with a rule. */
export const roof = '/devices/field-3/sensors/roof';

/** Makes the devices field-3 and well with their datapoints, of the owner. */
export async function makeSensorField(server: TestServer): Promise<void> {
  const sensors = [
    { id: 'TC', name: 'Soil', unit: '°C' },
    { id: 'RH', name: 'Air', unit: '%' },
    { id: 'roof', name: 'Roof', unit: '°C' },
    { id: 'note' },
    { id: 'old', unit: 'm' },
    { id: 'long' },
    { id: 'none' },
    { id: 'mixed', unit: 'm' },
    { id: 'words' },
  ];
  await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3', sensors } });
  await server.call('owner', 'POST', '/devices', {
    json: { id: 'well', name: evil, sensors: [{ id: 'TC', name: evil }] },
  });
  const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
  const push = async (device: string, sensor: string, json: unknown) => {
    const { status } = await server.call('owner', 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
    assert.equal(status, 204);
  };
  const course = Array.from({ length: 100 }, (_, n) => ({ value: 20 + (n % 10), timestamp: at((100 - n) * 10) }));
  await push('field-3', 'TC', course.toSpliced(40, 20));
  await push(
    'field-3',
    'RH',
    course.map(({ value, timestamp }) => ({ value: value * 2, timestamp })),
  );
  await push(
    'well',
    'TC',
    course.map(({ value, timestamp }) => ({ value: value / 2, timestamp })),
  );
  await push('field-3', 'note', { value: evil });
  await push('field-3', 'old', { value: 3, timestamp: at(60 * 24 * 20) });
  const mixed = [1.5, 'dry, "very"', true, { wet: [1] }, null, '=1+1', '-4', -4, 'same', 2].map((value, n) => {
    return { value, timestamp: n < 8 ? at(100 - n) : '2026-01-15T11:30:00Z' };
  });
  await push('field-3', 'mixed', mixed);
  const words = Array.from({ length: 3_000 }, (_, n) => ({ value: `word ${n}`, timestamp: at((3_000 - n) / 10) }));
  await push('field-3', 'words', words);
  const year = Array.from({ length: 20_000 }, (_, n) => ({ value: n % 100, timestamp: at((20_000 - n) * 25) }));
  await push('field-3', 'long', year);
  await push('field-3', 'TC', { value: 28, timestamp: at(1) });
  await push('field-3', 'roof', course);
  const rule = { devices: ['field-3'], sensors: ['roof'], expression: 'roof>27.5' };
  const action = { usernames: ['owner'], channels: ['none'], message: '{roof}' };
  await server.call('owner', 'POST', '/notifications', {
    json: { description: 'Too warm', condition: rule, action },
  });
  await push('field-3', 'roof', { value: 28, timestamp: at(1) });
  await server.running.idle();
}

/** What the mouse is over on a chart. */
export function chart(page: Page): Locator {
  return page.locator('.u-over');
}
