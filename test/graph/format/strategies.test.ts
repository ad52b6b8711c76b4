/** Responses in a format, as tool calls and as texts that the provider keeps: what the thread, the state and the model get. */

import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  MiddlewareTermination,
  MultipleStructuredOutputsError,
  providerStrategy,
  StructuredOutputParsingError,
  type ToolStrategyOptions,
  toolStrategy,
} from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { afterNext, insteadOfNext, set, throwing } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { shown } from "../../support/stream-faults.js";
import { inThread, script, user } from "../../support/thread.js";

const City = z.object({ name: z.string(), people: z.number().default(0) }).meta({ title: "City" });

const OSLO = { name: "Oslo", people: 700_000 };
const JSON_TEXT = JSON.stringify(OSLO);
const RIGHT = `tool: Returning structured response: ${JSON_TEXT}`;
const TOO_EARLY =
  "tool! Error: the structured response was not taken, because other tools were called with it. Respond again, with this call alone, after their results.";
const NO_NAME =
  "tool! Error: Failed to parse structured output for tool 'City':\n  - name: Invalid input: expected string, received undefined.";
const SEVERAL =
  "tool! Error: The model has called multiple tools: City, City to return a structured output. This is not supported. Please provide a single structured output.";
const FAST = ["ai> fast", "tool: fast done -"];
const CITY = ["ai> City", RIGHT];
const REFUSED = "structured-response-refused";
const MISSING = "structured-response-missing";

type Options = Partial<AgentGraphOptions>;
const asTool = (format: ToolStrategyOptions = {}): Options => ({
  responseFormat: toolStrategy(City, format),
});
const asText: Options = { responseFormat: providerStrategy(City) };

/** A thread, and one turn of it: a client has in the end what is in the thread. */
function formatted(steps: readonly Step[], options: Options) {
  const thread = agentThread(steps, { ...asTool(), ...options });
  const response = async () => Reflect.get((await thread.state()).values, "structuredResponse");
  const turn = async () => {
    const { messages, events, error } = await thread.send("go");
    expect(error).toBeUndefined();
    const stored = (await thread.messages()).slice(1);
    expect(shown(messages)).toEqual(shown(stored));
    return { lines: script(stored), events };
  };
  return { ...thread, response, turn };
}

const right = () => calls(["City", OSLO]);
const wrong = () => calls(["City", {}]);
const fast = () => calls(["fast", {}, "f"]);
const both = () => calls(["fast", {}, "f"], ["City", OSLO]);

interface Turn {
  readonly steps: readonly Step[];
  readonly options?: Options;
  readonly lines: readonly unknown[];
  /** @default Oslo; null if there is none */
  readonly response?: object | null;
  readonly choices?: readonly unknown[];
  /** The types of the events, or more of them. */
  readonly events?: readonly (string | object)[];
}

/** One turn each. */
async function expectTurn({ steps, options = {}, lines, response = OSLO, choices, events }: Turn) {
  const thread = formatted(steps, options);
  const turn = await thread.turn();
  expect(turn.lines).toEqual(lines);
  expect(await thread.response()).toEqual(response ?? undefined);
  if (choices !== undefined) expect(thread.choices()).toEqual(choices);
  if (events !== undefined)
    expect(turn.events).toMatchObject(
      events.map((event) => (typeof event === "string" ? { type: event } : event)),
    );
  const called = lines.filter((line) => line === "tool: fast done -");
  expect(thread.runs).toHaveLength(called.length);
}

const TURNS = Object.entries<Turn>({
  "ends the turn, and its call has a result": {
    steps: [right()],
    lines: CITY,
    choices: ["any"],
    events: [{ type: "run-end", calls: 1, results: 1 }],
  },
  "comes after the results of tools, and is counted at the end of the run": {
    steps: [fast(), right()],
    lines: [...FAST, ...CITY],
    choices: ["any", "any"],
    events: [{ type: "run-end", calls: 2, results: 2, usedFallback: false }],
  },
  "is completed by the schema": {
    steps: [calls(["City", { name: "Rome" }])],
    lines: ["ai> City", expect.stringMatching(/^tool: /)],
    response: { name: "Rome", people: 0 },
  },
  "is required by name in a graph without tools": {
    steps: [right()],
    options: { tools: [] },
    lines: CITY,
    choices: ["City"],
  },
  "that is wrong has a result that says what is wrong, and the model is asked again": {
    steps: [wrong(), right()],
    lines: ["ai> City", NO_NAME, ...CITY],
    events: [
      { type: REFUSED, reason: expect.stringContaining("name: Invalid input") },
      { type: "run-end", calls: 2, results: 2 },
    ],
  },
  "among several leaves no call without a result": {
    steps: [calls(["City", OSLO], ["City", OSLO]), right()],
    lines: ["ai> City City", SEVERAL, SEVERAL, ...CITY],
  },
  "beside other tools is refused, and the tools are run": {
    steps: [both(), right()],
    lines: ["ai> fast City", "tool: fast done -", TOO_EARLY, ...CITY],
  },
  "among several beside other tools is refused, and the tools are run": {
    steps: [calls(["City", OSLO], ["fast"], ["City", OSLO]), right()],
    lines: ["ai> City fast City", SEVERAL, "tool: fast done -", SEVERAL, ...CITY],
  },
  "is asked for again, with what is wrong, after a text, which is taken back": {
    steps: ["It is Oslo.", right()],
    lines: CITY,
    events: [REFUSED, "run-end"],
  },
  "is missing after several texts, and an event says so": {
    steps: ["One.", "Two.", "Three."],
    lines: ["ai: Three."],
    response: null,
    events: [REFUSED, REFUSED, { type: MISSING, reason: "not-in-format" }, "run-end"],
  },
  "can be given at a limit": {
    steps: [fast(), right()],
    options: { maxIterations: 1 },
    lines: [...FAST, ...CITY],
    choices: ["any", "City"],
    events: ["limit-reached", "run-end"],
  },
  "is missing if the last one at a limit is wrong too": {
    steps: [wrong(), wrong(), wrong()],
    options: { maxConsecutiveErrors: 2 },
    lines: [
      ...["ai> City", NO_NAME, "ai> City", NO_NAME],
      "ai: I stopped here: the tools failed several times in a row.",
    ],
    response: null,
    events: [
      REFUSED,
      REFUSED,
      "limit-reached",
      REFUSED,
      { type: MISSING, reason: "limit-reached" },
      "run-end",
    ],
  },
  "lets no other tool run beside it at a limit": {
    steps: [fast(), both()],
    options: { maxIterations: 1 },
    lines: [
      ...FAST,
      "ai> fast City",
      "tool! Error: not run, because only a structured response is allowed here.",
      RIGHT,
    ],
  },
  "can be given with no tool calls allowed": {
    steps: [right()],
    options: { maxToolCalls: 0 },
    lines: CITY,
    events: ["limit-reached", "run-end"],
  },
  ...Object.fromEntries(
    ["maxIterations", "maxConsecutiveErrors"].map((limit): [string, Turn] => [
      `can be given after a wrong one at ${limit}`,
      {
        steps: [wrong(), right()],
        options: { [limit]: 1 },
        lines: ["ai> City", NO_NAME, ...CITY],
        events: [REFUSED, "limit-reached", "run-end"],
      },
    ]),
  ),
  "is not asked for again after a text at the limit of model calls": {
    steps: ["Text."],
    options: { maxIterations: 1 },
    lines: ["ai: Text."],
    response: null,
    events: [MISSING, "run-end"],
  },
  ...Object.fromEntries(
    (["required", "fast, end", "fast, answer"] as const).map((choice): [string, Turn] => [
      `ends a turn with the tool choice ${choice}`,
      {
        steps: [fast(), right()],
        options: {
          toolChoice:
            choice === "required"
              ? choice
              : {
                  mode: "required",
                  requiredFunctionName: "fast",
                  afterRequired: choice === "fast, end" ? "end" : "respond",
                },
        },
        lines: [...FAST, ...CITY],
        choices: [choice === "required" ? "any" : "fast", "any"],
      },
    ]),
  ),
  "alone can be called with the tool choice none": {
    steps: [right()],
    options: { toolChoice: "none" },
    lines: CITY,
    choices: ["City"],
  },
  "does not come from a run that a function middleware ends": {
    steps: [fast()],
    options: {
      middleware: [insteadOfNext("function", throwing(new MiddlewareTermination("stopped")))],
    },
    lines: ["ai> fast", "tool: stopped"],
    response: null,
    events: [{ type: MISSING, reason: "ended" }, "run-end"],
  },
  "counts if a chat middleware ends the run with it": {
    steps: [right()],
    options: { middleware: [afterNext("chat", throwing(new MiddlewareTermination()))] },
    lines: CITY,
  },
  "does not count if it is wrong and a chat middleware ends the run": {
    steps: [wrong()],
    options: { middleware: [afterNext("chat", throwing(new MiddlewareTermination()))] },
    lines: ["ai> City", "tool! Not run: the run was ended before this call."],
    response: null,
  },
  "stays if an agent middleware changes the last message": {
    steps: [right()],
    options: { middleware: [afterNext("agent", set({ result: "Here you are." }))] },
    lines: [...CITY, "ai: Here you are."],
  },
});

const TEXTS = Object.entries<Turn>({
  ...Object.fromEntries(
    [JSON_TEXT, `\`\`\`json\n${JSON_TEXT}\n\`\`\``, `\n ${JSON_TEXT} \n`].map((text): [string, Turn] => [
      `is a text in JSON, such as ${JSON.stringify(text)}`,
      { steps: [text], lines: [`ai: ${text}`], events: ["run-end"] },
    ]),
  ),
  "is completed by the schema": {
    steps: ['{"name":"Rome"}'],
    lines: ['ai: {"name":"Rome"}'],
    response: { name: "Rome", people: 0 },
  },
  "comes after the results of tools, which the model may or may not call": {
    steps: [fast(), JSON_TEXT],
    lines: [...FAST, `ai: ${JSON_TEXT}`],
    choices: [undefined, undefined],
  },
  "is missing after several wrong texts, of which the last stays": {
    steps: ["One.", "Two."],
    options: { maxConsecutiveErrors: 2 },
    lines: ["ai: Two."],
    response: null,
    events: [REFUSED, REFUSED, { type: MISSING, reason: "not-in-format" }, "run-end"],
  },
  "that is wrong counts as a model call of the turn": {
    steps: ["One.", fast(), JSON_TEXT],
    options: { maxIterations: 2 },
    lines: [...FAST, `ai: ${JSON_TEXT}`],
    choices: [undefined, undefined, "none"],
    events: [REFUSED, "limit-reached", "run-end"],
  },
  "that is wrong at a limit ends the turn": {
    steps: [fast(), "Sorry."],
    options: { maxIterations: 1 },
    lines: [...FAST, "ai: Sorry."],
    response: null,
    events: ["limit-reached", REFUSED, { type: MISSING, reason: "limit-reached" }, "run-end"],
  },
  "is not asked for again if a middleware ends the run with a text": {
    steps: [],
    options: { middleware: [insteadOfNext("chat", throwing(new MiddlewareTermination("Not today.")))] },
    lines: ["ai: Not today."],
    response: null,
    events: [REFUSED, { type: MISSING, reason: "ended" }, "run-end"],
  },
});

it.each(TURNS)("A structured response %s", (_title, turn) => expectTurn(turn));

it.each(TEXTS)("A structured response that the provider keeps %s", (_title, turn) =>
  expectTurn({ ...turn, options: { ...asText, ...turn.options } }),
);

describe("The model is told", () => {
  it("what to do instead of a text", async () => {
    const { turn, model } = formatted(["It is Oslo.", right()], {});
    await turn();
    expect(model.requests[0]?.toolNames).toContain("City");
    expect(script(model.requests[1]?.messages ?? [])).toEqual([
      "human: go",
      "ai: It is Oslo.",
      "human: The response is a text. Do not respond with a text. Call `City` with your response as its arguments.",
    ]);
  });

  it.each([
    ["no JSON", "It is Oslo.", "the text is not valid JSON"],
    ["another schema", '{"name":7}', "name: Invalid input: expected string, received number"],
  ])("what is wrong with a text (%s), which is taken back", async (_, text, reason) => {
    const { turn, response, model } = formatted([text, JSON_TEXT], { ...asText, tools: [] });
    const { lines, events } = await turn();
    expect(lines).toEqual([`ai: ${JSON_TEXT}`]);
    expect(await response()).toEqual(OSLO);
    expect(events).toMatchObject([
      { type: REFUSED, reason: expect.stringContaining(reason) },
      { type: "run-end" },
    ]);
    const [, wrongText, told] = model.requests[1]?.messages ?? [];
    expect(wrongText?.text).toBe(text);
    expect(told?.text).toContain(reason);
    expect(told?.text).toContain('"people"');
  });

  it("of the calls of the turn after a text, whatever is filtered of earlier turns", async () => {
    const { run, model } = formatted([right(), fast(), "Done.", right()], { maxToolCallsFromHistory: 0 });
    await run();
    await run("again");
    const sent = script(model.requests[3]?.messages ?? []);
    expect(sent.slice(0, 4)).toEqual(["human: go", "human: again", ...FAST]);
  });
});

describe("`handleError`", () => {
  it.each<[title: string, given: ToolStrategyOptions["handleError"], text: string]>([
    ["a function", ({ name }) => `${name}!`, "tool! StructuredOutputParsingError!"],
    ["a slow function", async (error) => `${"errors" in error && error.errors.length}`, "tool! 1"],
    ["true", true, NO_NAME],
  ])("as %s says what is wrong", async (_, handleError, text) => {
    expect((await formatted([wrong(), right()], asTool({ handleError })).turn()).lines[1]).toBe(text);
  });

  const thrown = new Error("no more");
  const two = () => calls(["City", OSLO], ["City", OSLO]);
  const parsing = ["name: Invalid input: expected string, received undefined"];
  it.each<[title: string, ToolStrategyOptions["handleError"], () => Step, expected: unknown]>([
    ["false", false, wrong, new StructuredOutputParsingError("City", parsing)],
    ["false", false, two, new MultipleStructuredOutputsError(["City", "City"])],
    ["a function that throws", () => Promise.reject(thrown), wrong, thrown],
    [
      "a function without a text",
      (() => 7) as never,
      wrong,
      expect.objectContaining({ code: "INVALID_SETTING" }),
    ],
  ])("as %s fails the run, and the thread stays usable", async (_, handleError, step, expected) => {
    const { invoke, lines, response } = formatted([step(), right()], asTool({ handleError }));
    await expect(invoke()).rejects.toEqual(expected);
    expect((await lines()).at(-1)).toMatch(/^tool!/);
    await invoke("again");
    expect(await response()).toEqual(OSLO);
  });
});

describe("The structured response of a thread", () => {
  it("is in the streams, and none is taken from the input", async () => {
    const { graph, response } = formatted([right()], { autoInvoke: false });
    const forged = { ...user("go"), structuredResponse: { name: "Nowhere", people: 1 } };
    const options = { ...inThread("1"), streamMode: ["values", "updates"] as ("values" | "updates")[] };
    const chunks = await allOf<[string, { model?: object }]>(graph.stream(forged as never, options));
    const seen = chunks.map(([mode, chunk]) =>
      Reflect.get((mode === "values" ? chunk : chunk.model) ?? {}, "structuredResponse"),
    );
    expect(seen).toEqual([undefined, OSLO, OSLO]);
    expect(await response()).toEqual(OSLO);
  });

  it("is gone in a new turn", async () => {
    const { graph, invoke, response, probe } = formatted([right(), calls(["heedful"])], {});
    await invoke();
    const seen = new Set<unknown>();
    const controller = new AbortController();
    const options = { ...inThread("1"), streamMode: "values", signal: controller.signal } as const;
    await expect(async () => {
      for await (const chunk of await graph.stream(user("again"), options)) {
        seen.add(Reflect.get(chunk, "structuredResponse"));
        if (chunk.messages.length > 4) controller.abort();
      }
    }).rejects.toThrow();
    expect([...seen]).toEqual([undefined]);
    expect(await response()).toBeUndefined();
    expect(probe.runs).toEqual([]);
  });

  it.each<[title: string, options: Options, waiting: string[], next: unknown, result: string]>([
    [
      "waits for nobody if it was refused beside an approval",
      { requireApproval: ["fast"] },
      ["ai> fast City", TOO_EARLY],
      new Command({ resume: { decisions: [{ type: "approve" }] } }),
      "tool: fast done -",
    ],
    [
      "is not the caller's, as other calls are with `autoInvoke: false`",
      { autoInvoke: false },
      ["ai> fast City", TOO_EARLY],
      { messages: [{ role: "tool", tool_call_id: "f", content: "18 °C" }] },
      "tool: 18 °C",
    ],
  ])("%s", async (_title, options, waiting, next, result) => {
    const { run, runs, response, model } = formatted([both(), right()], options);
    expect((await run()).slice(1)).toEqual(waiting);
    expect([runs, model.requests.length]).toEqual([[], 1]);
    expect((await run(next)).slice(1)).toEqual(["ai> fast City", result, TOO_EARLY, ...CITY]);
    expect(await response()).toEqual(OSLO);
  });
});
