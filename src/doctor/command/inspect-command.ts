/** `inspect`: shows threads in a browser, until the operator presses Ctrl+C. It never writes. */

import { once } from "node:events";
import type { Command } from "commander";
import { graphOption } from "../targets/database.js";
import { isGraphNamed } from "../targets/load-graph.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { targetOf, withTarget } from "../targets/targets.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { typedOptions } from "./options.js";

/** What the operator fills in. */
const GRAPH_TO_NAME = "--graph FILE:EXPORT";

export async function runInspect(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts();
  const { port, concurrency } = options;
  const context = { ...io, canWrite: false, concurrency, readsWithoutGraph: true };
  return withTarget(options, context, async (store) => {
    const { canWrite, further } = targetOf(options);
    // The pages read a database without its graph, and a repair does not.
    const lacksGraph =
      further.includes(graphOption) && !isGraphNamed({ spec: options.graph, folder: io.folder });
    const more = lacksGraph ? [GRAPH_TO_NAME] : [];
    const repair = ["npx langgraph-tether repair", ...typedOptions(command, "target", io), ...more].join(" ");
    const { address, close } = await io
      .serveInspector(store, { port, repairCommand: canWrite ? repair : "" })
      .catch((error: unknown): never => {
        throw new UsageError(`The pages cannot be served: ${reasonOf(error)}`);
      });
    await io.output.write(`tether inspect · ${store.target}\n\n${address}\n\nCtrl+C ends it.\n`);
    if (!io.signal.aborted) await once(io.signal, "abort");
    await close();
    return EXIT.sound;
  });
}
