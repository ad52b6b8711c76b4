/** Each broken history of a public report, in a thread of an agent: found, repaired, sent again, and restored. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { createGraphStore, diagnoseThread, type FindingCode, planRepair } from "../../src/doctor.js";
import type { DialectName } from "../../src/index.js";
import { BROKEN_HISTORIES } from "../support/broken-histories.js";
import { refusalsOf } from "../support/deployment/strict-worker.js";
import { ai, human, result } from "../support/make-messages.js";
import { rowsOf, titled } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";
import { repair, undone } from "./repair.js";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  todos: Annotation<string[]>({ reducer: (_, next) => next, default: () => [] }),
});

/** A thread of an agent over LangGraph's own reducer. Its model refuses a broken history. */
async function openThread(messages: readonly BaseMessage[]) {
  const graph = new StateGraph(State)
    .addNode("model", ({ messages }) => {
      const [refusal] = refusalsOf(messages);
      if (refusal !== undefined) throw new Error(refusal);
      return { messages: [new AIMessage("Better now.")] };
    })
    .addNode("tools", () => ({}))
    .addEdge("__start__", "model")
    .addConditionalEdges("model", ({ messages }) => {
      const last = messages.at(-1);
      return AIMessage.isInstance(last) && last.tool_calls?.length ? "tools" : "__end__";
    })
    .compile({ checkpointer: new MemorySaver() });
  const config = inThread("1");
  await graph.updateState(config, { messages: [...messages], todos: ["kept"] }, "model");
  const read = async () => (await graph.getState(config)).values as typeof State.State;
  return { graph, config, place: { graph, config }, read };
}

function draw(given: readonly BaseMessage[], messages: readonly BaseMessage[]): string[] {
  const known = new Set(given.map(({ id }) => id));
  return messages.map((message) =>
    known.has(message.id)
      ? `${message.id}`
      : `${Reflect.get(message, "tool_call_id")}: ${message.additional_kwargs["tether_placeholder"]}`,
  );
}

/** No provider minds these: results stand in another order, and a model that uses an id twice has both results. */
const SOUND = "A handoff is before the result of its sibling";
/** Nothing has to be stored for them: the request is changed. */
const UNWRITTEN: ReadonlySet<string> = new Set([SOUND, "Two calls of one message have the same id"]);

it.each(titled(BROKEN_HISTORIES))("%s", async (title, { messages, repaired }) => {
  const { graph, config, place, read } = await openThread(messages);
  const before = JSON.stringify(await read());
  const report = await diagnoseThread(place);
  expect(report.outcome).toBe(title === SOUND ? "sound" : "findings");
  expect(await diagnoseThread(place)).toEqual(report);
  const plan = await planRepair(place);
  expect(plan.kind).toBe(UNWRITTEN.has(title) ? "nothing" : "write");
  if (plan.kind !== "write") return;
  const takenOut = messages.flatMap(({ id = "" }) => (repaired.includes(id) ? [] : id));
  expect(plan.unplaced.map(({ messageId }) => messageId).sort()).toEqual(takenOut.sort());

  const entries = await repair(place);
  expect(JSON.stringify(await read())).not.toBe(before);
  expect(await undone(createGraphStore({ graph }), entries)).toEqual(["restored"]);
  expect(JSON.stringify(await read())).toBe(before);
  expect(await diagnoseThread(place)).toEqual({ ...report, checkpointId: expect.any(String) });

  await repair(place);
  const after = await read();
  // The graph knows that its run was stopped before the tools of the last message.
  const last = repaired.at(-1)?.replace("unrecorded", "interrupted") ?? "";
  expect(draw(messages, after.messages)).toEqual([...repaired.slice(0, -1), last]);
  expect(refusalsOf(after.messages)).toEqual([]);
  // What was not changed has the same bytes. Calls that clients do not send are made usable.
  const stored = new Set(JSON.parse(before).messages.map((message: unknown) => JSON.stringify(message)));
  const given = new Set(messages.map(({ id }) => id));
  const isChanged = (message: BaseMessage) => given.has(message.id) && !stored.has(JSON.stringify(message));
  const isUnsent = (message: BaseMessage) =>
    AIMessage.isInstance(message) && message.invalid_tool_calls?.length;
  const idsOf = (list: readonly BaseMessage[]) => list.map(({ id }) => id);
  expect(idsOf(after.messages.filter(isChanged))).toEqual(idsOf(messages.filter(isUnsent)));
  const { messages: answered, todos } = (await graph.invoke(user("Go on."), config)) as typeof after;
  expect([answered.at(-1)?.content, todos]).toEqual(["Better now.", ["kept"]]);
});

const look = (id: string, name = "look") => ({ id, name, args: {}, type: "tool_call" as const });
const round = (id: string, callId: string, fields: object = {}) => [
  human(`h${id}`),
  new AIMessage({ id, content: "", tool_calls: [look(callId)], ...fields } as never),
  result(`t${id}`, callId),
];
const item = { response_metadata: { output: [{ type: "reasoning", id: "rs_1", summary: [] }] } };
const thought = { additional_kwargs: { reasoning_content: "Hm." } };
const use = { type: "tool_use", id: "x", name: "look", input: {} };
const text = (words: string) => ({ type: "text", text: words });
const noCalls = new AIMessage({ id: "a", content: "Hi.", additional_kwargs: { tool_calls: [] } });

/** Faults for one provider. The request repairs them, so nothing is stored. */
const REFUSED: Readonly<Record<string, [DialectName, FindingCode, readonly BaseMessage[]]>> = {
  "ids of Kimi for Claude": ["anthropic", "content/call-id", round("a", "functions.read:0")],
  "an id of 83 characters for OpenAI": ["openai", "content/call-id", round("a", "c".repeat(83))],
  "an id that was used again, for DeepSeek": [
    "deepseek",
    "pairing/reused-id",
    [...round("a", "x"), ...round("b", "x")],
  ],
  "reasoning that DeepSeek demands back": [
    "deepseek",
    "content/missing-reasoning",
    [...round("a", "x", thought), ...round("b", "y")],
  ],
  "a stored item that is in two messages": [
    "openai-responses",
    "content/item-id",
    [...round("a", "x", item), ...round("b", "y", item)],
  ],
  "a text after a call": [
    "anthropic",
    "order/text-after-call",
    round("a", "x", { content: [use, text("I look.")] }),
  ],
  "an empty text beside a call": [
    "anthropic",
    "content/blank-text",
    round("a", "x", { content: [text(""), use] }),
  ],
  "an empty list of calls": ["openai", "content/empty-calls", [human("h"), noCalls]],
  "a first message that is not the user's": ["gemini", "order/first-user", [ai("a"), human("h")]],
  "the name of a tool that a model made up": [
    "openai",
    "content/tool-name",
    round("a", "x", { tool_calls: [look("x", "my.tool name")] }),
  ],
};

it.each(rowsOf(REFUSED))("%s", async (_title, dialect, code, messages) => {
  const { place } = await openThread([...messages, ai("end")]);
  const { findings } = await diagnoseThread(place, { dialect });
  expect(findings.find((finding) => finding.code === code)).toMatchObject({
    // What the graph's nodes do about calls is not known.
    severity: code.startsWith("pairing/") ? "warning" : "error",
    dialect,
    providerSays: expect.any(String),
    fixes: [{ kind: "at-request" }],
  });
  expect((await planRepair(place)).kind).toBe("nothing");
  expect((await diagnoseThread(place)).outcome).toBe("sound");
});
