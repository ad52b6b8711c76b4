/** Each broken history of a public report, in a thread of an agent: found, repaired, sent again, and restored. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  type FindingCode,
  planRepair,
  type ReceiptEntry,
  undo,
} from "../../src/doctor.js";
import type { DialectName } from "../../src/providers/dialects.js";
import { BROKEN_HISTORIES } from "../support/broken-histories.js";
import { refusalsOf } from "../support/deployment/strict-worker.js";
import { human, result } from "../support/make-messages.js";
import { inThread, user } from "../support/thread.js";
import { titled } from "../support/titled.js";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  todos: Annotation<string[]>({ reducer: (_, next) => next, default: () => [] }),
});

/** An agent over LangGraph's own reducer. Its model refuses a broken history. */
const createAgent = (checkpointer: MemorySaver) =>
  new StateGraph(State)
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
    .compile({ checkpointer });

function draw(given: readonly BaseMessage[], messages: readonly BaseMessage[]): string[] {
  const known = new Set(given.map(({ id }) => id));
  return messages.map((message) =>
    known.has(message.id)
      ? `${message.id}`
      : `${Reflect.get(message, "tool_call_id")}: ${message.additional_kwargs["tether_placeholder"]}`,
  );
}

/** No provider minds these: results stand in another order, and a model that uses an id twice has both results. */
const SOUND: ReadonlySet<string> = new Set([
  "A handoff is before the result of its sibling",
  "Two calls of one message have the same id",
]);

async function openThread(messages: readonly BaseMessage[]) {
  const graph = createAgent(new MemorySaver());
  const config = inThread("1");
  await graph.updateState(config, { messages: [...messages], todos: ["kept"] }, "model");
  const read = async () => (await graph.getState(config)).values as typeof State.State;
  return { graph, config, place: { graph, config }, read };
}

it.each(titled(BROKEN_HISTORIES))("%s", async (title, { messages, repaired }) => {
  const { graph, config, place, read } = await openThread(messages);
  const before = JSON.stringify(await read());
  const report = await diagnoseThread(place);
  expect(report.outcome).toBe(SOUND.has(title) ? "sound" : "findings");
  expect(await diagnoseThread(place)).toEqual(report);
  const plan = await planRepair(place);
  expect(plan.kind).toBe(SOUND.has(title) ? "nothing" : "write");
  if (plan.kind !== "write") return;
  const takenOut = messages.flatMap(({ id = "" }) => (repaired.includes(id) ? [] : id));
  expect(plan.unplaced.map(({ messageId }) => messageId).sort()).toEqual(takenOut.sort());

  const entries: ReceiptEntry[] = [];
  const receipt = { append: async (entry: ReceiptEntry) => void entries.push(entry) };
  expect(await applyRepair(place, plan, { receipt })).toMatchObject({ kind: "repaired" });
  expect(JSON.stringify(await read())).not.toBe(before);
  const kinds = [];
  for await (const { kind } of undo(createGraphStore({ graph }), entries)) kinds.push(kind);
  expect([kinds, JSON.stringify(await read())]).toEqual([["restored"], before]);
  expect(await diagnoseThread(place)).toEqual({ ...report, checkpointId: expect.any(String) });

  await applyRepair(place, await planRepair(place), { receipt });
  const after = await read();
  // The graph knows that its run was stopped before the tools of the last message.
  const last = repaired.at(-1)?.replace("unrecorded", "interrupted") ?? "";
  expect(draw(messages, after.messages)).toEqual([...repaired.slice(0, -1), last]);
  expect(refusalsOf(after.messages)).toEqual([]);
  // What was not changed has the same bytes. Calls that clients do not send are made usable.
  const stored = new Set(JSON.parse(before).messages.map((message: unknown) => JSON.stringify(message)));
  const changed = after.messages.filter((message) => !stored.has(JSON.stringify(message)));
  const idsIn = (list: readonly BaseMessage[]) => list.flatMap(({ id = "" }) => id);
  const isUnsent = (message: BaseMessage) =>
    AIMessage.isInstance(message) && message.invalid_tool_calls?.length;
  expect(idsIn(changed).filter((id) => idsIn(messages).includes(id))).toEqual(
    idsIn(messages.filter(isUnsent)),
  );
  const { messages: answered, todos } = (await graph.invoke(user("Go on."), config)) as typeof after;
  expect([answered.at(-1)?.content, todos]).toEqual(["Better now.", ["kept"]]);
});

const look = (id: string, name = "look") => ({ id, name, args: {}, type: "tool_call" as const });
const round = (id: string, callId: string, fields: object = {}) => [
  human(`h${id}`),
  new AIMessage({ id, content: "", tool_calls: [look(callId)], ...fields } as never),
  result(`t${id}`, callId),
];
const item = { output: [{ type: "reasoning", id: "rs_1", summary: [] }] };

/** Faults for one provider. The request mends them, so nothing is stored. */
const REFUSED: readonly {
  readonly title: string;
  readonly dialect: DialectName;
  readonly code: FindingCode;
  readonly messages: readonly BaseMessage[];
}[] = [
  {
    title: "ids of Kimi for Claude",
    dialect: "anthropic",
    code: "content/call-id",
    messages: round("a", "functions.read:0"),
  },
  {
    title: "an id of 83 characters for OpenAI",
    dialect: "openai",
    code: "content/call-id",
    messages: round("a", "c".repeat(83)),
  },
  {
    title: "an id that was used again, for Claude",
    dialect: "anthropic",
    code: "pairing/reused-id",
    messages: [...round("a", "x"), ...round("b", "x")],
  },
  {
    title: "reasoning that DeepSeek demands back",
    dialect: "deepseek",
    code: "content/missing-reasoning",
    messages: [...round("a", "x", { additional_kwargs: { reasoning_content: "Hm." } }), ...round("b", "y")],
  },
  {
    title: "a stored item that is in two messages",
    dialect: "openai-responses",
    code: "content/item-id",
    messages: [
      ...round("a", "x", { response_metadata: item }),
      ...round("b", "y", { response_metadata: item }),
    ],
  },
  {
    title: "a text after a call",
    dialect: "anthropic",
    code: "order/text-after-call",
    messages: round("a", "x", {
      content: [
        { type: "tool_use", id: "x", name: "look", input: {} },
        { type: "text", text: "I look." },
      ],
    }),
  },
  {
    title: "an empty text beside a call",
    dialect: "anthropic",
    code: "content/blank-text",
    messages: round("a", "x", {
      content: [
        { type: "text", text: "" },
        { type: "tool_use", id: "x", name: "look", input: {} },
      ],
    }),
  },
  {
    title: "an empty list of calls",
    dialect: "openai",
    code: "content/empty-calls",
    messages: [human("h"), new AIMessage({ id: "a", content: "Hi.", additional_kwargs: { tool_calls: [] } })],
  },
  {
    title: "a first message that is not the user's",
    dialect: "anthropic",
    code: "order/first-user",
    messages: [new AIMessage({ id: "a", content: "Hi." }), human("h")],
  },
  {
    title: "the name of a tool that a model made up",
    dialect: "openai",
    code: "content/tool-name",
    messages: round("a", "x", { tool_calls: [look("x", "my.tool name")] }),
  },
];

it.each(titled(REFUSED))("%s", async (_title, { dialect, code, messages }) => {
  const { place } = await openThread([...messages, new AIMessage({ id: "end", content: "Done." })]);
  const { findings } = await diagnoseThread(place, { dialect });
  const loud = findings.filter(({ severity }) => severity !== "info");
  expect([...new Set(loud.map((finding) => finding.code))]).toContain(code);
  expect(loud.find((finding) => finding.code === code)).toMatchObject({
    severity: "error",
    dialect,
    providerSays: expect.any(String),
    fixes: [{ kind: "at-request" }],
  });
  expect((await planRepair(place)).kind).toBe("nothing");
});
