// Signs of Unicode that turn the direction of what stands behind them (embeddings, overrides, isolates), in names, notes and other
// texts of people: they would have a page, a title or a message read otherwise than it is written. They are taken away as answers
// are read, so that nothing that is drawn has any, wherever it is drawn. Values keep them, because they are written to files too;
// they are taken away where a value becomes text.

const signs = /[\u202a-\u202e\u2066-\u2069]/g;
/** The same in JSON, where they may be escaped; whatever else is escaped is passed over whole. */
const inJson = /\\(?:u(?:202[a-e]|206[6-9])|.)|[\u202a-\u202e\u2066-\u2069]/gis;
const maybeInJson = /[\u202a-\u202e\u2066-\u2069]|\\u20(?:2[a-e]|6[6-9])/i;

export function plainText(text: string): string {
  return text.replace(signs, '');
}

export function plainJson(json: string): string {
  if (!maybeInJson.test(json)) return json;
  return json.replace(inJson, (found) => (found.length === 1 || found.length > 2 ? '' : found));
}

/** Answers that are values. */
const values = /\/(values|sensors_data)$/;

/** The answer without these signs, where it is JSON and no values. */
export async function plainAnswer(answer: Response, url: string): Promise<Response> {
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  if (!isJson || answer.body === null || values.test(new URL(url).pathname)) return answer;
  const { status, statusText, headers } = answer;
  return new Response(plainJson(await answer.text()), { status, statusText, headers });
}
