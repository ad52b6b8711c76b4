/** What docs/agents-as-tools.md says: an agent that is a tool of another agent, with each combination of two kinds. */

import { setTimeout as delay } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, Command, MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { calls, FunctionModel, type WantedCall } from "../support/models.js";
import { abortRun } from "../support/test-tools.js";
import { inThread, pairedScript, script, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

/** What the tests use of an agent, whichever kind it is. */
interface Agent {
  invoke(input: unknown, config?: object): Promise<{ messages: BaseMessage[] }>;
  stream(input: unknown, config: object): Promise<AsyncIterable<unknown>>;
  getState(config: object): Promise<{
    tasks: readonly { interrupts: readonly { id?: string; value?: unknown }[] }[];
  }>;
}
interface Parts {
  readonly model: FunctionModel;
  readonly tools: readonly StructuredToolInterface[];
  readonly checkpointer?: BaseCheckpointSaver | boolean;
}
type MakeAgent = (parts: Parts) => Agent;

const contextSchema = z.object({ userId: z.string().optional() });

/** The message is the list of its steps, each a list of calls. The final response has what the calls returned. */
const obedient = () =>
  new FunctionModel(({ messages }) => {
    const [order, ...turn] = messages.slice(messages.findLastIndex(({ type }) => type === "human"));
    const steps: readonly WantedCall[][] = JSON.parse(order?.text ?? "[]");
    const step = steps[turn.filter(({ type }) => type === "ai").length];
    const results = turn.flatMap(({ type, text }) => (type === "tool" ? [text] : []));
    return step === undefined ? results.join(", ") : calls(...step);
  });

const beforeTransfer = humanInTheLoopMiddleware({
  interruptOn: { transfer: true },
} as never) as unknown as AgentMiddleware;

/** All ask before `transfer`. */
const KINDS: Readonly<Record<string, MakeAgent>> = {
  createAgentGraph: (parts) =>
    createAgentGraph({
      ...parts,
      dialect: "openai",
      contextSchema,
      requireApproval: ({ name }) => name === "transfer",
    }) as unknown as Agent,
  "createAgent + tetherMiddleware": ({ tools, ...rest }) =>
    createAgent({
      ...rest,
      tools: [...tools],
      contextSchema,
      middleware: [tetherMiddleware({ dialect: "openai" }), beforeTransfer],
    }).graph as unknown as Agent,
  createAgent: ({ tools, ...rest }) =>
    createAgent({ ...rest, tools: [...tools], middleware: [beforeTransfer] }).graph as unknown as Agent,
};
const OURS = Object.keys(KINDS).filter((kind) => kind !== "createAgent");
const PAIRS = OURS.flatMap((parent) => OURS.map((child) => ({ parent, child })));

/** `helper` and `other` are tools that run a child. `memory` is the checkpointer of both children. */
function openTeam(
  { parent, child }: (typeof PAIRS)[number],
  { memory, ownThread }: { readonly memory?: Parts["checkpointer"]; readonly ownThread?: string } = {},
) {
  const log: string[] = [];
  let begin = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const does = (name: string) =>
    makeTool(
      name,
      async ({ what }, { context }) => {
        const userId = Reflect.get(Object(context), "userId");
        const done = `${name} ${what}${userId === undefined ? "" : ` for ${userId}`}`;
        log.push(done);
        return done;
      },
      z.object({ what: z.string().default("it") }),
    );
  const hang = makeTool("hang", async (_, { signal }) => {
    begin();
    await delay(60_000, undefined, { ...(signal && { signal }) }).catch((error: unknown) => {
      log.push("hang was aborted");
      throw error;
    });
  });
  const makeOf = (kind: string) => KINDS[kind] as MakeAgent;
  const model = obedient();
  const asTool = (name: string) => {
    const tools = [does("look"), does("transfer"), hang];
    const agent = makeOf(child)({ model, tools, ...(memory !== undefined && { checkpointer: memory }) });
    return tool(
      async ({ steps }, config) => {
        const own = ownThread === undefined ? config : { ...config, ...inThread(ownThread) };
        return (await agent.invoke(user(JSON.stringify(steps)), own as object)).messages.at(-1)?.text;
      },
      { name, schema: z.object({ steps: z.array(z.any()) }) },
    );
  };
  const tools = [asTool("helper"), asTool("other"), does("note")];
  const saver = new MemorySaver();
  const agent = makeOf(parent)({ model: obedient(), tools, checkpointer: saver });
  const config = { ...inThread("1"), context: { userId: "ada" } };
  return {
    log,
    hasBegun,
    /** Whether a finished task of any graph has its result in the saver. */
    hasSaved: (result: string) => async () => {
      for await (const { pendingWrites = [] } of saver.list(inThread("1")))
        if (JSON.stringify(pendingWrites).includes(`"content":"${result}`)) return true;
      return false;
    },
    /** What the children's model was asked, each request as lines without the texts of the user and of responses. */
    requests: () =>
      model.requests.map(({ messages }) =>
        script(messages).map((line) => line.replace(/^(human|ai): .*/, "$1")),
      ),
    send: (step: readonly WantedCall[], options: object = {}) =>
      agent.invoke(user(JSON.stringify([step])), { ...config, ...options }),
    stream: (step: readonly WantedCall[], options: object) =>
      agent.stream(user(JSON.stringify([step])), { ...config, ...options }),
    /** What each pending question asks about, by the id of the question. */
    asked: async () => {
      const { tasks } = await agent.getState(config);
      const asked = tasks.flatMap(({ interrupts }) => interrupts);
      return new Map(asked.map(({ id = "", value }) => [id, whatOf(value)]));
    },
    decideAll: (decision: object) => agent.invoke(new Command({ resume: { decisions: [decision] } }), config),
    /** Answers questions by their ids. */
    decide: (answers: Iterable<readonly [id: string, decision: object]>) => {
      const resume = Object.fromEntries(
        [...answers].map(([id, decision]) => [id, { decisions: [decision] }]),
      );
      return agent.invoke(new Command({ resume }), config);
    },
  };
}

/** The argument of the one call that a question is about, in the form of either kind. */
function whatOf(value: unknown): string {
  const { action_requests: ours, actionRequests: theirs } = value as {
    readonly [key in "action_requests" | "actionRequests"]?: readonly { args: { what: string } }[];
  };
  return (ours ?? theirs)?.[0]?.args.what ?? "";
}

const approve = { type: "approve" };
const reject = { type: "reject", message: "no" };
const transfer = (what: string): WantedCall[][] => [[["look", { what }]], [["transfer", { what }]]];

describe.each(PAIRS)("$child as a tool of $parent", (pair) => {
  describe.each<[string, { memory?: true }]>([
    ["no memory", {}],
    ["`checkpointer: true`", { memory: true }],
  ])("with %s", (_, memory) => {
    it.each([[["ten", "twenty"]], [["ten"]], [["twenty"]]])(
      "asks about each of two calls at once, and %j are made, once",
      async (approved) => {
        const { log, send, asked, decide } = openTeam(pair, memory);
        await send([
          ["helper", { steps: transfer("ten") }],
          ["helper", { steps: transfer("twenty") }],
          ["note"],
        ]);
        const questions = await asked();
        expect([...questions.values()].toSorted()).toEqual(["ten", "twenty"]);
        const before = ["look ten for ada", "look twenty for ada", "note it for ada"];
        expect(log.toSorted()).toEqual(before);
        const { messages } = await decide(
          [...questions].map(([id, what]) => [id, approved.includes(what) ? approve : reject]),
        );
        // What had run before the question is not run again.
        const made = approved.map((what) => `transfer ${what} for ada`);
        expect(log.toSorted()).toEqual([...before, ...made].toSorted());
        const results = pairedScript({ messages }).slice(2, -1);
        expect(results.map((line) => made.some((done) => line.includes(done)))).toEqual([
          approved.includes("ten"),
          approved.includes("twenty"),
          false,
        ]);
      },
    );
  });

  it("has an answer without an id refused by `createAgentGraph`, and used for all questions by `createAgent` alone", async () => {
    const { log, send, decideAll } = openTeam(pair);
    await send([
      ["helper", { steps: transfer("ten") }],
      ["other", { steps: transfer("twenty") }],
    ]);
    if (pair.parent === "createAgentGraph") {
      await expect(decideAll(approve)).rejects.toThrow("you must specify the interrupt id");
      return;
    }
    await decideAll(approve);
    const all = ["transfer ten for ada", "transfer twenty for ada"];
    expect(log.slice(2).toSorted()).toEqual(pair.child === "createAgentGraph" ? [] : all);
  });

  it("can be answered one question after the other", async () => {
    const { log, send, asked, decide } = openTeam(pair);
    await send([
      ["helper", { steps: transfer("ten") }],
      ["helper", { steps: transfer("twenty") }],
    ]);
    for (const what of ["twenty", "ten"]) {
      const [id = ""] = [...(await asked())].find(([, each]) => each === what) ?? [];
      await decide([[id, approve]]);
    }
    expect(log.filter((line) => line.startsWith("transfer"))).toEqual([
      "transfer twenty for ada",
      "transfer ten for ada",
    ]);
  });

  it("streams its responses and the results of its tools in the stream of the run, marked by namespace", async () => {
    const { stream } = openTeam(pair);
    const seen: string[] = [];
    const step: WantedCall[] = [["helper", { steps: [[["look", { what: "up" }]]] }]];
    for await (const chunk of await stream(step, { streamMode: "messages", subgraphs: true })) {
      const [namespace, [message]] = chunk as [string[], [BaseMessage]];
      if (message.text.trim() !== "") seen.push(`${namespace.length}: ${message.type} ${message.text}`);
    }
    expect(seen).toEqual([
      "1: tool look up for ada",
      "1: ai look up for ada",
      "0: tool look up for ada",
      "0: ai look up for ada",
    ]);
  });

  it("hears at once that the run is cancelled, and the thread goes on with the results of its siblings", async () => {
    const { log, hasBegun, send } = openTeam(pair);
    await abortRun(
      (signal) => send([["note"], ["helper", { steps: [[["hang"]]] }]], { signal }),
      () => hasBegun,
    );
    await expect.poll(() => log).toEqual(["note it for ada", "hang was aborted"]);
    const { messages } = await send([["note", { what: "more" }]]);
    expect(pairedScript({ messages }).slice(2, 4)).toEqual([
      "tool: note it for ada",
      expect.stringMatching(/^tool! Tool call helper .* It may or may not have taken effect\.$/),
    ]);
    expect(log).toEqual(["note it for ada", "hang was aborted", "note more for ada"]);
  });

  const looks = (what: string): WantedCall => ["helper", { steps: [[["look", { what }]]] }];
  const turn = (what: string) => ["human", "ai> look", `tool: look ${what} for ada`];

  it.each<[string, Parameters<typeof openTeam>[1] & object, ReturnType<typeof turn>]>([
    ["begins anew each time without a memory", {}, []],
    ["remembers earlier turns with `checkpointer: true`", { memory: true }, [...turn("up"), "ai"]],
    [
      "does so too with a saver and a thread that its tool names",
      { memory: new MemorySaver(), ownThread: "2" },
      [],
    ],
  ])("%s", async (_, options, remembered) => {
    const { send, requests } = openTeam(pair, options);
    await send([looks("up")]);
    await send([looks("down")]);
    expect(requests().at(-1)).toEqual([...remembered, ...turn("down")]);
  });

  it("shares the memory of LangGraph with other tools only under `tetherMiddleware`", async () => {
    const { send, requests } = openTeam(pair, { memory: true });
    await send([looks("up")]);
    await send([["other", { steps: [[["look", { what: "down" }]]] }]]);
    const isShared = pair.parent === "createAgent + tetherMiddleware";
    const last = requests().at(-1) ?? [];
    expect(last.filter((line) => line === "human")).toHaveLength(isShared ? 2 : 1);
  });

  it.each<[string, { memory?: true }, readonly string[]]>([
    ["does not know without a memory", {}, []],
    [
      "recovers with `checkpointer: true`",
      { memory: true },
      [
        "human",
        "ai> look hang",
        "tool: look it for ada",
        expect.stringMatching(/^tool! Tool call hang .* It may or may not have taken effect\.$/),
      ],
    ],
  ])("%s what its tools had returned before a cancel", async (_, options, recovered) => {
    const { hasBegun, hasSaved, send, requests } = openTeam(pair, options);
    await abortRun(
      (signal) => send([["helper", { steps: [[["look"], ["hang"]]] }]], { signal }),
      async () => {
        await hasBegun;
        await expect.poll(hasSaved("look it")).toBe(true);
      },
    );
    await send([looks("down")]);
    expect(requests().at(-2)).toEqual([...recovered, "human"]);
  });
});

it("LangGraph gives two calls of one response one memory: of two payments one is made twice", async () => {
  const { log, send, asked, decide } = openTeam(
    { parent: "createAgent", child: "createAgent" },
    { memory: true },
  );
  await send([
    ["helper", { steps: [[["transfer", { what: "ten" }]]] }],
    ["helper", { steps: [[["transfer", { what: "twenty" }]]] }],
  ]);
  await decide([...(await asked()).keys()].map((id) => [id, approve]));
  expect(log).toEqual(["transfer twenty for ada", "transfer twenty for ada"]);
});
