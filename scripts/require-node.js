// Run before the scripts written in TypeScript, so that a Node.js too old for them says so in one line.
import { isNewEnough, refusal } from '../bin/runtime.js';

if (!isNewEnough(process.version)) {
  console.error(refusal);
  process.exit(1);
}
