/** What stands beside the middleware works as it does without it, at each place of the list. */

import { AIMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import {
  type AgentMiddleware,
  anthropicPromptCachingMiddleware,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createMiddleware,
  dynamicSystemPromptMiddleware,
  humanInTheLoopMiddleware,
  llmToolSelectorMiddleware,
  modelCallLimitMiddleware,
  modelFallbackMiddleware,
  modelRetryMiddleware,
  piiMiddleware,
  summarizationMiddleware,
  todoListMiddleware,
  toolCallLimitMiddleware,
  toolErrorMiddleware,
  toolRetryMiddleware,
  toolStrategy,
} from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type TetherMiddlewareOptions, tetherMiddleware } from "../../src/langchain.js";
import { type Answer, calls, FunctionModel } from "../support/models.js";
import { MANNERS, type Manner, openAgent } from "../support/open-thread.js";
import { script, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

/** An agent, and what is run with it. It is made anew for each comparison. */
interface Setup {
  readonly model: FunctionModel;
  readonly middleware?: readonly object[];
  readonly tools?: readonly object[];
  /** What the setup's own middleware and tools noted. */
  readonly notes?: readonly unknown[];
  /** The inputs of the runs. @default one message */
  readonly inputs?: readonly unknown[];
  /** Further options of the agent. */
  readonly options?: object;
  /** The options of this library's middleware. */
  readonly own?: TetherMiddlewareOptions;
}

type Place = (own: object, others: readonly object[]) => readonly object[];

const PLACES: readonly (readonly [string, Place])[] = [
  ["first", (own, others) => [own, ...others]],
  ["after the first of the others", (own, [first, ...others]) => [...(first ? [first] : []), own, ...others]],
  ["last", (own, others) => [...others, own]],
];

async function played(make: () => Setup, manner: Manner, place?: Place) {
  const {
    model,
    middleware = [],
    tools = [],
    notes = [],
    inputs = [user("Go.")],
    options = {},
    own = {},
  } = make();
  const list = place === undefined ? middleware : place(tetherMiddleware(own), middleware);
  const checkpointer = new MemorySaver();
  const thread = openAgent({ model, tools, middleware: list, checkpointer, ...options });
  const errors: unknown[] = [];
  for (const input of inputs) errors.push(told((await thread.run(input, { manner })).error));
  const { messages, ...others } = await thread.values();
  return withoutChance({
    errors,
    history: script(messages),
    others,
    requests: model.requests.map((request) => script(request.messages)),
    notes: [...notes],
  });
}

/** Without what differs from agent to agent: frames of a stack, and the number in the name of a structured response. */
function withoutChance<Value>(value: Value): Value {
  const text = JSON.stringify(value)
    .replaceAll(/(?:\\n {4}at [^\\"]+)+/g, "")
    .replaceAll(/extract-\d+/g, "extract");
  return JSON.parse(text);
}

/** What of an error other code reads: its class and fields, and those of its causes. */
function told(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, cause } = error;
  const status: unknown = Reflect.get(error, "status");
  return { class: error.constructor.name, name, message, status, cause: told(cause) };
}

/** The same as without the middleware, at each place, streamed or not. */
function itIsAsAlone(
  title: string,
  make: () => Setup,
  check?: (alone: Awaited<ReturnType<typeof played>>) => void,
) {
  describe(title, () => {
    for (const manner of MANNERS)
      it.each(PLACES)(`%s, ${manner}`, async (_place, place) => {
        const alone = await played(make, manner);
        check?.(alone);
        expect(await played(make, manner, place)).toEqual(alone);
      });
  });
}

class Busy extends Error {
  override readonly name = "Busy";
  readonly status = 503;
}

const QUICK = { initialDelayMs: 1, jitter: false } as const;

/** Calls these tools at once, and then responds. */
const calling = (...names: readonly string[]) =>
  new FunctionModel(({ messages }) =>
    messages.at(-1)?.type === "tool"
      ? "Done."
      : calls(...names.map((name, index) => [name, {}, `${name}-${index}`] as const)),
  );

/** A tool that throws so many times, and then returns. */
const failingFor = (times: number, thrown: () => unknown = () => new Busy("busy")) => {
  let runs = 0;
  return makeTool("flaky", async () => {
    runs += 1;
    if (runs <= times) throw thrown();
    return `run ${runs}`;
  });
};

const fast = () => makeTool("fast", async () => "quick");
const wrapping = (name: string, wrapToolCall: NonNullable<AgentMiddleware["wrapToolCall"]>) =>
  createMiddleware({ name, wrapToolCall });
const aroundModel = (name: string, wrapModelCall: NonNullable<AgentMiddleware["wrapModelCall"]>) =>
  createMiddleware({ name, wrapModelCall });

describe("A tool that throws", () => {
  const withTool =
    (tool: () => object, ...middleware: readonly (() => object)[]) =>
    () => ({
      model: calling("flaky", "fast"),
      tools: [tool(), fast()],
      middleware: middleware.map((make) => make()),
    });

  itIsAsAlone(
    "is told in an agent without other middleware",
    withTool(() => failingFor(9)),
    ({ history }) => expect(history).toContain("tool! Busy: busy\n Please fix your mistakes."),
  );
  itIsAsAlone(
    "is told in an agent whose other middleware does not wrap tool calls",
    withTool(
      () => failingFor(9),
      () => aroundModel("passing", (request, handler) => handler(request)),
      () => todoListMiddleware(),
    ),
    ({ history }) => expect(history).toContain("tool! Busy: busy\n Please fix your mistakes."),
  );
  itIsAsAlone(
    "fails the run if other middleware lets its error pass",
    withTool(
      () => failingFor(9),
      () => wrapping("passing", (request, handler) => handler(request)),
    ),
    ({ errors }) => expect(errors).toMatchObject([{ class: "Busy", status: 503 }]),
  );
  itIsAsAlone(
    "is run again by `toolRetryMiddleware`",
    withTool(
      () => failingFor(2),
      () => toolRetryMiddleware({ maxRetries: 3, ...QUICK }),
    ),
    ({ history }) => expect(history).toContain("tool: run 3"),
  );
  itIsAsAlone(
    "is run again if a condition reads its error",
    withTool(
      () => failingFor(2),
      () =>
        toolRetryMiddleware({
          maxRetries: 3,
          retryOn: (error) => Reflect.get(error, "status") === 503,
          ...QUICK,
        }),
    ),
    ({ history }) => expect(history).toContain("tool: run 3"),
  );
  itIsAsAlone(
    "is told by `toolRetryMiddleware`",
    withTool(
      () => failingFor(9),
      () => toolRetryMiddleware({ maxRetries: 1, ...QUICK }),
    ),
    ({ history }) => expect(history).toContain("tool! Tool 'flaky' failed after 2 attempts with Busy"),
  );
  itIsAsAlone(
    "fails the run if `toolRetryMiddleware` says so",
    withTool(
      () => failingFor(9),
      () => toolRetryMiddleware({ maxRetries: 1, onFailure: "error", ...QUICK }),
    ),
    ({ errors }) => expect(errors).toMatchObject([{ class: "Busy", status: 503 }]),
  );
  itIsAsAlone(
    "is told by `toolErrorMiddleware`",
    withTool(
      () => failingFor(9),
      () =>
        toolErrorMiddleware({ onError: ({ message }: { message: string }) => `It was ${message}.` } as never),
    ),
    ({ history }) => expect(history).toContain("tool! It was busy."),
  );
  itIsAsAlone(
    "fails the run if the handler of `toolErrorMiddleware` gives nothing",
    withTool(
      () => failingFor(9),
      () => toolErrorMiddleware({ onError: () => undefined }),
    ),
    ({ errors }) => expect(errors).toMatchObject([{ class: "Busy" }]),
  );
  itIsAsAlone(
    "is handled by the inner of two middlewares",
    withTool(
      () => failingFor(9),
      () => toolRetryMiddleware({ maxRetries: 2, ...QUICK }),
      () => toolErrorMiddleware({ onError: () => "Handled." }),
    ),
  );
  itIsAsAlone(
    "is handled by the outer of two middlewares",
    withTool(
      () => failingFor(1),
      () => toolErrorMiddleware({ onError: () => "Handled." }),
      () => toolRetryMiddleware({ maxRetries: 2, onFailure: "error", ...QUICK }),
    ),
  );
  itIsAsAlone(
    "can throw what is no error",
    withTool(
      () => failingFor(9, () => "a text"),
      () => toolErrorMiddleware({ onError: (error: unknown) => `It threw ${String(error)}.` } as never),
    ),
    ({ history }) => expect(history).toContain("tool! It threw a text."),
  );

  itIsAsAlone(
    "is counted by an own reporter",
    () => {
      const notes: unknown[] = [];
      const reporter = wrapping("reporter", async (request, handler) => {
        try {
          return await handler(request);
        } catch (error) {
          notes.push([request.toolCall.name, told(error)]);
          throw error;
        }
      });
      return {
        model: calling("flaky", "fast"),
        tools: [failingFor(9), fast()],
        middleware: [reporter],
        notes,
      };
    },
    ({ notes }) => expect(notes).toMatchObject([["flaky", { class: "Busy", status: 503 }]]),
  );
  itIsAsAlone(
    "is told which arguments are wrong",
    () => ({
      model: new FunctionModel(({ messages }) =>
        messages.at(-1)?.type === "tool" ? "Done." : calls(["add", { left: "x" }, "add-1"]),
      ),
      tools: [makeTool("add", async () => "3", z.object({ left: z.number() }))],
      middleware: [wrapping("passing", (request, handler) => handler(request))],
    }),
    ({ history }) => expect(history[2]).toContain("Error invoking tool 'add'"),
  );
});

describe("An own `wrapToolCall`", () => {
  const withWrapper = (wrapToolCall: NonNullable<AgentMiddleware["wrapToolCall"]>) => () => ({
    model: calling("fast"),
    tools: [fast()],
    middleware: [wrapping("own", wrapToolCall), wrapping("other", (request, handler) => handler(request))],
  });

  itIsAsAlone(
    "with a bug fails the run, and the model hears nothing of it",
    withWrapper(() => {
      throw new TypeError("a bug of mine");
    }),
    ({ errors, requests }) => {
      expect(errors).toMatchObject([{ name: "TypeError", message: "a bug of mine" }]);
      expect(requests).toHaveLength(1);
    },
  );
  itIsAsAlone(
    "with a bug after the tool has run fails the run",
    withWrapper(async (request, handler) => {
      await handler(request);
      throw new TypeError("a bug of mine");
    }),
  );
  itIsAsAlone("that returns something else fails the run", withWrapper((async () => "a text") as never));
  itIsAsAlone(
    "can answer itself",
    withWrapper(({ toolCall }) => new ToolMessage({ content: "cached", tool_call_id: toolCall.id ?? "" })),
    ({ history }) => expect(history).toContain("tool: cached"),
  );
  itIsAsAlone(
    "can write to the state",
    withWrapper(({ toolCall }) => {
      const result = new ToolMessage({ content: "written", tool_call_id: toolCall.id ?? "" });
      return new Command({ update: { messages: [result] } });
    }),
  );
  itIsAsAlone("can run another tool", () => ({
    model: calling("unknown"),
    tools: [fast()],
    middleware: [
      wrapping("dynamic", (request, handler) =>
        handler({ ...request, tool: makeTool("unknown", async () => "made on demand") as never }),
      ),
    ],
  }));
  itIsAsAlone("sees a call of a tool that there is not", () => ({
    model: calling("unknown"),
    tools: [fast()],
    middleware: [wrapping("passing", (request, handler) => handler(request))],
  }));
});

describe("A model's client that fails", () => {
  const failingModel = (times: number, thrown: () => Error = () => new Busy("busy")) =>
    new FunctionModel(({ index }) => (index < times ? thrown() : "Here."));
  const withModel =
    (model: () => FunctionModel, ...middleware: readonly (() => object)[]) =>
    () => ({
      model: model(),
      middleware: middleware.map((make) => make()),
    });

  itIsAsAlone(
    "fails the run with its own error",
    withModel(() => failingModel(9)),
    ({ errors }) => expect(errors).toMatchObject([{ class: "Busy", status: 503 }]),
  );
  itIsAsAlone(
    "is asked again by `modelRetryMiddleware`",
    withModel(
      () => failingModel(2),
      () => modelRetryMiddleware({ maxRetries: 3, ...QUICK }),
    ),
    ({ history }) => expect(history.at(-1)).toBe("ai: Here."),
  );
  itIsAsAlone(
    "is asked again if a condition reads its error",
    withModel(
      () => failingModel(2),
      () =>
        modelRetryMiddleware({
          maxRetries: 3,
          retryOn: (error) => Reflect.get(error, "status") === 503,
          ...QUICK,
        }),
    ),
    ({ history }) => expect(history.at(-1)).toBe("ai: Here."),
  );
  itIsAsAlone(
    "is asked again if its error has a class",
    withModel(
      () => failingModel(2),
      () => modelRetryMiddleware({ maxRetries: 3, retryOn: [Busy], ...QUICK }),
    ),
    ({ history }) => expect(history.at(-1)).toBe("ai: Here."),
  );
  itIsAsAlone(
    "is not asked again if its error has another class",
    withModel(
      () => failingModel(2),
      () => modelRetryMiddleware({ maxRetries: 3, retryOn: [RangeError], ...QUICK }),
    ),
    ({ requests }) => expect(requests).toHaveLength(1),
  );
  itIsAsAlone(
    "is told in the words of `modelRetryMiddleware`",
    withModel(
      () => failingModel(9),
      () => modelRetryMiddleware({ maxRetries: 1, ...QUICK }),
    ),
    ({ history }) => expect(history.at(-1)).toBe("ai: Model call failed after 2 attempts with Busy: busy"),
  );
  itIsAsAlone(
    "is replaced by `modelFallbackMiddleware`",
    withModel(
      () => failingModel(9),
      () => modelFallbackMiddleware(new FunctionModel(() => "Instead.") as never),
    ),
    ({ history }) => expect(history.at(-1)).toBe("ai: Instead."),
  );
  itIsAsAlone(
    "fails the run through other middleware",
    withModel(
      () => failingModel(9),
      () => aroundModel("one", (request, handler) => handler(request)),
      () => aroundModel("two", (request, handler) => handler(request)),
    ),
  );
  itIsAsAlone(
    "is seen by an own reporter",
    () => {
      const notes: unknown[] = [];
      const reporter = aroundModel("reporter", async (request, handler) => {
        try {
          return await handler(request);
        } catch (error) {
          notes.push(told(error));
          return new AIMessage("Sorry.");
        }
      });
      return { model: failingModel(9), middleware: [reporter], notes };
    },
    ({ notes }) => expect(notes).toMatchObject([{ class: "Busy", status: 503 }]),
  );
});

describe("A model with an `invoke` of its own", () => {
  const metered: unknown[] = [];
  class Metered extends FunctionModel {
    override async invoke(...given: Parameters<FunctionModel["invoke"]>) {
      metered.push("invoke");
      return super.invoke(...given);
    }
  }
  class Private extends FunctionModel {
    #asked = 0;
    override async invoke(...given: Parameters<FunctionModel["invoke"]>) {
      this.#asked += 1;
      metered.push(this.#asked);
      return super.invoke(...given);
    }
  }
  class Limited extends FunctionModel {
    override invoke(): never {
      throw new RangeError("The quota is used up.");
    }
  }
  class Routed extends FunctionModel {
    readonly other = new FunctionModel(() => "From elsewhere.");
    override async invoke(...given: Parameters<FunctionModel["invoke"]>) {
      return this.other.invoke(...given);
    }
  }
  const answer: Answer = ({ messages }) =>
    messages.at(-1)?.type === "tool" ? "Done." : calls(["fast", {}, "fast-1"]);
  const withClass = (Model: new (answer: Answer) => FunctionModel, tools: readonly object[]) => () => {
    metered.length = 0;
    return { model: new Model(tools.length === 0 ? () => "Hi." : answer), tools };
  };
  for (const [tools, title] of [
    [[], "without tools"],
    [[fast()], "with tools"],
  ] as const) {
    itIsAsAlone(
      `is metered ${title}`,
      () => ({ ...withClass(Metered, tools)(), notes: metered }),
      ({ notes }) => expect(notes.length).toBeGreaterThan(0),
    );
    itIsAsAlone(`is metered in private fields ${title}`, () => ({
      ...withClass(Private, tools)(),
      notes: metered,
    }));
    itIsAsAlone(`is limited ${title}`, withClass(Limited, tools), ({ errors }) =>
      expect(errors).toMatchObject([{ class: "RangeError" }]),
    );
    itIsAsAlone(`is routed ${title}`, withClass(Routed, tools), ({ history }) =>
      expect(history.at(-1)).toBe("ai: From elsewhere."),
    );
  }
});

describe("Limits", () => {
  const endless = () => new FunctionModel(({ index }) => calls(["fast", {}, `fast-${index}`]));
  for (const exitBehavior of ["end", "error"] as const) {
    itIsAsAlone(`of model calls that ${exitBehavior}`, () => ({
      model: endless(),
      tools: [fast()],
      middleware: [modelCallLimitMiddleware({ runLimit: 2, exitBehavior } as never)],
      inputs: [user("Go."), user("Again.")],
    }));
    itIsAsAlone(`of tool calls that ${exitBehavior}`, () => ({
      model: endless(),
      tools: [fast()],
      middleware: [toolCallLimitMiddleware({ runLimit: 2, exitBehavior } as never)],
    }));
  }
});

describe("Structured output", () => {
  const Answered = z.object({ value: z.number() });
  /** Calls the tool of the format, with each of these arguments. */
  const withArguments =
    (options: object, middleware: readonly object[], ...args: readonly (readonly object[])[]) =>
    () => {
      const responseFormat = toolStrategy(Answered, options);
      const name = String(Reflect.get(Object(responseFormat[0]), "name"));
      const model = new FunctionModel(({ index }) =>
        calls(...(args[index] ?? []).map((given, place) => [name, given, `${index}-${place}`] as const)),
      );
      return { model, middleware, options: { responseFormat } };
    };
  const passing = () => [aroundModel("passing", (request, handler) => handler(request))];

  itIsAsAlone("is found", withArguments({}, [], [{ value: 1 }]), ({ history }) =>
    expect(history.at(-1)).toBe('ai: Returning structured response: {"value":1}'),
  );
  itIsAsAlone("is asked for again", withArguments({}, [], [{ value: "x" }], [{ value: 1 }]));
  itIsAsAlone(
    "is asked for again inside other middleware",
    withArguments({}, passing(), [{ value: "x" }], [{ value: 1 }]),
  );
  itIsAsAlone(
    "fails the run if nothing handles its error",
    withArguments({ handleError: false }, [], [{ value: "x" }]),
    ({ errors }) => expect(errors).toMatchObject([{ class: "StructuredOutputParsingError" }]),
  );
  itIsAsAlone(
    "fails the run if there are two and nothing handles that",
    withArguments({ handleError: false }, [], [{ value: 1 }, { value: 2 }]),
    ({ errors }) => expect(errors).toMatchObject([{ class: "MultipleStructuredOutputsError" }]),
  );
});

describe("Other middleware", () => {
  const middlewares: readonly (readonly [string, () => Omit<Setup, "model">, (() => FunctionModel)?])[] = [
    ["todoListMiddleware", () => ({ middleware: [todoListMiddleware()] })],
    [
      "piiMiddleware",
      () => ({
        middleware: [piiMiddleware("email", { strategy: "redact", applyToInput: true })],
        inputs: [user("I am a@b.example."), user("And?")],
      }),
    ],
    [
      "piiMiddleware that blocks",
      () => ({
        middleware: [piiMiddleware("email", { strategy: "block", applyToInput: true })],
        inputs: [user("I am a@b.example.")],
      }),
    ],
    [
      "anthropicPromptCachingMiddleware that raises",
      () => ({
        middleware: [anthropicPromptCachingMiddleware({ unsupportedModelBehavior: "raise" } as never)],
      }),
    ],
    [
      "dynamicSystemPromptMiddleware",
      () => ({ middleware: [dynamicSystemPromptMiddleware(() => "Be brief.")] }),
    ],
    [
      "an own prompt",
      () => ({
        middleware: [
          aroundModel("prompt", (request, handler) =>
            handler({ ...request, systemMessage: new SystemMessage("Be kind.") }),
          ),
        ],
        options: { systemPrompt: "Be brief." },
      }),
    ],
    [
      "llmToolSelectorMiddleware",
      () => {
        const answer = async () => ({ tools: ["fast"] });
        const selecting = Object.assign(new FunctionModel(() => ""), {
          withStructuredOutput: () => ({ invoke: answer }),
        });
        return { middleware: [llmToolSelectorMiddleware({ model: selecting, maxTools: 1 } as never)] };
      },
    ],
    [
      "contextEditingMiddleware",
      () => ({
        middleware: [
          contextEditingMiddleware({
            edits: [new ClearToolUsesEdit({ trigger: { messages: 3 }, keep: { messages: 1 } })],
          }),
        ],
      }),
    ],
    [
      "summarizationMiddleware",
      () => ({
        middleware: [
          summarizationMiddleware({
            model: new FunctionModel(() => "They talked."),
            trigger: { messages: 6 },
            keep: { messages: 2 },
          } as never),
        ],
        inputs: [user("One."), user("Two."), user("Three.")],
      }),
    ],
  ];
  for (const [title, make, model] of middlewares)
    itIsAsAlone(title, () => ({ tools: [fast()], model: model?.() ?? calling("fast"), ...make() }));

  for (const decision of [
    { type: "approve" },
    { type: "reject", message: "No." },
    { type: "edit", editedAction: { name: "fast", args: {} } },
  ])
    itIsAsAlone(`humanInTheLoopMiddleware: ${decision.type}`, () => ({
      model: calling("fast"),
      tools: [fast()],
      middleware: [humanInTheLoopMiddleware({ interruptOn: { fast: true } } as never)],
      inputs: [user("Go."), new Command({ resume: { decisions: [decision] } })],
    }));
});

it("An input without messages asks about those of the thread", async () => {
  const stateSchema = z.object({ note: z.string().optional() });
  const thread = openAgent({ model: new FunctionModel(() => "Hello."), stateSchema });
  await thread.run(user("Hi!"));
  expect((await thread.run({ note: "given" })).error).toBeUndefined();
  expect(script(await thread.readOpen())).toEqual(["human: Hi!", "ai: Hello.", "ai: Hello."]);
});

it("A run that exceeds its limit of steps fails with LangGraph's error", async () => {
  const run = async (middleware: readonly object[]) => {
    const model = new FunctionModel(({ index }) => calls(["fast", {}, `fast-${index}`]));
    const thread = openAgent({ model, tools: [fast()], middleware });
    const config = { ...thread.config, recursionLimit: 7 };
    return told(await thread.agent.invoke(user("Go.") as never, config).catch((error: unknown) => error));
  };
  expect(await run([])).toMatchObject({ name: "GraphRecursionError" });
  expect(await run([tetherMiddleware()])).toEqual(await run([]));
});
