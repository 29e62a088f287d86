// A message to oneself, and what became of it.
import { api, call, type Schemas } from '../../api/client.ts';
import { limits } from '../../limits.ts';

type Message = Schemas['SocialMessage'];
export type Channel = Exclude<Message['channel'], 'none'>;

/** Waits until it has gone or cannot go; one that is still tried again is told as it stands. */
export async function sendTest(test: {
  readonly username: string;
  readonly channel: Channel;
  readonly text: string;
}): Promise<Pick<Message, 'status' | 'reason'>> {
  const { username, channel, text } = test;
  const body = { username, channel, message: text };
  const id = (await call(api.POST('/api/v2/socials', { body }))) as unknown as string;
  for (let looks = 0; ; looks += 1) {
    const message = await call(api.GET('/api/v2/socials/{social}', { params: { path: { social: id } } }));
    const isOver = message.status !== 'queued' || message.reason !== undefined;
    if (isOver || looks >= limits.testPollsMax) return message;
    await new Promise((resolve) => setTimeout(resolve, limits.testPollMs));
  }
}
