/**
 * Plays other people's recordings of chat models through the real clients of LangChain.js, alone and with this library:
 * `npm run check:recordings -- FOLDER …`.
 *
 * A folder holds cassettes, bodies of responses, or streams; see `recordings/read-exchanges.ts`. No request leaves the
 * machine. It ends with 1 if the library makes a difference that `recordings/explained.ts` does not explain, and if a
 * folder has nothing to play.
 *
 *     --only PART   only files whose path has this part
 *     --json        a line of JSON for each difference
 *     --list        only names what would be played
 */

import { parseArgs } from "node:util";
import { clientsFor } from "./recordings/clients.js";
import { takeOverFetch } from "./recordings/play.js";
import { isStream, protocolOf } from "./recordings/protocols.js";
import { readExchanges } from "./recordings/read-exchanges.js";
import { Report } from "./recordings/report.js";
import { playResponse } from "./recordings/responses.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "" },
    json: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

takeOverFetch();
// Clients warn of what they leave out of a response.
console.warn = () => {};
process.on("warning", () => {});
const report = new Report(values.json);
for (const folder of positionals) {
  for await (const { file, exchanges, error } of readExchanges(folder)) {
    if (!file.includes(values.only)) continue;
    if (error !== undefined) report.unread(file, error);
    for (const exchange of exchanges) {
      const protocol = protocolOf(exchange);
      if (protocol === undefined || exchange.body.length === 0) {
        report.skipped(exchange);
        continue;
      }
      for (const client of clientsFor(exchange, protocol, isStream(exchange))) {
        if (values.list) console.log(`${exchange.place} ${client.name} ${exchange.status}`);
        else if (exchange.status < 300)
          report.add("responses", exchange, client, await playResponse(exchange, protocol, client));
      }
    }
  }
}
if (!values.list) process.exitCode = report.print() ? 0 : 1;
// A play that hung may still wait.
process.exit();
