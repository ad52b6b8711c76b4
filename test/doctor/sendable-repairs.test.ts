/** What a repair writes can be sent by the clients of LangChain as it is: most agents send what they have stored. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { expect, it } from "vitest";
import { diagnoseThread, planRepair } from "../../src/doctor.js";
import { threadOfList } from "../support/internals.js";
import { ai, human, result } from "../support/make-messages.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());

async function send(messages: readonly BaseMessage[]): Promise<string> {
  const configuration = { baseURL: `${strict.url("openai")}/v1` };
  const model = new ChatOpenAI({ model: "gpt-4o", apiKey: "x", maxRetries: 0, configuration });
  return (await model.invoke([...messages])).text;
}

function repaired(list: readonly BaseMessage[]): BaseMessage[] {
  const plan = planRepair(threadOfList(list));
  return plan.kind === "write" ? (plan.after as BaseMessage[]) : [];
}

async function expectSound(list: readonly BaseMessage[]): Promise<void> {
  expect(diagnoseThread(threadOfList(list)).outcome).toBe("sound");
  expect(planRepair(threadOfList(list)).kind).toBe("nothing");
  await expect(send(list)).resolves.toEqual(expect.any(String));
}

let deep: object = { end: true };
for (let level = 0; level < 70; level += 1) deep = { next: deep };
const cut = { id: "c1", name: "store", args: '{"label": "the e', error: "Unterminated" };
const CUT = { invalid_tool_calls: [{ ...cut, type: "invalid_tool_call" as const }] };
const DEEP = { tool_calls: [{ id: "c1", name: "look", args: { value: deep } }] };

it.each<[title: string, fields: object, results: readonly BaseMessage[]]>([
  ["whose arguments were cut off", CUT, []],
  ["with arguments that are nested too deep", DEEP, [result("r", "c1")]],
])("After a repair, a client can send a call %s", async (_, fields, results) => {
  const message = new AIMessage({ id: "a", content: "", ...fields });
  const after = repaired([human("h"), message, ...results, human("i")]);
  expect(after.map(({ type }) => type)).toEqual(["human", "ai", "tool", "human"]);
  expect((after[1] as AIMessage).tool_calls).toEqual([expect.objectContaining({ id: "c1" })]);
  await expectSound(after);
});

it("Results in another order than their calls are sound, as a delta channel stores them so", async () => {
  await expectSound([human("h"), ai("a", "c1", "c2"), result("r2", "c2"), result("r1", "c1"), human("i")]);
});

it("Calls that stand only in additional_kwargs, where the client sends them from, are sound with their results, and closed without", async () => {
  const message = new AIMessage({ id: "a", content: "" });
  const call = { type: "function" as const, function: { name: "look", arguments: '{"at":"sea"}' } };
  // Set after the construction, because LangChain's constructor warns of them.
  message.additional_kwargs = { tool_calls: ["c1", "c2"].map((id) => ({ ...call, id })) };
  const list = [human("h"), message, result("r1", "c1")];
  await expectSound([...list, result("r2", "c2"), human("i")]);

  await expect(send([...list, human("i")])).rejects.toThrow(/did not have response messages: c2/);
  const { findings } = diagnoseThread(threadOfList([...list, human("i")]));
  expect(findings).toMatchObject([{ code: "pairing/dangling-call", callId: "c2" }]);
  const after = repaired([...list, human("i")]);
  const args = { at: "sea" };
  expect((after[1] as AIMessage).tool_calls).toMatchObject([
    { id: "c1", args },
    { id: "c2", args },
  ]);
  await expectSound(after);
});
