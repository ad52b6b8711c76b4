/** `inspect`: shows threads in a browser, until the operator presses Ctrl+C. It never writes. */

import { once } from "node:events";
import type { Command } from "commander";
import { reasonOf, UsageError } from "../targets/target.js";
import { targetIn, withTarget } from "../targets/targets.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { type Options, quietMsOf, typedRepair } from "./options.js";
import { headText } from "./report.js";

export async function runInspect(command: Command, io: CommandIo): Promise<ExitCode> {
  const options = command.opts<Options & { readonly port?: number }>();
  const { port } = options;
  return withTarget(options, { ...io, canWrite: false, quietMs: quietMsOf(options) }, async (store) => {
    const repairCommand = targetIn(options).canWrite ? typedRepair(command, io).join(" ") : "";
    const { address, close } = await io
      .serveInspector(store, { port, repairCommand })
      .catch((error: unknown): never => {
        throw new UsageError(
          Object(error).code === "EADDRINUSE"
            ? `Port ${port} of --port is used by another program. Name another one, or leave --port out for a free one.`
            : `The pages cannot be served: ${reasonOf(error)}`,
        );
      });
    await io.output.write(`${headText("inspect", store.target)}${address}\n\nCtrl+C ends it.\n`);
    if (!io.signal.aborted) await once(io.signal, "abort");
    await close();
    return EXIT.sound;
  });
}
