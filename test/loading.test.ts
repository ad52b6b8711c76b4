/** What most users never need is loaded when it is asked for. */

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

/** The modules that a process loads for some code. */
async function modulesLoadedBy(code: string): Promise<string[]> {
  const script = `
    import { register } from "node:module";
    register("data:text/javascript,${encodeURIComponent(HOOK)}");
    ${code}`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { cwd: ROOT },
  );
  return stdout.split("\n").flatMap((line) => (line.startsWith(MARK) ? line.slice(MARK.length) : []));
}

/** The files of `src` among them, from `src/`. */
async function filesLoadedBy(code: string): Promise<string[]> {
  const source = new URL("../src/", import.meta.url).href;
  return (await modulesLoadedBy(code)).flatMap((url) =>
    url.startsWith(source) ? url.slice(source.length) : [],
  );
}

it("A process that imports the library loads the offline model when it is asked for, and nothing of it before.", async () => {
  const loaded = await filesLoadedBy(`
    const { createModel } = await import("./src/index.js");
    console.log("${MARK}" + new URL("./src/ALL", import.meta.url));
    await createModel("offline:");`);
  const [before, after] = [loaded.slice(0, loaded.indexOf("ALL")), loaded.slice(loaded.indexOf("ALL"))];
  expect(before).toContain("agent/graph/create-agent-graph.ts");
  expect(before.filter((path) => path.startsWith("providers/offline/"))).toEqual([]);
  expect(after).toContain("providers/offline/offline-chat-model.ts");
});

it.each(["doctor", "inspector"])("The entry %s loads no command line.", async (entry) => {
  const loaded = await modulesLoadedBy(`await import("./src/${entry}.js");`);
  expect(loaded.filter((url) => url.includes("/src/doctor/thread-store."))).toHaveLength(1);
  expect(loaded.filter((url) => url.includes("/node_modules/commander/"))).toEqual([]);
});
