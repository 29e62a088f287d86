// Version 1 stays readable: these are bytes written when the format was fixed. A change that breaks this test needs a
// new version. An encoder may write other bytes for the same datapoints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeChunk } from './chunk-codec.ts';
import { assertSame, columnsOf, samples } from './columns.suite.ts';

const written: Readonly<Record<string, string>> = {
  one: 'AQEBgKCr/vliAQGXAwEAI8615HU=',
  slow: 'ASgBgKCr/vlioKkHAYWIAwECBkAgDERhHEiiLEzjPFAkTVRlXVimbVznfWAojmRpAgGFAH38AgFBEASBIMJ4nLs=',
  halfStamped:
    'AawCAQCoDwIVAFARISi1L/0AAMUAAJD///7//f/7//f/7//f/7//fwcBAImeSwIQABkotS/9AACFAABQ/v379+/fv3//DQEAZMoRMQBGQSi1L/0AAMUBAALECxbAtTIGuzYOHHImIoQatfzv//fPD1UD0husxtiPVoYluMyhd4G4gbogT55TVMAeAQA/whSgpoZKDw==',
  doubles:
    'AZYBhQAIAwHbtm3btm3btm3btm3btm3btm0bD8kAgjgLRii1L/0AAO0BABQDAACIWU5HQTw4GRgXFhUUExMSEhEREBAPDw8ODg4NDQ0NDAwMBQUFBQQDAgEAAAAAAAQQALIQ3cIi6wEAAAAKWNvpY6wnmoF2vC6z5rHpLVXtEpppLjKJjJ2uZ9rrgwmnXfgd2G82dL+JP44n2SfeBMQJode3ln+b0kwysHABE9SBHKORVOgA+mcP+Kd9HF7CrpSaflyh9hLHM3iViksUeo5ijFIQYhDCCApovuSzDnJ0x5rPRp7wd1vLV6VulJ29hKQYbbjA79VucWLLmcTSNaxO2UlKLEIQeYLjmb1kBScWqUc1amEJO1wBBxvgP/iFX/rEsz3qNdf4v8mtbFhbus8wIAEGFgAAAgCTnar9BwCmoEaAACAAAABVVVVn+v4cM5BVVVU1RnU9LAyN9sNn+v4AAADiPDzN9KgcM5BNkevb1JqRNIpVVVW05j/MO3/3ZzA1RnWxKBzfyMUdsJ49LAyrqqqd6sKrTFiN9sPvdza/3EhZAuFn+v5AwYODL5o8WBoAAAB7Pe07BPqxN+fiPDyrVBVDDMRAFmnN9Kio9JcX4PWZYs4cM5CrqqqAXL+JgnNNketG/fkvIQk7Qcfb1Jo9iuRL2BPnaZKRNIrwoolh3wjq+NJVVVXAo9e7Sp5kG/m05j+3ar556pAIpHLMO3+EG+horJ7kP/T3ZzDZbx6wlpKVoOc1RnUAAAAwoCKLJbKxKBwjPsBFoESIbubfyMWsCS5TW9o54jYdsJ6rsZYIxAXXHGo9LAzYHS8ZGz80b/2rqqqV4i74JUDEQYed6sIMYulgq0hgY6WrTFifoWqZO7GAnuaN9sOdFRl4fOPLe2Tvdzb0WWHNN24HPXq/3EhVVVW1jeOoUxBZAuHDl1JJP2jAVzln+v5gCCHkw0Lx+U5AwYPt0n39gEPZTk+DL5orbaWvPYQ7B+U8WBqrlSOMYrVbw0EAAABvI/qdifu5LN57Pe0vgugAVd1FVc9wN90AJ2JFggvLVd5mm89MIZxwqn7oN4YYsd0sZ8IAzG2AJxGGcWKbEnpFqqoTgmoUnwsy0YPLD52pVamdE968X2dm4E0Wmy0Ujs8AQapMLEyiIbM6lpwf68VwpyKTqhBqWn5wxxTozk/xN6Gqz4ZEfJ4YVb68sQMRO91V+iUsZCCxZ5F8c8KwhYkAlqpczBoBAAAv6TGK',
  states: 'ARQCAAECLwDAgICAEAAACgEBAgQCgAABqgIACSJzdGF0ZSAxIiJzdGF0ZSAzIgEBAAHgj2VI',
  edges: 'AQIDAADcwgiyPsMAANzCCLI+Qy8BALyQv+MPhACc64HACAECAQEAAgACANgApACWuw==',
  outliers:
    'AcgBAQCIThEAjQMFAQAoAAAAAABIVUAAAAAAAEhVQAAAAAAASFVAAAAAAABIVUAAAAAAAEhVQAFxgKjWuQfYp9a5B0IotS/9AADNAQCgADt3ADsAmjUAyZMB2dbZrwCwAq4NAGZMJAAELImgDUBlYnUmSaqiLrgIJVVRDFzUoarUAqJBBLBJTMmI',
  pushedAtOnce: 'ATwCAAcOAAEAAwUBgIl6AEBlUpE=',
  drifting:
    'AYwBhgABBgYIAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJAIUAwoQH8f8DAf/+/v79/f39+/v79/f39+/vBwEBAAG4YgKk',
  levels: 'AYQCAQCQHwAgABEotS/9AABFAAAQtLQBAJQAFgEVqA9BDR0otS/9AAClAABwABAAAkAACAABIAAEgAABAJDML9UuRDw=',
  twoPlanes: 'AYQCAQCQHwBQSRootS/9AACNAAA4AQD9ADYO8QIAfkCN/pQjAgEVqA9BDR0otS/9AAClAABwABAAAkAACAABIAAEgAABAJDML+4Smbc=',
  threePlanes:
    'AYQCAQCQHwBgSR4otS/9AACtAABQAQAPABEAQnoOSQMEK34w/GD0d0QBFagPQQ0dKLUv/QAApQAAcAAQAAJAAAgAASAABIAAAQCQzC9BuJP5',
  fourPlanes:
    'AYQCAQCQHwBwSSMotS/9AAjVAABAAAABABF6Dl0FAH5ADQBQB1jsAxYF+lOOCAEVqA9BDR0otS/9AAClAABwABAAAkAACAABIAAEgAABAJDMLwMweOE=',
  objects:
    'ATIBAAEgAAAyAQABAYATBNDb2dvX29nb1dvZ29fb2dvS29nb19vZ29WHAii1L/0ACPUHAMJHFBWgJ+lCu+wuALDTCNlS7r0Jsqi/6gEFz9TI933fd++9984555zFGG2jU8SqskNkLVoRHRL7Z99mzFGL1cUzPYRI5YUU9TAEA2IAiMMgBIhRCGeoYdFs2jvQQimrDhAQIiSEGGR3O4yiahv712nmLGP/uhw+y9i/TjNnGdsTz52VbU05B1UUfZMxk2RGfewJVa6J/iWF0xZnirsDJAl4uY+BrKCcYQpSI9/wLH9Y3c3LmRMJRWYVpCblcxpLdfRuAo3rItR+zwWIdbE9cnI/0aFovMnKqGw0b2+IQqvrDAH25l+jj7m3dPXvckO90CyFIETI6BBPberUVmgVAQACM4EFRw==',
};

test('what version 1 wrote is read as it was meant', () => {
  assert.deepEqual(Object.keys(written), Object.keys(samples));
  for (const [name, datapoints] of Object.entries(samples)) {
    assertSame(decodeChunk(Buffer.from(written[name]!, 'base64')), columnsOf(datapoints));
  }
});
