/** What would go by in silence: options, settings and commands that do nothing where they stand. */

import { type DynamicStructuredTool, tool } from "@langchain/core/tools";
import { Command, END, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod/v4";
import {
  type AgentGraphOptions,
  agentMiddleware,
  chatMiddleware,
  createAgentGraph,
  createModel,
  functionMiddleware,
  repairHistory,
} from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { told } from "../../../src/threads/warn-once.js";
import { script } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

afterEach(() => vi.restoreAllMocks());

const say = { messages: "Hello" };
const thread = { configurable: { thread_id: "1" } };
const offline = (options: Partial<AgentGraphOptions> = {}) =>
  createAgentGraph({ model: "offline:", ...options });

/** The warnings of a piece of a program, as if nothing had warned before: each text is given once in a process. */
async function warningsOf(run: () => unknown): Promise<unknown[]> {
  told.clear();
  const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  await run();
  return emit.mock.calls.map(([text]) => text);
}

describe("An agent is not built", () => {
  const invoke = async () => "x";
  it.each<[string, Partial<AgentGraphOptions>, RegExp]>([
    [
      "a tool without a schema",
      { tools: [{ name: "bare", invoke } as never] },
      /`tools\[0\]`, the tool `bare`, to have a `schema`/,
    ],
    [
      "a definition without one",
      { additionalTools: [{ name: "bare", description: "x" } as never] },
      /`additionalTools\[0\]`, the tool `bare`, to have a `schema`/,
    ],
    [
      "an archive without checkpoints",
      { coveredMessages: "archive", checkpointer: false },
      /`keep` with `checkpointer: false`/,
    ],
    [
      "approvals without checkpoints",
      { requireApproval: () => true, checkpointer: false },
      /Expected `checkpointer` to be a checkpointer/,
    ],
  ])("with %s.", (_title, options, text) => {
    expect(() => offline(options)).toThrow(text);
  });

  it.each<[string, object]>([
    ["OpenAI", { type: "function", function: { name: "there", parameters: {} } }],
    ["Anthropic", { name: "there", input_schema: { type: "object" } }],
    ["Gemini", { name: "there", parameters: { type: "object" } }],
  ])("The definition of a tool in the form of %s is taken.", (_title, definition) => {
    expect(() => offline({ additionalTools: [definition as never] })).not.toThrow();
  });
});

describe("An agent of LangChain is not built with", () => {
  const pass = async (_context: unknown, next: () => Promise<void>) => next();
  it.each<[string, unknown, RegExp]>([
    ["agentMiddleware", agentMiddleware(pass), /made by agentMiddleware, for createAgentGraph/],
    ["chatMiddleware", chatMiddleware(pass), /made by chatMiddleware, for createAgentGraph/],
    ["functionMiddleware", functionMiddleware(pass), /made by functionMiddleware, for createAgentGraph/],
    ["tetherMiddleware itself", tetherMiddleware, /what `tetherMiddleware\(\)` returns/],
  ])("%s.", async (_title, middleware, text) => {
    const model = await createModel("offline:");
    expect(() => createAgent({ model, middleware: [middleware as never] })).toThrow(text);
  });
});

it.each<[string, () => unknown, readonly RegExp[]]>([
  [
    "a setting in `configurable`",
    () => offline().invoke(say, { configurable: { maxIterations: 3 } }),
    [/^`maxIterations` in `configurable` of a run is not read/],
  ],
  [
    "a setting in the options",
    () => offline().invoke(say, { maxToolCalls: 3 } as never),
    [/^`maxToolCalls` in the options of a run is not read/],
  ],
  [
    "one that is in the `context` too",
    () => offline().invoke(say, { configurable: { systemPrompt: "x" }, context: { systemPrompt: "x" } }),
    [],
  ],
  [
    "an option of summaries without a limit",
    () => offline({ messagesToKeep: 2 }).invoke(say),
    [/^`messagesToKeep` has no effect while/],
  ],
  ["one with a limit", () => offline({ tokensToKeep: 2, maxMessagesBeforeSummary: 9 }).invoke(say), []],
  [
    "one that a limit of 0 switches off",
    () => offline({ tokensToKeep: 2, maxTokensBeforeSummary: 0 }).invoke(say),
    [],
  ],
  [
    "an archive without a checkpointer",
    () => offline({ coveredMessages: "archive", maxMessagesBeforeSummary: 9 }).invoke(say),
    [/^`coveredMessages: "archive"` has no effect/],
  ],
  [
    "summaries of an agent of LangChain without a limit",
    async () =>
      createAgent({
        model: await createModel("offline:"),
        middleware: [tetherMiddleware({ summary: {} })],
      }).invoke(say as never),
    [/^`summary` has no effect while/],
  ],
])("A run warns of %s.", async (_title, run, texts) => {
  expect(await warningsOf(run)).toEqual(texts.map((text) => expect.stringMatching(text)));
});

it("An agent without checkpoints is built if no tool needs an approval.", () => {
  const pay = makeTool("pay", async () => "paid");
  expect(() => offline({ tools: [pay], requireApproval: { pay: false }, checkpointer: false })).not.toThrow();
});

it("A decision on an empty thread, or on one that does not wait, is refused.", async () => {
  const graph = offline({ checkpointer: new MemorySaver(), requireApproval: () => true });
  const decide = () =>
    graph.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }) as never, thread);
  await expect(decide()).rejects.toThrow("Nothing to resume: the thread `1` has no interrupted run");
  await graph.invoke(say, thread);
  await expect(decide()).rejects.toThrow("the thread `1` has none that waits");
});

describe("A tool that goes to", () => {
  const going = (goto: string): DynamicStructuredTool =>
    tool(async () => new Command({ goto }), { name: "go", description: "Goes.", schema: z.object({}) });
  const linesOf = async (goto: string, content = "call go") => {
    const look = makeTool("look", async () => "seen");
    return script(
      (await offline({ tools: [going(goto), look] }).invoke({ messages: content })).messages,
    ).slice(1);
  };

  it("the end of the graph ends the run, with the results of its batch", async () => {
    expect(await linesOf(END, "call go and call look")).toEqual([
      "ai> go look",
      "tool: (no output)",
      "tool: seen",
    ]);
  });

  it("the model goes on", async () => {
    expect(await linesOf("model")).toEqual(["ai> go", "tool: (no output)", "ai: go returned: (no output)"]);
  });

  it.each(["nowhere", "patch", "summarize"])("%s gets an error that says where it can go", async (goto) => {
    expect((await linesOf(goto))[1]).toMatch(
      new RegExp(`^tool! Error: \`goto\` was not followed to \`${goto}\`.*Command.PARENT`),
    );
  });
});

it("A state in the place of its messages is refused, and not read as a list with one bad message.", () => {
  expect(() => repairHistory({ messages: [] } as never)).toThrow("Did you mean its `messages`?");
});

it("A model by name takes no options of its client, and an index does not count as options.", async () => {
  const options = { temperature: 0 } as never;
  await expect(createModel("offline:", options)).rejects.toThrow("Unknown setting `temperature`");
  await expect(Promise.all(["offline:"].map(createModel as never))).resolves.toHaveLength(1);
  await expect(createModel("offline:", { environment: process.env })).resolves.toBeDefined();
});
