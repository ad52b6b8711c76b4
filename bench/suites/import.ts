/** The first import in a new process: the package as it is built, beside the packages that it and others need. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { measureRounds, type Suite } from "../suite.js";

const BASE = "@langchain/langgraph";
const SPECIFIERS = [BASE, "langgraph-tether", "langgraph-tether/history", "langchain"];

const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const runFile = promisify(execFile);

/** In milliseconds, without the start of Node itself. */
async function timeImport(specifier: string): Promise<number> {
  const script = `
    const start = performance.now();
    await import("${specifier}");
    console.log(performance.now() - start);`;
  // The package finds itself by its name, in `dist`, only from its own folder.
  const cwd = specifier.startsWith("langgraph-tether") ? REPOSITORY : FOLDER;
  const { stdout } = await runFile(process.execPath, ["--input-type=module", "--eval", script], { cwd });
  return Number(stdout);
}

export const imports: Suite = {
  name: "import",
  measure: (conditions) => {
    const contenders = Object.fromEntries(
      SPECIFIERS.map((specifier) => [specifier, () => timeImport(specifier)]),
    );
    const title = "The first import in a new process";
    return measureRounds([{ id: "import", title, unit: "ms", base: BASE, contenders }], {
      ...conditions,
      rounds: 11,
    });
  },
};
