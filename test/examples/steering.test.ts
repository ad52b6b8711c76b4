import { expect, it } from "vitest";
import { serve } from "../e2e/served.js";
import { runScript } from "../scripts/run-script.js";

const served = serve();

it("the example of steering sends a message to a run that goes on", async () => {
  const script = runScript("../examples/steering.ts", [], { SERVER: served.url });
  expect(await script.ended, script.errors()).toBe(0);
  const lines = script.output().trim().split("\n");
  expect(lines[0]).toMatch(/^steered: [\w-]{36}$/);
  expect(lines.slice(1)).toEqual([
    "human: What is 6 * 7?",
    "ai: ",
    "tool: 42",
    ...(lines[4] === "ai: 6 * 7 = 42" ? ["ai: 6 * 7 = 42"] : []),
    "human: What is 20 + 22?",
    "ai: ",
    "tool: 42",
    expect.stringContaining("20 + 22 = 42"),
  ]);
});
