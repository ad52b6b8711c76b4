/**
 * Plays other people's recordings of chat models through the real clients of LangChain.js, alone and with this library:
 * `npm run check:recordings -- FOLDER …`.
 *
 * A folder holds cassettes, bodies of responses, or streams; see `recordings/read-exchanges.ts`. No request leaves the
 * machine. It ends with 1 if the library makes a difference that `recordings/explained.ts` does not explain, and if a
 * folder has nothing to play.
 *
 *     --only PART   only `responses`, `requests` or `refusals`, or only files whose path has this part
 *     --json        a line of JSON for each difference
 *     --list        only names what would be played
 */

import { parseArgs } from "node:util";
import { clientsFor } from "./recordings/clients.js";
import { takeOverFetch } from "./recordings/play.js";
import { isStream, protocolOf } from "./recordings/protocols.js";
import { type Exchange, readExchanges } from "./recordings/read-exchanges.js";
import { playRefusal } from "./recordings/refusals.js";
import { Report } from "./recordings/report.js";
import { isAcceptedHistory, playRequest } from "./recordings/requests.js";
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
/** Which exchanges each part plays, and how. */
const PLAYS = {
  responses: { isFor: ({ status }: Exchange) => status < 300, play: playResponse },
  requests: { isFor: isAcceptedHistory, play: playRequest },
  refusals: { isFor: ({ status }: Exchange) => status >= 400, play: playRefusal },
};
const PARTS = ["responses", "requests", "refusals"] as const;

const { only } = values;
const isPart = (PARTS as readonly string[]).includes(only);
const report = new Report(values.json);
for (const folder of positionals)
  for await (const { file, exchanges, error } of readExchanges(folder)) {
    if (!isPart && !file.includes(only)) continue;
    if (error !== undefined) report.unread(file, error);
    for (const exchange of exchanges) await playExchange(exchange);
  }
if (!values.list) process.exitCode = report.print() ? 0 : 1;
// A play that hung may still wait.
process.exit();

async function playExchange(exchange: Exchange): Promise<void> {
  const protocol = protocolOf(exchange);
  if (protocol === undefined || exchange.body.length === 0) {
    report.skipped(exchange);
    return;
  }
  for (const client of clientsFor(exchange, protocol, isStream(exchange)))
    for (const part of PARTS) {
      if ((isPart && part !== only) || !PLAYS[part].isFor(exchange, protocol)) continue;
      if (values.list) console.log(`${part} ${exchange.place} ${client.name}`);
      else {
        const outcome = await PLAYS[part].play(exchange, protocol, client);
        if (outcome !== undefined) report.add(part, exchange, client, outcome);
      }
    }
}
