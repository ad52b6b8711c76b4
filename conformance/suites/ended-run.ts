/**
 * A thread of a graph whose run ends early: it is cancelled, or its process dies. The model is a strict provider, which
 * calls what the user says.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { turns } from "../../test/support/async.js";
import { playCalls } from "../../test/support/call-script.js";
import { deferred } from "../../test/support/deferred.js";
import {
  type SentMessage,
  type StrictProvider,
  startStrictProvider,
} from "../../test/support/strict-provider/start-strict-provider.js";
import type { Adapter, GraphParts, MakeGraph } from "../adapter.js";
import type { SuiteName } from "../report/results.js";
import { type Case, fault, messageOf, type Outcome, PASS, type Suite, withinTime } from "../suite.js";
import { type Hold, holdingFetch } from "./holding-fetch.js";

export const DURABILITIES = ["sync", "async", "exit"] as const;
export type Durability = (typeof DURABILITIES)[number];

export type RunTool = (label: string, runtime: ToolRuntime) => unknown;

/** The tools of every thread. Those that wait do it once for a call: if it is started again, nothing holds it up. */
const TOOLS = {
  /** Returns at once. */
  fast: async (label) => `fast done ${label}`,
  /** Ends when its run is aborted. */
  heedful: (_label, { signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  /** Does not end, even if its run is aborted. */
  deaf: () => new Promise(() => {}),
} as const satisfies Readonly<Record<string, RunTool>>;
const WAITING: readonly string[] = ["heedful", "deaf"] satisfies readonly (keyof typeof TOOLS)[];

/** A moment of a run in which the model calls tools. */
export interface Moment {
  readonly calls: readonly string[];
  /** How many of them have ended by then, from the first on. All have begun. */
  readonly ended: number;
  /** The moment is in a request that follows these ends. Undefined: it is in the tools. */
  readonly holds?: Hold["place"];
}

/** The moments that differ in what is left of a run. */
export const MOMENTS = {
  "one of two tools has finished": { calls: ["fast", "heedful"], ended: 1 },
  "one of two tools has finished, and the other ignores the abort": { calls: ["fast", "deaf"], ended: 1 },
  "both tools have finished": { calls: ["fast", "fast"], ended: 2, holds: "before" },
  "the next response has begun": { calls: ["fast"], ended: 1, holds: "in the words" },
} as const satisfies Readonly<Record<string, Moment>>;

export interface ThreadOptions {
  readonly durability: Durability;
  /** @default a new `MemorySaver` */
  readonly saver?: BaseCheckpointSaver;
  /** Tools beside those of every thread. */
  readonly tools?: Readonly<Record<string, RunTool>>;
  readonly parts?: Pick<GraphParts, "approvals" | "stateSchema">;
  /** @default the adapter's */
  readonly makeGraph?: MakeGraph;
}

export type OpenThread = (options: ThreadOptions) => Thread;
export type Thread = ReturnType<typeof openThread>;

/** The input of a run: a message of the user. */
export const say = (content: string, id?: string) => ({
  messages: [{ role: "user", content, ...(id !== undefined && { id }) }],
});

function openThread(
  adapterGraph: MakeGraph,
  provider: StrictProvider,
  label: string,
  { durability, saver = new MemorySaver(), tools, parts, makeGraph = adapterGraph }: ThreadOptions,
) {
  const config = { configurable: { thread_id: "1" } };
  const begun: string[] = [];
  const ended: string[] = [];
  let hold: Hold | undefined;
  const model = new ChatOpenAI({
    model: "gpt-5",
    apiKey: "test-key",
    configuration: { baseURL: `${provider.url("openai")}/v1`, fetch: holdingFetch(() => hold) },
  });
  const made = Object.entries<RunTool>({ ...TOOLS, ...tools }).map(([name, run]) =>
    tool(
      async (args: { label: string }, runtime: ToolRuntime) => {
        const call = `${name} ${args.label}`;
        const isAgain = begun.includes(call) && WAITING.includes(name);
        begun.push(call);
        const result = isAgain ? `${name} done again` : await run(args.label, runtime);
        ended.push(call);
        return result;
      },
      { name, description: name, schema: z.object({ label: z.string() }) },
    ),
  );
  const open = (checkpointer: BaseCheckpointSaver) =>
    makeGraph({ model, tools: made, checkpointer, ...parts });
  let graph = open(saver);

  const read = async () => {
    const { values } = await graph.getState(config);
    return { ...values, messages: (values.messages ?? []) as readonly BaseMessage[] };
  };

  /** Begins a run, and waits for its moment. @throws if the run ends before. */
  async function runUntil({ calls, ended: ends, holds }: Moment, input: unknown) {
    const controller = new AbortController();
    const { signal } = controller;
    const before = { begun: begun.length, ended: ended.length };
    const haveEnded = () => ended.length >= before.ended + ends;
    const held = deferred();
    hold = holds && { place: holds, isNow: haveEnded, onHeld: held.resolve };
    const isAtMoment = async () => {
      if (holds !== undefined) return held.promise;
      while (begun.length < before.begun + calls.length || !haveEnded()) await turns();
    };
    const run = async () => {
      const streamed = await graph.stream(input, { ...config, durability, signal, streamMode: ["messages"] });
      for await (const [, [message]] of streamed as AsyncIterable<[string, [BaseMessage]]>)
        if (holds === "in the words" && message.type === "ai" && message.text !== "") held.resolve();
    };
    const end = run().then(
      () => undefined,
      (error: unknown) => error,
    );
    const early = end.then((error) => {
      throw new Error(`The run ended before its moment: ${messageOf(error)}`);
    });
    await withinTime(Promise.race([isAtMoment(), early]));
    // What a tool returns reaches LangGraph some turns later.
    await turns();
    hold = undefined;
    return { end, abort: () => controller.abort() };
  }

  return {
    label,
    /** The calls that have begun, as `tool label`. */
    begun,
    read,
    /** The input with which the user wants these calls. Their labels are the thread's, with the place of the call. */
    ask: (calls: readonly string[], id?: string) =>
      say(calls.map((name, index) => `call ${name} {"label": "${label}${index}"}`).join(" and "), id),
    /** The bodies of the thread's requests. */
    requests: () =>
      provider.requests.filter(({ body }) => JSON.stringify(body).includes(label)) as readonly {
        readonly body: { readonly messages: readonly SentMessage[] };
        readonly refusal: object | undefined;
      }[],
    /** One run. Resolves to the text of the last message. */
    run: async (input: unknown): Promise<string> => {
      await withinTime(graph.invoke(input, { ...config, durability }));
      return (await read()).messages.at(-1)?.text ?? "";
    },
    /** Cancels a run at a moment. Resolves as soon as the caller hears of it. */
    cancel: async (moment: Moment, input: unknown): Promise<void> => {
      const { end, abort } = await runUntil(moment, input);
      abort();
      await withinTime(end);
    },
    /** The process dies at a moment of a run. Another one opens the thread with what the database has by then. */
    die: async (moment: Moment, input: unknown): Promise<void> => {
      const { abort } = await runUntil(moment, input);
      const { storage, writes } = saver as MemorySaver;
      graph = open(Object.assign(new MemorySaver(), structuredClone({ storage, writes })));
      // What the dead process still does is in another database.
      abort();
    },
  };
}

/** The user writes, which must be answered. Undefined: it was. */
export async function greet(thread: Thread, greeting: string): Promise<Outcome | undefined> {
  const answer = await thread.run(say(greeting));
  return answer === `I read: ${greeting}`
    ? undefined
    : fault("The next message got no answer.", greeting, answer);
}

export interface Expected {
  /** Texts of the user, each of which is in the thread once. */
  readonly said: readonly string[];
  /** Calls that had finished, as `tool label`: their results are in the thread and in the last request once. */
  readonly finished: readonly string[];
}

/** The calls that had finished at a moment of the thread's run. */
export const finishedAt = ({ calls, ended }: Moment, { label }: Thread): readonly string[] =>
  calls.slice(0, ended).map((name, index) => `${name} ${label}${index}`);

export const textsOf = ({ messages }: ReturnType<typeof say>) => messages.map(({ content }) => content);

/** Whether a thread has what it must have, and all its requests were accepted. */
export async function judge(
  thread: Pick<Thread, "requests" | "read">,
  { said, finished }: Expected,
): Promise<Outcome> {
  const requests = thread.requests();
  const { messages } = await thread.read();
  const stored = messages.map(({ type, text }) => ({ role: type === "human" ? "user" : type, text }));
  const sent = (requests.at(-1)?.body.messages ?? []).map(({ role, content }) => ({
    role,
    text: textIn(content),
  }));
  const refused = requests.find(({ refusal }) => refusal !== undefined);
  if (refused !== undefined) return fault(JSON.stringify(refused.refusal), undefined, refused.body);
  const wrong = (problem: string) => fault(problem, undefined, { stored, sent });
  for (const text of said) {
    const count = stored.filter((one) => one.role === "user" && one.text === text).length;
    if (count !== 1) return wrong(`The thread has the user's "${text}" ${count} times.`);
    if (!sent.some((one) => one.role === "user" && one.text.includes(text)))
      return wrong(`The model does not see the user's "${text}".`);
  }
  for (const call of finished) {
    const [name, label] = call.split(" ");
    for (const [place, list] of Object.entries({ thread: stored, request: sent })) {
      const results = list.filter(({ role, text }) => role === "tool" && text === `${name} done ${label}`);
      if (results.length !== 1)
        return wrong(`The ${place} has the result of ${name} ${results.length} times.`);
    }
  }
  return PASS;
}

/** A call that was started more than once, as a fault. Undefined: there is none. */
export function startedTwice({ begun }: Pick<Thread, "begun">, except?: string): Outcome | undefined {
  const again = begun.find((call, index) => begun.indexOf(call) !== index && call.split(" ")[0] !== except);
  return again === undefined ? undefined : fault(`The call "${again}" was started again.`, undefined, begun);
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => String(block?.text ?? "")).join("\n") : "";
}

export type Play = (open: OpenThread, adapter: Adapter) => Promise<Outcome>;

/** A suite of graphs. Each case has a thread of its own, and one provider serves them one after another. */
export function suiteOfThreads(
  name: SuiteName,
  passes: string,
  plays: Readonly<Record<string, Play>>,
): Suite {
  return {
    name,
    passes,
    applies: ({ makeGraph }) => makeGraph !== undefined,
    open: async (adapter) => {
      const provider = await startStrictProvider(playCalls);
      const caseOf = ([id, play]: [string, Play], index: number): Case => ({
        id,
        run: async () => {
          const { makeGraph } = adapter;
          if (makeGraph === undefined) throw new Error("Expected an implementation that is a graph.");
          const label = `${name}-${String(index).padStart(2, "0")}-`;
          let thread: Thread | undefined;
          const open: OpenThread = (options) => {
            thread = openThread(makeGraph, provider, label, options);
            return thread;
          };
          try {
            return await play(open, adapter);
          } catch (error) {
            return fault(messageOf(error), undefined, thread?.requests().at(-1)?.body);
          }
        },
      });
      return { cases: Object.entries(plays).map(caseOf), close: provider.stop };
    },
  };
}
