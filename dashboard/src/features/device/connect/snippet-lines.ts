// Programs that send a value to a sensor, filled in for this server, device and sensor. A private device needs a key,
// which stands as DUNDUN_KEY until one is put in.

export const languages = ['curl', 'mosquitto_pub', 'Python', 'Arduino', 'Node'] as const;
export type Language = (typeof languages)[number];

export interface SnippetPlace {
  readonly origin: string;
  /** How mosquitto_pub is told where MQTT is. */
  readonly mqttOptions: string;
  readonly device: string;
  readonly sensor: string;
  readonly needsKey: boolean;
}

export function linesFor(language: Language, place: SnippetPlace): string {
  return { curl, mosquitto_pub: mosquitto, Python: python, Arduino: arduino, Node: node }[language](place);
}

function urlOf({ origin, device, sensor }: SnippetPlace): string {
  return `${origin}/api/v2/devices/${encodeURIComponent(device)}/sensors/${encodeURIComponent(sensor)}/values`;
}

function curl(place: SnippetPlace): string {
  const key = place.needsKey ? ` \\\n  -H 'Authorization: Bearer DUNDUN_KEY'` : '';
  return `curl -X POST '${urlOf(place)}' \\\n  -H 'Content-Type: application/json'${key} \\\n  -d '{"value": 21.5}'`;
}

function mosquitto({ mqttOptions, device, sensor, needsKey }: SnippetPlace): string {
  const key = needsKey ? ` \\\n  -u '' -P 'DUNDUN_KEY'` : '';
  const topic = `devices/${device}/sensors/${sensor}/value`;
  return `mosquitto_pub ${mqttOptions} -q 1${key} \\\n  -t '${topic}' \\\n  -m '{"value": 21.5}'`;
}

function python(place: SnippetPlace): string {
  const key = place.needsKey ? ', "Authorization": "Bearer DUNDUN_KEY"' : '';
  return [
    'import json, urllib.request',
    '',
    'urllib.request.urlopen(urllib.request.Request(',
    `    ${JSON.stringify(urlOf(place))},`,
    '    data=json.dumps({"value": 21.5}).encode(),',
    `    headers={"Content-Type": "application/json"${key}},`,
    '))',
  ].join('\n');
}

function arduino(place: SnippetPlace): string {
  const key = place.needsKey ? ['  http.addHeader("Authorization", "Bearer DUNDUN_KEY");'] : [];
  return [
    '#include <WiFi.h>',
    '#include <HTTPClient.h>',
    '',
    'void setup() {',
    '  WiFi.begin("network", "password");',
    '  while (WiFi.status() != WL_CONNECTED) delay(500);',
    '}',
    '',
    'void loop() {',
    '  HTTPClient http;',
    `  http.begin(${JSON.stringify(urlOf(place))});`,
    '  http.addHeader("Content-Type", "application/json");',
    ...key,
    '  http.POST("{\\"value\\": " + String(analogRead(34)) + "}");',
    '  http.end();',
    '  delay(60000);',
    '}',
  ].join('\n');
}

function node(place: SnippetPlace): string {
  const key = place.needsKey ? ", authorization: 'Bearer DUNDUN_KEY'" : '';
  return [
    `await fetch(${JSON.stringify(urlOf(place))}, {`,
    "  method: 'POST',",
    `  headers: { 'content-type': 'application/json'${key} },`,
    '  body: JSON.stringify({ value: 21.5 }),',
    '});',
  ].join('\n');
}
