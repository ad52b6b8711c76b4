/** Makes an API key for the served graph: `npm run api-key -- USER`. */

import { makeApiKey } from "./api-key/make-api-key.js";

const [user] = process.argv.slice(2);
if (user === undefined) {
  process.stderr.write("Usage: npm run api-key -- USER\n");
  process.exit(1);
}
const { key, entry } = makeApiKey(user);
process.stdout.write(`The key, which is shown only now:\n${key}\n\nIts entry for AUTH_API_KEYS:\n${entry}\n`);
