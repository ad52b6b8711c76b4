import { expect, it } from "vitest";
import { runScript } from "../scripts/run-script.js";

const linesOf = async (name: string): Promise<string[]> => {
  const program = runScript(`../examples/${name}`);
  expect([await program.ended, program.errors()]).toEqual([0, ""]);
  return program.output().trim().split("\n");
};

it("the agent with keys of its own keeps a list", { timeout: 60_000 }, async () => {
  expect(await linesOf("own-state.ts")).toEqual(["[ 'bread', 'milk', 'tea' ] ada", "bread, milk, tea"]);
});

it("the supervisor hands the conversation to an agent, and gets it back", { timeout: 60_000 }, async () => {
  expect((await linesOf("hand-off.ts")).slice(1, -1)).toEqual([
    "forecaster: weather returned: Paris: 18 °C",
    "forecaster: Transferring back to supervisor",
    "transfer_back_to_supervisor: Successfully transferred back to supervisor",
  ]);
});
