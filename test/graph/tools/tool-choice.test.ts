import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type AgentGraphOptions, chatMiddleware, type ToolChoice } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { beforeNext, set } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import { openThread } from "../../support/open-thread.js";
import type { Step } from "../../support/scripted-model.js";
import { shown } from "../../support/stream-faults.js";
import { rowsOf } from "../../support/test-tools.js";

type Options = Partial<AgentGraphOptions>;
const NOTHING_SAID = "ai: I stopped here: tools are off for this response.";

const thread = (steps: readonly Step[], options: Options) =>
  agentThread(steps, { tools: ({ fast, failing }) => [fast, failing], ...options });

const call = () => calls(["fast"]);
const CALLED = ["ai> fast", "tool: fast done -"];
const REQUIRED = { mode: "required" } as const;
const FAST = { ...REQUIRED, requiredFunctionName: "fast" } as const;
const AFTER = "ai: I stopped here: the required tool was called, and no other call is allowed.";

/** What the model is told, request by request, and what the thread has after the user's message. */
type Row = [toolChoice: ToolChoice, steps: readonly Step[], choices: unknown[], lines: string[]];

const rows = (): Row[] => [
  ["auto", [call(), "done"], [undefined, undefined], [...CALLED, "ai: done"]],
  ["auto", ["done"], [undefined], ["ai: done"]],
  ["none", ["done"], ["none"], ["ai: done"]],
  ["none", [call()], ["none"], [NOTHING_SAID]],
  ["required", [call()], ["any"], CALLED],
  [REQUIRED, [call()], ["any"], CALLED],
  [FAST, [call()], ["fast"], CALLED],
  [{ ...FAST, afterRequired: "end" }, [call()], ["fast"], CALLED],
  [{ ...REQUIRED, afterRequired: "respond" }, [call(), "done"], ["any", "none"], [...CALLED, "ai: done"]],
  [{ ...FAST, afterRequired: "respond" }, [call(), call()], ["fast", "none"], [...CALLED, AFTER]],
  // A provider that does not force the call, and a call that fails.
  ["required", ["no"], ["any"], ["ai: no"]],
  ["required", [calls(["failing"])], ["any"], ["ai> failing", "tool! Error: `failing` failed."]],
];

describe("toolChoice", () => {
  it.each(rows())("%j of the graph (%#)", async (toolChoice, steps, choices, lines) => {
    const own = thread(steps, { toolChoice });
    expect(await own.run()).toEqual(["human: go", ...lines]);
    expect(own.choices()).toEqual(choices);
  });

  it.each(rows())("%j of the run (%#)", async (toolChoice, steps, choices, lines) => {
    const own = thread(steps, { toolChoice: "none" });
    expect(await own.run("go", { context: { toolChoice } })).toEqual(["human: go", ...lines]);
    expect(own.choices()).toEqual(choices);
  });

  it("requires a call in each turn, once", async () => {
    const { run, runs, choices } = thread([call(), call()], { toolChoice: "required" });
    await run();
    const ended = await run("again");
    expect(ended).toHaveLength(6);
    expect(runs).toHaveLength(2);
    expect(choices()).toEqual(["any", "any"]);
    // To go on without a message asks for nothing new.
    expect(await run(null)).toEqual(ended);
  });

  it.each([
    ["a field", beforeNext("chat", ({ options }) => Object.assign(options, { toolChoice: "none" }))],
    ["the options as a whole", beforeNext("chat", set({ options: { toolChoice: "none" } }))],
  ])("can be overridden by a chat middleware that sets %s", async (_what, middleware) => {
    const { run, runs, choices } = thread([call()], { middleware: [middleware] });
    expect((await run()).at(-1)).toBe(NOTHING_SAID);
    expect(choices()).toEqual(["none"]);
    expect(runs).toEqual([]);
  });

  it("cannot be turned on by a chat middleware if it is off", async () => {
    const on = beforeNext("chat", ({ options }) => Object.assign(options, { toolChoice: "required" }));
    const { run, invoke, choices } = thread([call(), call()], { middleware: [on], maxIterations: 1 });
    // The first call was required by the middleware, which ends the turn with its result.
    expect((await run()).at(-1)).toBe("tool: fast done -");
    await invoke("go", { context: { toolChoice: "none" } });
    expect(choices()).toEqual(["any", "none"]);
  });

  it.each([
    ["never", /toolChoice/],
    [{ mode: "none" }, /toolChoice/],
    [{ mode: "required", requiredFunctionNme: "fast" }, /toolChoice/],
    [{ mode: "required", requiredFunctionName: "fsat" }, /`fsat`.*fast, failing/],
    [{ mode: "required", afterRequired: "never" }, /toolChoice/],
    [7, /toolChoice/],
  ])("%j is refused, when a graph is built and when a run begins", async (toolChoice, words) => {
    expect(() => thread([], { toolChoice: toolChoice as ToolChoice })).toThrow(words);
    await expect(thread([], {}).invoke("go", { context: { toolChoice } })).rejects.toThrow(words);
  });

  it("cannot require a call if there is no tool", () => {
    expect(() => thread([], { tools: [], toolChoice: "required" })).toThrow("has no tool");
  });
});

const off = chatMiddleware(async (context, next) => {
  context.options.toolChoice = "none";
  await next();
});

/** The steps before the response in which tools are off, and why they are off. */
const OFF = rowsOf<[options: Options, before: () => Step[], runs: number, words: RegExp, run: object]>({
  maxIterations: [{ maxIterations: 1 }, () => [call()], 1, /model calls/, {}],
  maxToolCalls: [{ maxToolCalls: 1 }, () => [call()], 1, /tool calls/, {}],
  "a batch that would exceed maxToolCalls": [
    { maxToolCalls: 1 },
    () => [calls(["fast"], ["fast"])],
    0,
    /tool calls/,
    {},
  ],
  maxConsecutiveErrors: [{ maxConsecutiveErrors: 1 }, () => [calls(["failing"])], 1, /several times/, {}],
  "the recursion limit": [{}, () => [], 0, /recursion/, { recursionLimit: 3 }],
  afterRequired: [
    { toolChoice: { mode: "required", afterRequired: "respond" } },
    () => [call()],
    1,
    /required tool/,
    {},
  ],
  "toolChoice of the graph": [{ toolChoice: "none" }, () => [], 0, /tools are off/, {}],
  "toolChoice of the run": [{}, () => [], 0, /tools are off/, { context: { toolChoice: "none" } }],
  "a chat middleware": [{ middleware: [off] }, () => [], 0, /tools are off/, {}],
  "no tools at all": [{ tools: [] }, () => [], 0, /no tool/, {}],
});

describe.each(OFF)("tools are off because of %s", (_reason, options, before, count, words, more) => {
  it.each<[title: string, last: () => AIMessage, text: RegExp]>([
    [
      "a call that the model makes anyway is removed, and a sentence says why",
      () => calls(["fast"], ["failing"]),
      words,
    ],
    [
      "and the other content of the message stays",
      () => new AIMessage({ ...calls(["fast"]), content: "Let me see." } as never),
      /^Let me see\.$/,
    ],
    ["and a response without calls is unchanged", () => new AIMessage("All done."), /^All done\.$/],
  ])("%s", async (_title, last, text) => {
    const own = thread([...before(), last()], options);
    const { messages: client, error } = await openThread(own.graph, "1", more).send("go");
    expect(error).toBeUndefined();
    const stored = await own.messages();
    expect(stored.at(-1)).toMatchObject({ type: "ai", tool_calls: [], invalid_tool_calls: [] });
    expect(stored.at(-1)?.text).toMatch(text);
    expect(client.at(-1)?.id).toBe(stored.at(-1)?.id);
    expect(shown(client)).toEqual(shown(stored));
    expect(own.runs).toHaveLength(count);
  });
});
