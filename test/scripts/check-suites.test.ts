/** The command that runs other projects' tests: what it counts, and when it ends with 1. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runScript } from "./run-script.js";

/** A checkout of LangGraph with one test, which only LangGraph's own reducer passes. */
async function checkoutWith(title: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tether-checkout-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = {
    "src/tests/setup.node.ts": "",
    "src/tests/matchers/setup.ts": "",
    "src/graph/messages_reducer.ts": `export { messagesStateReducer } from "@langchain/langgraph";`,
    "src/tests/reducer.test.ts": `
      import { expect, it } from "vitest";
      import { messagesStateReducer } from "../graph/messages_reducer.js";
      it("adds a message", () => expect(messagesStateReducer([], ["Hello."] as never)).toHaveLength(1));
      it("fails in any way", () => expect(1).toBe(2));
      it(${JSON.stringify(title)}, () => {
        const result = { role: "tool", content: "18 °C", tool_call_id: "c1" };
        expect(messagesStateReducer([], [result] as never)).toHaveLength(1);
      });
    `,
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, "libs/langgraph-core", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return folder;
}

it.each([
  ["without a reason", "keeps a result without a call", 1, "WITHOUT A REASON\n  src/tests/reducer.test.ts: "],
  [
    "with a reason",
    "should not assign message ID for tool messages",
    0,
    "A result without a call is not stored, because every provider refuses it.\n  src/tests/reducer.test.ts: ",
  ],
])("A test that fails only with our code is told: %s", async (_title, title, code, told) => {
  const script = runScript("check-suites.ts", [await checkoutWith(title)]);
  expect([await script.ended, script.errors()]).toEqual([code, ""]);
  expect(script.output()).toContain("LangGraph's graphs: 1 of 3 tests fail as they are.");
  expect(script.output()).toContain("| our reducers | 1 of 3 | 2 of 3 |");
  expect(script.output()).toContain(`${told}${title} (our reducers)`);
  expect(script.output()).not.toContain("fails in any way");
});

it("A folder that is no checkout is refused.", async () => {
  const script = runScript("check-suites.ts", [tmpdir()]);
  expect(await script.ended).toBe(1);
  expect(script.errors()).toContain("Expected a checkout with one of libs/langchain, libs/deepagents");
});
