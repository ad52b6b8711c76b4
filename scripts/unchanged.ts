/**
 * Compares what the clients of LangChain.js send alone with what they send under this library. Differences that the table of
 * exceptions explains are shown with their reason. `--unknown` takes the histories with what nobody knows.
 *
 *     npx tsx scripts/unchanged.ts [--client PART] [--history PART] [--unknown] [--json]
 */

import { parseArgs } from "node:util";
import { CLIENTS } from "../test/wire/unchanged/clients.js";
import { exceptionOf } from "../test/wire/unchanged/exceptions.js";
import { historiesOf } from "../test/wire/unchanged/histories.js";
import { measure } from "../test/wire/unchanged/measure.js";
import { startRecorder } from "../test/wire/unchanged/start-recorder.js";
import { UNKNOWN_CLIENTS, unknownHistoriesOf } from "../test/wire/unchanged/unknown.js";

const { values } = parseArgs({
  options: {
    client: { type: "string", default: "" },
    history: { type: "string", default: "" },
    unknown: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const recorder = await startRecorder();
globalThis.fetch = recorder.fetch;
const isChosen = (name: string, part: string) => name.toLowerCase().includes(part.toLowerCase());
const shorten = (value: unknown) => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
};
const COUNTS = { same: 0, excepted: 0, unexplained: 0, "not-sendable": 0 };
const total = { ...COUNTS };
const told = (counts: typeof COUNTS) =>
  Object.entries(counts)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
const [clients, setOf] = values.unknown ? [UNKNOWN_CLIENTS, unknownHistoriesOf] : [CLIENTS, historiesOf];
for (const client of clients.filter(({ name }) => isChosen(name, values.client))) {
  const counts = { ...COUNTS };
  const started = performance.now();
  for (const history of setOf(client).filter(({ title }) => isChosen(title, values.history))) {
    const outcome = await measure(client, history, recorder);
    const rows =
      outcome.kind === "differs"
        ? outcome.differences.map((difference) => exceptionOf(client.name, history.title, difference))
        : [];
    const kind =
      outcome.kind !== "differs" ? outcome.kind : rows.includes(undefined) ? "unexplained" : "excepted";
    counts[kind] += 1;
    total[kind] += 1;
    if (values.json) console.log(JSON.stringify({ client: client.name, history: history.title, ...outcome }));
    else if (outcome.kind === "not-sendable")
      console.log(`${client.name} × ${history.title}: ${outcome.why}`);
    else if (outcome.kind === "differs")
      for (const [index, { path, alone, ours, ways }] of outcome.differences.entries())
        console.log(
          `${client.name} × ${history.title} (${ways.join(", ")})\n    ${path}: ${rows[index]?.why ?? "UNEXPLAINED"}\n      alone: ${shorten(alone)}\n      ours:  ${shorten(ours)}`,
        );
  }
  if (!values.json) {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`== ${client.name}: ${told(counts)} (${seconds} s)`);
  }
}
if (!values.json) console.log(`== All: ${told(total)}`);
await recorder.stop();
