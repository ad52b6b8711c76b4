/**
 * The events `run-end` of a thread, added up as `docs/serving.md` says, are what its models have reported: over runs that
 * end, wait for a human, are aborted, fail, fall back to another model, write a summary, or die with their process. What
 * a killed run had used is known as far as it was saved.
 */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { AIMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, Command, interrupt, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { z } from "zod";
import { type AgentEvent, createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type Asked, calls, FunctionModel } from "../support/models.js";
import { expectWarnings, law } from "../support/test-tools.js";
import { user } from "../support/thread.js";

expectWarnings(/./);

const REPLIES = [
  "text",
  "look",
  "look look",
  "pay",
  "pay look",
  "ask",
  "throw",
  "empty",
  "refused",
  "hang",
] as const;

interface Step {
  readonly kind: "send" | "continue" | "approve" | "reject";
  readonly replies: readonly (typeof REPLIES)[number][];
  readonly fate: "ends" | "aborted" | "killed";
  /** Before which operation of the run its fate comes. */
  readonly at: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("send", "send", "continue", "approve", "reject"),
  replies: fc.array(fc.constantFrom(...REPLIES), { maxLength: 4 }),
  fate: fc.constantFrom("ends", "ends", "aborted", "killed"),
  at: fc.integer({ min: 1, max: 30 }),
});

type Tools = ReturnType<typeof tool>[];

interface Parts {
  readonly model: FunctionModel;
  readonly second: FunctionModel;
  readonly tools: Tools;
  readonly checkpointer: BaseCheckpointSaver;
}

const AGENTS = {
  createAgentGraph: ({ model, second, tools, checkpointer }: Parts) =>
    createAgentGraph({
      model,
      tools: tools as never,
      checkpointer,
      fallbackModels: [second],
      summaryModel: second,
      maxTokensBeforeSummary: 400,
      messagesToKeep: 2,
      requireApproval: ["pay"],
      maxStreamFallbackAttempts: 1,
    }),
  "createAgent with tetherMiddleware": ({ model, second, tools, checkpointer }: Parts) =>
    createAgent({
      model,
      tools: tools as never,
      checkpointer,
      middleware: [
        humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never),
        tetherMiddleware({
          maxStreamFallbackAttempts: 1,
          summary: { summaryModel: second, maxTokensBeforeSummary: 400, messagesToKeep: 2 },
        }),
      ],
    } as never),
} as const;

type AgentName = keyof typeof AGENTS;

/** Each response costs another power of two or three, so that the sum tells which were counted. */
class Provider {
  readonly reported: number[] = [];
  #script: Step["replies"] = [];
  #index = 0;
  readonly #live: () => void;

  constructor(live: () => void) {
    this.#live = live;
  }

  expectRun(script: Step["replies"]): void {
    this.#script = script;
    this.#index = 0;
  }

  model(): FunctionModel {
    return new FunctionModel((asked) => this.#answer(asked));
  }

  async #answer({ signal, text }: Asked): Promise<AIMessage> {
    this.#live();
    const isSummary = /summar/i.test(text);
    const reply = isSummary ? "text" : (this.#script[this.#index++] ?? "text");
    if (reply === "refused") throw Object.assign(new Error("500 The provider is away."), { status: 500 });
    if (reply === "hang")
      await new Promise((_, reject) => {
        const stop = (): void => reject(signal?.reason ?? new Error("Aborted"));
        if (signal?.aborted) stop();
        signal?.addEventListener("abort", stop);
        setTimeout(() => reject(new Error("408 The model is silent.")), 20);
      });
    signal?.throwIfAborted();
    const tokens = 1_000 + this.reported.length;
    this.reported.push(tokens);
    const wanted =
      reply === "text" || reply === "empty" ? [] : reply.split(" ").map((name) => [name] as const);
    const content = "word ".repeat(40);
    const message = wanted.length > 0 ? calls(...wanted) : new AIMessage(reply === "empty" ? "" : content);
    return Object.assign(message, {
      usage_metadata: { input_tokens: tokens - 1, output_tokens: 1, total_tokens: tokens },
    });
  }
}

/** The saver of a process that is dead after its last operation. No proxy: the middleware cannot watch one. */
function ofProcess(saver: BaseCheckpointSaver, live: () => void): BaseCheckpointSaver {
  const own = Object.create(saver) as BaseCheckpointSaver;
  const mortal =
    <Given extends unknown[], Result>(method: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      live();
      const result = await Reflect.apply(method, saver, given);
      live();
      return result;
    };
  return Object.assign(own, { put: mortal(saver.put), putWrites: mortal(saver.putWrites) });
}

describe.each(Object.keys(AGENTS) as AgentName[])("The metering of %s", (name) => {
  let told: AgentEvent[] = [];
  let isDead = false;
  const listen = (event: unknown): void => {
    if (!isDead) told.push(event as AgentEvent);
  };
  beforeEach(() => subscribe("langgraph-tether:event", listen));
  afterEach(() => void unsubscribe("langgraph-tether:event", listen));

  law(
    "is what the models have reported",
    250,
    [fc.array(step, { minLength: 1, maxLength: 6 }), fc.constantFrom("async", "sync")],
    async (given: readonly Step[], durability: "async" | "sync") => {
      const steps = name === "createAgentGraph" ? given : givenToMiddleware(given);
      told = [];
      const saver = new MemorySaver();
      const config = { configurable: { thread_id: "1" } };
      let operations = 0;
      let fate = (): void => {};
      const live = (): void => {
        operations += 1;
        fate();
        if (isDead) throw new Error("The process has died.");
      };
      const provider = new Provider(live);
      const look = tool(
        async () => {
          live();
          return "seen";
        },
        { name: "look", schema: z.object({}) },
      );
      const others = ["pay", "ask", "throw"].map((each) =>
        tool(
          async (_input, _runtime: ToolRuntime) => {
            live();
            if (each === "ask") return `answered ${JSON.stringify(interrupt("may I?"))}`;
            if (each === "throw") throw new Error("no");
            return "paid";
          },
          { name: each, schema: z.object({}) },
        ),
      );
      /** A process lives until it is killed. */
      const start = () =>
        AGENTS[name]({
          model: provider.model(),
          second: provider.model(),
          tools: [look, ...others] as never,
          checkpointer: ofProcess(saver, live),
        }) as ReturnType<typeof createAgentGraph>;
      let agent = start();
      /** The tokens of responses that killed runs have not saved. */
      const unsaved = new Set<number>();
      for (const { kind, replies, fate: ends, at } of steps) {
        const controller = new AbortController();
        operations = 0;
        isDead = false;
        fate = () => {
          if (operations < at || ends === "ends") return;
          if (ends === "killed") isDead = true;
          // What is left of a dead process must not go on for ever.
          controller.abort();
        };
        provider.expectRun(replies);
        const before = provider.reported.length;
        const toldBefore = told.length;
        const input = {
          send: user("word ".repeat(60)),
          continue: null,
          approve: new Command({ resume: decisions("approve") }),
          reject: new Command({ resume: decisions("reject") }),
        }[kind];
        await agent
          .invoke(input as never, { ...config, durability, signal: controller.signal })
          .catch(() => {});
        // What a run notes last, it notes after its result is there.
        await new Promise((resolve) => setTimeout(resolve, 2));
        const wasKilled = isDead;
        fate = () => {};
        isDead = false;
        // It was told how the run ended, and its process died before that was noted: it is told again.
        const isTold = told
          .slice(toldBefore)
          .some((event) => event.type === "run-end" && event.outcome !== "killed");
        if (wasKilled && isTold) return;
        if (wasKilled) {
          agent = start();
          // A process can also die after its last write, and before it tells the end.
          const saved = (await hasEnded(readerOf(agent), config, name))
            ? new Set()
            : await savedTokens(saver, config);
          for (const tokens of provider.reported.slice(before)) if (!saved.has(tokens)) unsaved.add(tokens);
        }
      }
      // The last run can have been killed.
      provider.expectRun([]);
      await agent.invoke(user("go"), config);

      const ends = told.filter((event) => event.type === "run-end");
      for (const { threadId, runId } of ends) expect([threadId, typeof runId]).toEqual(["1", "string"]);
      // A process can die after it has told the end of a killed run, and before it has noted that.
      const byRun = new Map(ends.map(({ runId, usage }) => [runId, usage?.total_tokens ?? 0]));
      const sum = [...byRun.values()].reduce((one, other) => one + other, 0);
      const all = provider.reported.reduce((one, other) => one + other, 0);
      const lost = [...unsaved].reduce((one, other) => one + other, 0);
      if (unsaved.size === 0) expect(sum).toBe(all);
      expect(sum).toBeLessThanOrEqual(all);
      expect(sum).toBeGreaterThanOrEqual(all - lost);
    },
  );
});

/**
 * The middleware knows a killed run by the responses that were stored since. A run that went on with an ended one is not
 * told apart from it for certain, so here a killed run begins a turn, and another turn follows.
 */
function givenToMiddleware(steps: readonly Step[]): Step[] {
  return steps.map((step, index) => {
    if (steps[index - 1]?.fate === "killed") return { ...step, kind: "send", fate: "ends" };
    return step.fate === "killed" ? { ...step, kind: "send" } : step;
  });
}

type Reader = Pick<ReturnType<typeof createAgentGraph>, "getState">;

const readerOf = (agent: object): Reader => Reflect.get(agent, "graph") ?? agent;

const decisions = (type: "approve" | "reject") => ({ decisions: [{ type }] });

/** Under the middleware, a next run that only takes over finished tasks has no hook, so it tells nothing. */
async function hasEnded(reader: Reader, config: object, name: AgentName): Promise<boolean> {
  const { next, tasks } = await reader.getState(config);
  const isSettled = (task: (typeof tasks)[number]) => task.interrupts.length > 0 || "result" in task;
  return (
    next.length === 0 ||
    ((name !== "createAgentGraph" || tasks.some(({ interrupts }) => interrupts.length > 0)) &&
      tasks.every(isSettled))
  );
}

/** The tokens of all responses that a thread's checkpoints and their writes have. */
async function savedTokens(saver: BaseCheckpointSaver, config: object): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  const visit = (value: unknown, depth = 0): void => {
    if (depth > 6 || typeof value !== "object" || value === null) return;
    const tokens: unknown = Reflect.get(Object(Reflect.get(value, "usage_metadata")), "total_tokens");
    if (typeof tokens === "number") found.add(tokens);
    for (const inner of Object.values(value)) visit(inner, depth + 1);
  };
  for await (const { checkpoint, pendingWrites = [] } of saver.list(config)) {
    visit(checkpoint.channel_values);
    // A cancelled or failed run has noted its end there. Writes of a run that went on there cannot be told from its own.
    if (!pendingWrites.some(([, , value]) => Array.isArray(value) && value[1] === "end"))
      visit(pendingWrites);
  }
  return found;
}
