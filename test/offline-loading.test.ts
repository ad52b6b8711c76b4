/** The offline model is a part of the package that most users never need, so it is loaded when it is asked for. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MARK = "loaded ";
/** A hook of Node's module loader that prints each module that is loaded. */
const HOOK = `
  import { writeSync } from "node:fs";
  export async function load(url, context, next) {
    writeSync(1, "${MARK}" + url + "\\n");
    return next(url, context);
  }`;

/** The files of `src` that a process loads for some code, from `src/`. */
async function filesLoadedBy(code: string): Promise<string[]> {
  const script = `
    import { register } from "node:module";
    register("data:text/javascript,${encodeURIComponent(HOOK)}");
    ${code}`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { cwd: ROOT },
  );
  const source = `${MARK}${new URL("../src/", import.meta.url)}`;
  return stdout.split("\n").flatMap((line) => (line.startsWith(source) ? line.slice(source.length) : []));
}

it("A process that imports the library loads the offline model when it is asked for, and nothing of it before.", async () => {
  const loaded = await filesLoadedBy(`
    const { createModel } = await import("./src/index.js");
    console.log("${MARK}" + new URL("./src/ALL", import.meta.url));
    await createModel("offline:");`);
  const [before, after] = [loaded.slice(0, loaded.indexOf("ALL")), loaded.slice(loaded.indexOf("ALL"))];
  expect(before).toContain("agent/graph/create-agent-graph.ts");
  expect(before.filter((path) => path.startsWith("offline/"))).toEqual([]);
  expect(after).toContain("offline/offline-chat-model.ts");
});
