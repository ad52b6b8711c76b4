/** What a repair writes can be sent by the clients of LangChain as it is: most agents send what they have stored. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { diagnoseThread, planRepair, threadOfList } from "../../src/doctor.js";
import { stopAtEnd } from "../support/stop-at-end.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";

const strict = stopAtEnd(await startStrictProvider());

const cut = {
  id: "c1",
  name: "store",
  args: '{"label": "the e',
  error: "Unterminated",
  type: "invalid_tool_call",
} as const;
const call = (id: string) => ({ id, name: "look", args: {}, type: "tool_call" as const });
const human = (id: string) => new HumanMessage({ id, content: "Well?" });
const result = (id: string, tool_call_id: string) =>
  new ToolMessage({ id, tool_call_id, content: "seen", name: "look" });

function nested(depth: number): object {
  let value: object = { end: true };
  for (let level = 0; level < depth; level += 1) value = { next: value };
  return value;
}

async function send(messages: readonly BaseMessage[]): Promise<string> {
  const configuration = { baseURL: `${strict.url("openai")}/v1` };
  const model = new ChatOpenAI({ model: "gpt-4o", apiKey: "x", maxRetries: 0, configuration });
  return (await model.invoke([...messages])).text;
}

describe("after a repair, a client can send", () => {
  it.each([
    [
      "a call whose arguments were cut off",
      new AIMessage({ id: "a", content: "", invalid_tool_calls: [cut] }),
      [],
    ],
    [
      "a call with arguments that are nested too deep",
      new AIMessage({ id: "a", content: "", tool_calls: [{ ...call("c1"), args: { value: nested(70) } }] }),
      [result("r", "c1")],
    ],
  ])("%s", async (_, message, results) => {
    const list = [human("h"), message, ...results, human("i")];
    const plan = planRepair(threadOfList(list));
    const after = plan.kind === "write" ? (plan.after as BaseMessage[]) : [];
    expect(after.map(({ type }) => type)).toEqual(["human", "ai", "tool", "human"]);
    expect((after[1] as AIMessage).tool_calls).toEqual([expect.objectContaining({ id: "c1" })]);
    await expect(send(after)).resolves.toEqual(expect.any(String));
    expect(planRepair(threadOfList(after)).kind).toBe("nothing");
  });
});

it("Results in another order than their calls are sound, as a delta channel stores them so", async () => {
  const message = new AIMessage({ id: "a", content: "", tool_calls: [call("c1"), call("c2")] });
  const list = [human("h"), message, result("r2", "c2"), result("r1", "c1"), human("i")];
  const thread = threadOfList(list);
  expect(diagnoseThread(thread).outcome).toBe("sound");
  expect(planRepair(thread).kind).toBe("nothing");
  await expect(send(list)).resolves.toEqual(expect.any(String));
});

describe("Calls that stand only in additional_kwargs, where the client sends them from", () => {
  const raw = (id: string) => ({
    id,
    type: "function" as const,
    function: { name: "look", arguments: '{"at":"sea"}' },
  });
  const responseWith = (...ids: string[]): AIMessage => {
    const message = new AIMessage({ id: "a", content: "" });
    // Set after the construction, because LangChain's constructor warns of them.
    message.additional_kwargs = { tool_calls: ids.map(raw) };
    return message;
  };

  it("are sound with their results: nothing is taken out", async () => {
    const list = [human("h"), responseWith("c1", "c2"), result("r1", "c1"), result("r2", "c2"), human("i")];
    await expect(send(list)).resolves.toEqual(expect.any(String));
    expect(diagnoseThread(threadOfList(list)).outcome).toBe("sound");
    expect(planRepair(threadOfList(list)).kind).toBe("nothing");
  });

  it("are dangling without results: they are closed", async () => {
    const list = [human("h"), responseWith("c1", "c2"), result("r1", "c1"), human("i")];
    await expect(send(list)).rejects.toThrow(/did not have response messages: c2/);
    const { findings } = diagnoseThread(threadOfList(list));
    expect(findings.map(({ code, callId }) => `${code} ${callId}`)).toEqual(["pairing/dangling-call c2"]);
    const plan = planRepair(threadOfList(list));
    const after = plan.kind === "write" ? (plan.after as BaseMessage[]) : [];
    expect((after[1] as AIMessage).tool_calls?.map(({ id, args }) => [id, args])).toEqual([
      ["c1", { at: "sea" }],
      ["c2", { at: "sea" }],
    ]);
    await expect(send(after)).resolves.toEqual(expect.any(String));
  });
});
