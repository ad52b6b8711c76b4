/**
 * Everything at once: tools that fail, return directly, write own keys or need a human, unregistered tools, structured
 * responses, steered messages, limits, models that fail in the middle of a turn, and cancels. The history is always
 * paired, every input is valid for its provider, each steered message is there once, own keys have what the tools with a
 * result wrote, and each turn ends with a structured response or the reason why there is none.
 */

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, InMemoryStore, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { isPlaceholder, isResult } from "../../src/history/result.js";
import {
  type AgentEvent,
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  providerStrategy,
  toolStrategy,
} from "../../src/index.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { rememberDialect } from "../../src/providers/table/dialect-of.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { turns as waitForTools } from "../support/async.js";
import { type Asked, FunctionModel } from "../support/models.js";
import { law } from "../support/test-tools.js";
import { messagesOf, pairedMessagesOf, user } from "../support/thread.js";

const NAMES = Object.keys(DIALECTS) as DialectName[];
const THREAD = "1";
const OSLO = { name: "Oslo" };
const City = z.object({ name: z.string() }).meta({ title: "City" });

const TOOLS = [
  ...(["plain", "asks", "failing", "direct", "ghost", "right", "wrong", "cancel"] as const),
  ...(["write", "writeDirect", "say", "writeUnknownKey", "writeBadValue"] as const),
];
type Wanted = (typeof TOOLS)[number];
type Reply =
  | { readonly kind: "fails"; readonly status: number | undefined }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "cancel" }
  | { readonly kind: "calls"; readonly batch: readonly Wanted[]; readonly text: string };

const wanted = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...TOOLS.filter((name) => name !== "cancel")) },
  { weight: 1, arbitrary: fc.constant<Wanted>("cancel") },
);
const reply: fc.Arbitrary<Reply> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("calls"),
      batch: fc.array(wanted, { minLength: 1, maxLength: 4 }),
      text: fc.constantFrom("", "Let me see."),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(429, 503, undefined).map((status): Reply => ({ kind: "fails", status })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("A text.", "", JSON.stringify(OSLO), '{"name":7}')
      .map((text): Reply => ({ kind: "text", text })),
  },
  { weight: 1, arbitrary: fc.constant<Reply>({ kind: "cancel" }) },
);
const given = fc.record({
  dialects: fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 2, maxLength: 3 }),
  profiles: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  turns: fc.array(fc.array(reply, { maxLength: 6 }), { minLength: 1, maxLength: 4 }),
  /** At which operations of the thread a message arrives. */
  arrivals: fc.uniqueArray(fc.nat(30), { maxLength: 5 }),
  decisions: fc.array(fc.constantFrom("approve", "reject", "respond"), { minLength: 1, maxLength: 4 }),
  format: fc.constantFrom("none", "tool", "provider", "auto"),
  middleware: fc.constantFrom("none", "holds", "reads", "retries"),
  serves: fc.boolean(),
  /** Whether the calls that write nothing have one id. */
  repeatsIds: fc.boolean(),
  /** How many turns of the event loop the tools take, in the order of their calls. */
  ticks: fc.array(fc.nat(4), { minLength: 1, maxLength: 5 }),
  settings: fc.record({
    maxIterations: fc.integer({ min: 1, max: 8 }),
    maxConsecutiveErrors: fc.integer({ min: 1, max: 3 }),
    maxToolCalls: fc.constantFrom(0, 3, undefined),
    maxToolCallsPerThread: fc.constantFrom(0, 6, undefined),
    toolChoice: fc.constantFrom("auto", "none", "required"),
    maxToolCallsFromHistory: fc.constantFrom(0, 1, undefined),
    maxStreamFallbackAttempts: fc.integer({ min: 0, max: 1 }),
  }),
});

const FORMATS = { none: undefined, tool: toolStrategy(City), provider: providerStrategy(City), auto: City };
const lines = z.array(z.string());
const stateSchema = new StateSchema({
  last: z.string().optional(),
  round: z.number().default(0),
  log: new ReducedValue(
    lines.default(() => []),
    { inputSchema: lines, reducer: (log, added) => [...log, ...added] },
  ),
});
const schema = z.object({});

law("All of it together", 80, [given], async ({ dialects, profiles, turns, arrivals, ...chosen }) => {
  const refused: string[] = [];
  const sent: string[] = [];
  /** The calls that wrote, and whether each has written its last value. */
  const written = new Map<string, boolean>();
  let ids = 0;
  let toolRuns = 0;
  let operations = 0;
  let rounds = 0;
  let left: Reply[] = [];
  let abort = new AbortController();
  let hasCancelled = false;
  const cancel = () => {
    hasCancelled = true;
    abort.abort();
  };
  let steer: (text: string) => Promise<unknown>;
  const operate = async () => {
    operations += 1;
    if (!arrivals.includes(operations)) return;
    const text = `steered ${sent.length}`;
    await steer(text);
    sent.push(text);
  };

  const answer = ({ toolChoice, text }: Asked): string | AIMessage | Error => {
    const next = left.shift();
    if (next?.kind === "fails") return Object.assign(new Error("It failed."), { status: next.status });
    if (next?.kind === "cancel") cancel();
    if (next?.kind === "text") return next.text;
    const wanted: readonly Wanted[] = next?.kind === "calls" ? next.batch : ["right"];
    const isForced =
      ![undefined, "none"].includes(toolChoice as undefined) || text.includes("Do not respond with a text");
    if (next?.kind !== "calls" && !isForced) return JSON.stringify(OSLO);
    const tool_calls = wanted.map((name) => {
      ids += 1;
      const isFormat = name === "right" || name === "wrong";
      const args = name === "right" ? OSLO : {};
      const id = chosen.repeatsIds && !/write|say/.test(name) ? "again" : `call_${ids}`;
      return { id, name: isFormat ? "City" : name, args, type: "tool_call" as const };
    });
    return new AIMessage({ content: next?.kind === "calls" ? next.text : "", tool_calls });
  };
  const models = dialects.map((dialect, index) => {
    const model = new FunctionModel(async (asked) => {
      refused.push(...validateHistory(asked.messages, dialect).map(({ rule }) => `${dialect}: ${rule}`));
      await operate();
      return answer(asked);
    });
    Object.defineProperty(model, "profile", { value: { structuredOutput: profiles[index] } });
    return rememberDialect(model, dialect);
  });
  const make = (name: string, run: (runtime: ToolRuntime) => unknown, returnDirect = false) =>
    tool(
      async (_args: object, runtime: ToolRuntime) => {
        const ticks = chosen.ticks[toolRuns % chosen.ticks.length] ?? 0;
        toolRuns += 1;
        for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
        await operate();
        return run(runtime);
      },
      { name, description: name, schema, returnDirect },
    );
  const write =
    (more: object = {}, says = false) =>
    ({ toolCallId }: ToolRuntime) => {
      written.set(toolCallId, !("last" in more));
      const said = { messages: [new ToolMessage({ content: "said", tool_call_id: toolCallId })] };
      return new Command({ update: { last: toolCallId, log: [toolCallId], ...(says && said), ...more } });
    };
  const tools = [
    make("plain", () => "plain done"),
    make("asks", () => "asks done"),
    make("direct", () => "direct done", true),
    make("cancel", () => cancel()),
    make("failing", () => {
      throw new Error("no");
    }),
    make("write", write()),
    make("writeDirect", write(), true),
    make("say", write({}, true)),
    make("writeUnknownKey", write({ lgo: [] })),
    make("writeBadValue", write({ last: 7 })),
  ];
  const count = chatMiddleware(
    async (context, next) => {
      await next().catch(chosen.middleware === "retries" ? next : undefined);
      rounds += 1;
      context.update({ round: rounds });
    },
    { retry: chosen.middleware === "retries", readOnly: chosen.middleware === "reads" },
  );
  const serve = functionMiddleware(async (context, next) => {
    if (context.call.name === "ghost") context.result = "boo";
    else await next();
  });
  const [model, ...fallbackModels] = models;
  const options = {
    model: model as FunctionModel,
    fallbackModels,
    tools,
    stateSchema,
    middleware: [...(chosen.middleware === "none" ? [] : [count]), ...(chosen.serves ? [serve] : [])],
    requireApproval: { asks: { when: async () => true } },
    checkpointer: new MemorySaver(),
    store: new InMemoryStore(),
    ...chosen.settings,
  } satisfies AgentGraphOptions & { stateSchema: typeof stateSchema };
  const responseFormat = FORMATS[chosen.format as keyof typeof FORMATS];
  const config = { configurable: { thread_id: THREAD } };

  /** One turn, with the decisions of a human. */
  const play = async (text: string, script: readonly Reply[] = []) => {
    left = [...script];
    // Another process, each time.
    const graph = createAgentGraph({ ...options, ...(responseFormat && { responseFormat }) });
    steer = (message) => graph.steer(THREAD, message);
    const events: AgentEvent[] = [];
    const sentBefore = sent.length;
    let error: unknown;
    let loops = 0;
    let input: Parameters<typeof graph.invoke>[0] = user(text);
    for (let waits = true; waits && error === undefined; ) {
      abort = new AbortController();
      try {
        const stream = await graph.stream(input, { ...config, streamMode: "custom", signal: abort.signal });
        for await (const event of stream) events.push(event as AgentEvent);
      } catch (reason) {
        error = reason;
      }
      const { tasks } = await graph.getState(config);
      const [asked] = tasks.flatMap(({ interrupts }) => interrupts);
      waits = asked !== undefined;
      loops += 1;
      expect(loops).toBeLessThan(20);
      const { action_requests: requests = [] } = asked?.value ?? {};
      const decisions = requests.map((_: unknown, index: number) => {
        const type = chosen.decisions[index % chosen.decisions.length];
        return { type, ...(type !== "approve" && { message: "by hand" }) };
      });
      input = new Command({ resume: { [asked?.id ?? ""]: { decisions } } });
    }
    const { values, next } = await graph.getState(config);
    // A steered message begins a turn of its own.
    const isSteered = sent.length > sentBefore;
    if (error === undefined) {
      expect(next).toEqual([]);
      expect(events.at(-1)?.type).toBe("run-end");
      pairedMessagesOf(values);
      const { structuredResponse } = values as { structuredResponse?: unknown };
      const missing = events.filter(({ type }) => type === "structured-response-missing").length;
      if (responseFormat === undefined) expect([structuredResponse, missing]).toEqual([undefined, 0]);
      else if (structuredResponse === undefined) expect(missing).toBeGreaterThan(0);
      else expect(structuredResponse).toEqual(OSLO);
      // A steered message can follow a response that says why there is none.
      if (responseFormat !== undefined && !isSteered)
        expect(missing).toBe(structuredResponse === undefined ? 1 : 0);
    } else if (!abort.signal.aborted) expect(error).toMatchObject({ code: "MODEL_FAILED" });
    messagesOf(values);
    return { values, error, events };
  };

  for (const [index, script] of turns.entries()) await play(`turn ${index}`, script);
  // A tool that went on after the abort of its run puts its result into the inbox.
  await waitForTools();
  const { values, error } = await play("end");
  expect(error).toBeUndefined();
  const messages = pairedMessagesOf(values);
  const isSteered = ({ type, text }: BaseMessage) => type === "human" && text.startsWith("steered");
  expect(messages.filter(isSteered).map(({ text }) => text)).toEqual(sent);
  expect((await options.store.search(["langgraph-tether", "inbox", THREAD])).length).toBe(0);
  const writers = messages.flatMap((message) =>
    isResult(message) && written.has(message.tool_call_id) && !isPlaceholder(message)
      ? message.tool_call_id
      : [],
  );
  // What a tool wrote after the abort of its run comes after what later calls wrote.
  const { log = [], last } = values;
  expect(log.toSorted()).toEqual(writers.toSorted());
  expect(last).toBe(log.findLast((id) => written.get(id)));
  if (!hasCancelled) expect(log).toEqual(writers);
  if (chosen.middleware !== "none") expect(values.round).toBe(rounds);
  const { maxIterations, maxConsecutiveErrors } = chosen.settings;
  const canAskAgain = maxIterations > 1 && maxConsecutiveErrors > 1;
  if (responseFormat !== undefined && canAskAgain) expect(values.structuredResponse).toEqual(OSLO);
  expect(refused).toEqual([]);
  expect(models.flatMap((asked) => asked.refused)).toEqual([]);
});
