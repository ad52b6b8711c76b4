/** A run with a delta channel and the durability `exit` is killed after LangGraph has saved all but its checkpoint. */

import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { z } from "zod";
import { applyRepair, diagnoseThread, planRepair, type ReceiptEntry, readThread } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { approve, asInput } from "../support/approval-graph.js";
import { FunctionModel } from "../support/function-model.js";
import { mortalSaver } from "../support/mortal-saver.js";
import { calls } from "../support/scripted-model.js";
import { inThread, pairedScript, user } from "../support/thread.js";

const config = inThread("1");
const options = { ...config, durability: "exit" as const };

const look = tool(async () => "it is there", { name: "look", description: "look", schema: z.object({}) });
const agent = (checkpointer: MemorySaver) =>
  createAgentGraph({
    model: new FunctionModel(({ text }) => (text === "go" ? calls(["look", {}, "a"]) : "fine")),
    tools: [look],
    requireApproval: ["look"],
    checkpointer,
    messagesChannel: "delta",
  });

it("the doctor finds the result of an approved call, and does not close the call", async () => {
  const saver = new MemorySaver();
  const graph = agent(saver);
  await graph.invoke(user("go"), options);
  const { mortal, die } = mortalSaver(saver, ["put"]);
  die();
  const killed = agent(mortal as MemorySaver).invoke(asInput({ resume: { decisions: [approve] } }), options);
  await expect(killed).rejects.toThrow("died");

  const place = { graph, config };
  const thread = await readThread(place);
  const codes = diagnoseThread(thread).findings.map(({ code }) => code);
  expect(codes).toEqual(["pairing/dangling-call", "state/pending-result"]);
  const entries: ReceiptEntry[] = [];
  const receipt = { entries, append: async (entry: ReceiptEntry) => void entries.push(entry) };
  const outcome = await applyRepair(place, planRepair(thread), { receipt });
  expect(outcome).toMatchObject({ kind: "repaired" });
  const lines = ["human: go", "ai> look", "tool: it is there"];
  expect(pairedScript((await graph.getState(config)).values)).toEqual(lines);
  const after = pairedScript(await graph.invoke(user("and now?"), options));
  expect(after.slice(0, 3)).toEqual(lines);
});
