/**
 * Shows in four scenes a thread that breaks and one that does not: `npm run demo`. It runs a plain agent in this
 * process, starts the development server on this repository's `langgraph.json`, talks to it through the SDK, and ends
 * by itself. Nothing leaves the machine.
 */

import { CheckError } from "./demo/check-pairs.js";
import { findSettingError } from "./demo/find-setting-error.js";
import { createPage } from "./demo/page.js";

/** The user, or the parent process, wants the demo to end. */
class InterruptedError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("Stopped before the end.");
    this.exitCode = exitCode;
  }
}

const interrupted = new Promise<never>((_, reject) => {
  process.once("SIGINT", () => reject(new InterruptedError(130)));
  process.once("SIGTERM", () => reject(new InterruptedError(143)));
});

try {
  const page = createPage(process.stdout);
  page.line(page.style("bold", "langgraph-tether: a thread whose calls stay paired with their results"));
  page.line();
  page.line(page.style("dim", "Loading LangGraph…"));
  // LangChain and LangGraph take seconds to load, so the first lines are printed before.
  const { playDemo } = await Promise.race([import("./demo/play-demo.js"), interrupted]);
  await playDemo(page, interrupted);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const words = findSettingError(message) ?? message;
  process.stderr.write(`\n${error instanceof CheckError ? `✗ check failed: ${words}` : words}\n`);
  // Exit, and do not only set the code: an abandoned scene may still wait for something.
  process.exit(error instanceof InterruptedError ? error.exitCode : 1);
}
