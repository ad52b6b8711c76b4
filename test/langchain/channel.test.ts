import { HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesValue, StateSchema } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph, PairedMessagesDeltaValue, PairedMessagesValue } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { scripted } from "../support/scripted-model.js";
import { expectWarnings } from "../support/test-tools.js";
import { inThread, script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

expectWarnings(/^`summary` has no effect/);

const { fast } = createProbe();
/** Declares messages with LangGraph's own reducer. */
const stateSchema = new StateSchema({ messages: MessagesValue });
const declaring = createMiddleware({ name: "First", stateSchema });

describe("the messages of an agent with the middleware", () => {
  it("stay paired, whatever is written to them", async () => {
    const model = scripted(calls(["fast"], ["fast"]), "Done.", "Still here.");
    const thread = openAgent({ model, tools: [fast] });
    const [, , first] = await thread.send("Go.");
    await thread.update([new RemoveMessage({ id: first?.id ?? "" })]);
    await thread.update([new ToolMessage({ content: "late", tool_call_id: Object(first).tool_call_id })]);
    await thread.update([new RemoveMessage({ id: "no-such-id" })]);
    expect(script(await thread.send("And now?"))).toEqual(
      lines(
        "human: Go. | ai> fast fast | tool: late | tool: fast done - | ai: Done. | human: And now?",
        "ai: Still here.",
      ),
    );
  });

  it.each([
    ["the agent's stateSchema", { stateSchema }],
    ["a middleware before it", { middleware: [declaring, tetherMiddleware()] }],
  ])("must not have another reducer from %s", async (_title, options) => {
    const { error } = await openAgent({ model: scripted(), ...options }).run(user("Hi."));
    expect(String(error)).toContain("Expected `messages` to have the reducer of `tetherMiddleware`");
  });

  it("have the reducer of `stateSchema: tetherState()`, whatever a middleware before it declares", async () => {
    const middleware = [declaring, tetherMiddleware()];
    const thread = openAgent({ model: scripted("Yes."), stateSchema: tetherState(), middleware });
    expect(script(await thread.send("Hi."))).toEqual(["human: Hi.", "ai: Yes."]);
  });

  it.each([
    ["PairedMessagesValue", PairedMessagesValue],
    ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
  ])("can be declared by the agent as %s", async (_name, field) => {
    const stateSchema = new StateSchema({ messages: field as typeof PairedMessagesValue });
    const model = scripted(calls(["fast"]), "Done.", "Again.");
    const thread = openAgent({ model, tools: [fast], stateSchema });
    await thread.send("Go.");
    expect(script(await thread.send("Again?")).at(-1)).toBe("ai: Again.");
  });

  it.each([
    ["no messages", {}],
    ["null", null],
  ])("are checked in a run that has read them from a checkpoint only: its input is %s", async (_t, input) => {
    const thread = openAgent({ model: scripted("First.", "Second.") });
    await thread.send("Hi.");
    await thread.update([new HumanMessage("More.")], "__start__");
    await thread.agent.graph.invoke(input as never, thread.config);
    expect(script(await thread.read())).toEqual(["human: Hi.", "ai: First.", "human: More.", "ai: Second."]);
  });

  it("need no checkpointer", async () => {
    const agent = createAgent({ model: scripted("Yes."), middleware: [tetherMiddleware()] });
    const messages = [calls(["weather", {}, "c1"]), new HumanMessage("Are you there?")];
    expect(script((await agent.invoke({ messages })).messages)).toEqual(
      lines(
        "ai> weather",
        "tool! Tool call weather (c1): a new message came before it finished. It may or may not have taken effect.",
        "human: Are you there? | ai: Yes.",
      ),
    );
  });

  it("are refused if they are not messages", async () => {
    const { error } = await openAgent({ model: scripted() }).run({ messages: [{ no: "message" }] });
    expect(String(error)).toContain("messages[0]");
  });
});

it("a thread goes on in `createAgentGraph`", async () => {
  const checkpointer = new MemorySaver();
  const middleware = [tetherMiddleware({ summary: {} })];
  const model = scripted(calls(["fast"]), "Done.");
  await openAgent({ model, tools: [fast], checkpointer, middleware }).send("Go.");
  const graph = createAgentGraph({ model: scripted("Still here."), tools: [fast], checkpointer });
  const { messages } = await graph.invoke(user("And now?") as never, inThread("1"));
  expect(script(messages)).toEqual(
    lines("human: Go. | ai> fast | tool: fast done - | ai: Done. | human: And now? | ai: Still here."),
  );
});

describe("the options", () => {
  it.each([
    [null, "`options`"],
    [[], "`options`"],
    ["openai", "`options`"],
    [{ dialekt: "openai" }, "Unknown setting `dialekt`. Did you mean `dialect`?"],
    [{ dialect: "klingon" }, "`dialect`"],
    [{ dialect: "opnai" }, "Did you mean `openai`?"],
    [{ summary: 7 }, "`summary`"],
    [{ maxTokens: -1 }, "`maxTokens`"],
    [{ maxToolCallsFromHistory: 1.5 }, "`maxToolCallsFromHistory`"],
    [{ maxStreamFallbackAttempts: "3" }, "`maxStreamFallbackAttempts`"],
    [{ keepToolErrors: "yes" }, "`keepToolErrors`"],
    [{ onRepair: true }, "`onRepair`"],
  ])("%j are refused by name", (options, name) => {
    expect(() => tetherMiddleware(options as never)).toThrow(name);
  });
});
