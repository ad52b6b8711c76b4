/**
 * Random programs on one thread: messages, aborts, continuations, decisions and jobs that are sent again, over any agent
 * and any checkpointer. What the model was asked and what tools did is noted while a program is played, and compared
 * with the thread after one more message:
 *
 * - Each message of the user is there once, and in order.
 * - Each result that a tool returned is there, and what it wrote to another key.
 * - A call whose tool must not be replayed was started at most once, and one that a human decides on only if approved.
 * - Each request was valid, each run has ended without an error but the abort's, and the last message is answered.
 *
 * The documents except these of LangChain's agents, and so do the programs:
 *
 * - Two runs at once lose messages. So after an abort before the run's first write, the next step waits until the caller
 *   has heard of it. After every other abort it may begin at once.
 * - Until a run of the process has come to the middleware, nothing waits for writes. So after an abort before that, the
 *   next step waits for them.
 * - A message whose run was aborted before its first write is not promised.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { type BaseCheckpointSaver, Command, ReducedValue, StateSchema } from "@langchain/langgraph";
import { createDeepAgent } from "deepagents";
import fc from "fast-check";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { createAgentGraph, validateHistory } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { turns } from "./async.js";
import type { Durability } from "./crashing-thread.js";
import { deferred } from "./deferred.js";
import { PlayedModel, type PlayOptions } from "./models.js";
import { callIdsOf, strictViolations } from "./strict-check.js";
import { inThread, pairedMessagesOf, user } from "./thread.js";
import { makeTool } from "./tools.js";

const TOOL_NAMES = [
  /** It may be started again. */
  "safe",
  /** It takes effect each time that it is started. */
  "charge",
  /** The same, and a human must approve it. */
  "pay",
  /** It ignores the abort of its run, and ends later. */
  "deaf",
  /** It takes so long that most aborts end it. */
  "heedful",
  /** It also writes to another key. */
  "note",
] as const;

type ToolName = (typeof TOOL_NAMES)[number];

/** A call that the model makes. */
interface ScriptedCall {
  readonly tool: ToolName;
  /** How many turns of the event loop the tool takes. */
  readonly takes: number;
  /** A deaf tool whose run was aborted ends after this many further steps of the program. */
  readonly lag: number;
}

/** The calls of each response of a turn before the last one. */
type Rounds = readonly (readonly ScriptedCall[])[];

/** What can happen while a run goes on, and how many of them a short turn has at least. */
const MOMENTS = {
  begun: 1,
  asked: 2,
  part: 4,
  responded: 2,
  start: 2,
  end: 2,
  saving: 3,
  saved: 3,
  noting: 3,
  noted: 3,
} as const;

type Moment = keyof typeof MOMENTS;

const MOMENT_NAMES = Object.keys(MOMENTS) as readonly Moment[];

/** When a run is aborted. */
interface Cut {
  readonly at: Moment;
  /** How many of these moments pass before. */
  readonly after: number;
  /** How many turns of the event loop pass between the moment and the abort. */
  readonly turns: number;
  /** Whether the next step waits until the caller has heard of the abort. */
  readonly settles: boolean;
}

export type Step = (
  | { readonly kind: "send"; readonly rounds: Rounds }
  | { readonly kind: "continue" }
  | { readonly kind: "decide"; readonly approves: readonly boolean[] }
  | { readonly kind: "again" }
) & { readonly cut: Cut | undefined };

export interface Program {
  readonly steps: readonly Step[];
  /** How many turns of the event loop the operations of the checkpointer take, one after the other. */
  readonly waits: readonly number[];
  /** How the agent is run. */
  readonly manner: "invoke" | "stream";
}

const scriptedCall = (...tools: readonly ToolName[]): fc.Arbitrary<ScriptedCall> =>
  fc.record({ tool: fc.constantFrom(...tools), takes: fc.nat(12), lag: fc.nat(2) });

/** Seldom with a call that waits for a human, because then the others of its response may wait too. */
const anyCall = fc.oneof(
  { weight: 12, arbitrary: scriptedCall(...TOOL_NAMES.filter((name) => name !== "pay")) },
  { weight: 1, arbitrary: scriptedCall("pay") },
);
const roundsOf = (minLength: number): fc.Arbitrary<Rounds> =>
  fc.array(fc.array(anyCall, { minLength: 1, maxLength: 3, size: "max" }), {
    minLength,
    maxLength: 2,
    size: "max",
  });
const rounds = roundsOf(0);
/** A turn that asks a human, maybe beside other calls. */
const asking: fc.Arbitrary<Rounds> = fc
  .tuple(scriptedCall("pay"), fc.array(anyCall, { maxLength: 2 }), fc.boolean())
  .map(([pay, others, isLast]) => [isLast ? [...others, pay] : [pay, ...others]]);

const cutAt = (...moments: readonly Moment[]): fc.Arbitrary<Cut> =>
  fc.constantFrom(...moments).chain((at) =>
    fc.record({
      at: fc.constant(at),
      after: fc.oneof(fc.constant(0), fc.nat(MOMENTS[at] - 1)),
      turns: fc.nat(3),
      settles: fc.boolean(),
    }),
  );
const someCut = cutAt(...MOMENT_NAMES);
/** Most of these come while tools run. */
const cutInWork = fc.oneof(
  { weight: 2, arbitrary: cutAt("start", "end") },
  { weight: 1, arbitrary: someCut },
);
const cut: fc.Arbitrary<Cut | undefined> = fc.option(fc.oneof(someCut, cutInWork), {
  nil: undefined,
  freq: 1,
});

const send = (rounds: fc.Arbitrary<Rounds>, cut: fc.Arbitrary<Cut | undefined>): fc.Arbitrary<Step> =>
  fc.record({ kind: fc.constant("send" as const), rounds, cut });
const resume: fc.Arbitrary<Step> = fc.record({ kind: fc.constant("continue" as const), cut });
const again: fc.Arbitrary<Step> = fc.record({ kind: fc.constant("again" as const), cut });
const decided = (approves: fc.Arbitrary<boolean>, cut: fc.Arbitrary<Cut | undefined>): fc.Arbitrary<Step> =>
  fc.record({
    kind: fc.constant("decide" as const),
    approves: fc.array(approves, { minLength: 1, maxLength: 3 }),
    cut,
  });
const decide = decided(fc.boolean(), cut);
const decideInWork = decided(fc.constant(true), cutInWork);
/** Steps that go together, so that most of them find what they are about. */
const scene: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(send(rounds, cut)) },
  { weight: 3, arbitrary: fc.tuple(send(roundsOf(1), cutInWork), resume) },
  { weight: 3, arbitrary: fc.tuple(send(roundsOf(1), cutInWork), again) },
  { weight: 3, arbitrary: fc.tuple(send(asking, fc.constant(undefined)), decide) },
  { weight: 2, arbitrary: fc.tuple(send(asking, fc.constant(undefined)), decideInWork, resume) },
  { weight: 1, arbitrary: fc.tuple(send(asking, cut), decide, decide) },
  { weight: 2, arbitrary: fc.tuple(fc.oneof(resume, again, decide)) },
);

/** A late result has seven turns to come, and a program is not longer. */
export const programs: fc.Arbitrary<Program> = fc.record({
  steps: fc
    .array(scene, { minLength: 1, maxLength: 4, size: "max" })
    .map((scenes) => scenes.flat().slice(0, 6)),
  waits: fc.array(fc.nat(8), { minLength: 1, maxLength: 5 }),
  manner: fc.constantFrom("invoke", "stream"),
});

type AnyGraph = ReturnType<typeof createAgentGraph>;

interface AgentParts {
  readonly model: PlayedModel;
  readonly tools: ReturnType<typeof makeTool>[];
  readonly checkpointer: BaseCheckpointSaver;
}

/** LangChain writes a thread's values again as input, which changes nothing of a record. */
const keys = {
  notes: new ReducedValue(z.record(z.string(), z.string()).default({}), {
    inputSchema: z.record(z.string(), z.string()),
    reducer: (notes: Record<string, string>, more: Record<string, string>) => ({ ...notes, ...more }),
  }),
};

const asGraph = (agent: unknown) => agent as Pick<AnyGraph, "invoke" | "stream">;

/** The agents that keep these promises. Each comes with the graph that its state is read from. */
export const PROMISING = {
  "createAgent with tetherMiddleware": (parts: AgentParts) => {
    const approval = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never);
    const agent = createAgent({
      ...parts,
      stateSchema: new StateSchema({ ...tetherState().fields, ...keys }),
      middleware: [approval, tetherMiddleware()],
    } as never);
    return { agent: asGraph(agent), graph: agent.graph as unknown as AnyGraph };
  },
  "createDeepAgent with tetherMiddleware": (parts: AgentParts) => {
    const agent = createDeepAgent({
      ...parts,
      stateSchema: new StateSchema(keys),
      interruptOn: { pay: true },
      middleware: [tetherMiddleware()],
    } as never);
    return { agent: asGraph(agent), graph: agent.graph as unknown as AnyGraph };
  },
  createAgentGraph: (parts: AgentParts) => {
    const graph = createAgentGraph({
      ...parts,
      stateSchema: new StateSchema(keys),
      requireApproval: ["pay"],
    } as never) as unknown as AnyGraph;
    return { agent: asGraph(graph), graph };
  },
} as const;

export type Promising = keyof typeof PROMISING;

export const PROMISING_NAMES = Object.keys(PROMISING) as readonly Promising[];

/** What a program did, and the promises that were broken. */
export interface Played {
  readonly broken: readonly string[];
  readonly runs: number;
  /** The moments at which runs were aborted. */
  readonly moments: readonly Moment[];
  /** What tools did and humans decided. */
  readonly stage: Stage;
  readonly messages: readonly BaseMessage[];
}

let threads = 0;

/** Only what never ends takes so many milliseconds. */
const HANGS = 60_000;

/** Plays a program in a new thread. */
export async function play(
  name: Promising,
  checkpointer: BaseCheckpointSaver,
  durability: Durability,
  { steps, waits, manner }: Program,
): Promise<Played> {
  const broken: string[] = [];
  const isQueued = name === "createAgentGraph";
  const stage = new Stage(waits, isQueued);
  const model = new ProgramModel(stage);
  const saver = stage.watched(checkpointer);
  const { agent, graph } = PROMISING[name]({ model, tools: toolsOf(stage), checkpointer: saver });
  threads += 1;
  const config = inThread(`thread-${threads}`);
  const aborting: Promise<void>[] = [];
  let runs = 0;
  const moments: Moment[] = [];

  const inTime = async <Value>(work: Promise<Value>, what: string): Promise<Value> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} hangs`)), HANGS);
    });
    return Promise.race([work, late]).finally(() => clearTimeout(timer));
  };
  const start = async (input: unknown, signal: AbortSignal): Promise<unknown> => {
    const options = { ...config, signal, durability };
    if (manner === "invoke") return agent.invoke(input as never, options as never);
    const modes = { streamMode: ["values", "messages"] };
    const stream = await agent.stream(input as never, { ...options, ...modes } as never);
    let state: object = {};
    for await (const [mode, data] of stream as unknown as AsyncIterable<[string, object]>)
      if (mode === "values") state = { ...state, ...data };
    return state;
  };
  /** One run of a step. Resolves when the next step may begin. */
  const run = async (what: string, input: unknown, cut?: Cut): Promise<"ended" | "aborted"> => {
    runs += 1;
    const controller = new AbortController();
    const own = stage.open(cut);
    const ended = stage
      .inRun(own, () => inTime(start(input, controller.signal), what))
      .then(
        () => stage.accept(input, own),
        (error: unknown) => {
          if (!own.isAborted || !isAbort(error)) broken.push(`${what} failed: ${describe(error)}`);
        },
      );
    stage.tell("begun", own);
    const first = await Promise.race([ended.then(() => "ended" as const), own.isReached]);
    if (cut === undefined || first === "ended") return "ended";
    for (let turn = 0; turn < cut.turns; turn += 1) await new Promise(setImmediate);
    own.isAborted = true;
    moments.push(cut.at);
    controller.abort();
    if (cut.settles || !(own.hasWritten || isQueued)) await ended;
    else aborting.push(ended);
    if (!stage.waitsForWrites) await inTime(stage.allEnded(), "a write");
    return "aborted";
  };

  let last: { text: string; input: object } | undefined;
  for (const [index, one] of steps.entries()) {
    stage.step = index;
    stage.releaseLate();
    const what = `step ${index} (${one.kind})`;
    if (one.kind === "send") {
      const text = `m${index}`;
      stage.scripts.set(text, one.rounds);
      last = { text, input: user(text, `job-${index}`) };
      stage.sent.push(text);
      await run(what, last.input, one.cut);
    } else if (one.kind === "again") {
      if (last === undefined) continue;
      stage.sent.push(last.text);
      await run(what, structuredClone(last.input), one.cut);
    } else if (one.kind === "continue") {
      // A thread without anything cannot be continued.
      if (!stage.accepted.size) await Promise.all(aborting);
      if (!stage.accepted.size) continue;
      await run(what, null, one.cut);
    } else {
      const asked = await askedOf(graph, config);
      if (asked.length === 0) continue;
      const decisions = asked.map((_, place) => ({
        type: one.approves[place % one.approves.length] === true ? "approve" : "reject",
      }));
      const rejected = asked.filter((_, place) => decisions[place]?.type === "reject");
      for (const [place, id] of asked.entries())
        if (decisions[place]?.type === "approve") stage.approved.add(id);
      const end = await run(what, new Command({ resume: { decisions } }), one.cut);
      if (end === "ended") for (const id of rejected) stage.rejected.add(id);
    }
  }
  await Promise.all(aborting);
  // All late tools end.
  stage.step = Number.POSITIVE_INFINITY;
  stage.releaseLate();
  await inTime(stage.allEnded(), "a tool or a write");
  stage.scripts.set("the end", []);
  stage.sent.push("the end");
  await run("the last message", user("the end", "job-end"));
  await inTime(stage.allEnded(), "a tool or a write");
  const { values } = await graph.getState(config);
  broken.push(...stage.brokenIn(values));
  return { broken, runs, moments, stage, messages: Object(values).messages };
}

const isAbort = (error: unknown): boolean => /abort/i.test(describe(error));

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message.slice(0, 300)}` : String(error);
}

/** The labels of the calls that wait for a decision. */
async function askedOf(graph: AnyGraph, config: object): Promise<string[]> {
  const { tasks } = await graph.getState(config as never);
  return tasks
    .flatMap(({ interrupts }) => interrupts)
    .flatMap(
      ({ value }) => (value as { actionRequests?: { args: { label: string } }[] }).actionRequests ?? [],
    )
    .map(({ args }) => args.label);
}

/** The texts of the messages in an input or in channels. */
function textsIn(holder: unknown): string[] {
  const { messages } = Object(holder) as { messages?: unknown };
  return Array.isArray(messages) ? messages.map((message) => String(Object(message).content)) : [];
}

/** A run of the program. */
interface Run {
  readonly cut: Cut | undefined;
  /** How many moments like that of the cut are still to pass. */
  left: number;
  readonly reach: () => void;
  readonly isReached: Promise<"reached">;
  isAborted: boolean;
  /** Whether a write of the run has begun for which the next run waits. */
  hasWritten: boolean;
}

/** The run that a call is part of. There is one for all programs, because Node 20 carries each along with every promise. */
const runHere = new AsyncLocalStorage<Run>();

/** What happens to a thread, and what is known of it. */
class Stage {
  step = 0;
  readonly scripts = new Map<string, Rounds>();
  /** The texts that were sent, in order, and again. */
  readonly sent: string[] = [];
  /** The texts that must be in the thread. */
  readonly accepted = new Set<string>();
  /** Whether the checkpointer is known to let reads wait for writes. */
  waitsForWrites: boolean;
  readonly approved = new Set<string>();
  readonly rejected = new Set<string>();
  readonly faults: string[] = [];
  readonly starts: string[] = [];
  readonly ends = new Map<string, string>();
  readonly notes: string[] = [];
  readonly #waits: readonly number[];
  #operations = 0;
  #late: { step: number; resolve: () => void }[] = [];
  #atWork = 0;

  constructor(waits: readonly number[], waitsForWrites: boolean) {
    this.#waits = waits;
    this.waitsForWrites = waitsForWrites;
  }

  /** A run that begins. */
  open(cut: Cut | undefined): Run {
    const { promise, resolve } = deferred<"reached">();
    const reach = () => resolve("reached");
    return { cut, left: cut?.after ?? 0, reach, isReached: promise, isAborted: false, hasWritten: false };
  }

  inRun<Value>(run: Run, work: () => Value): Value {
    return runHere.run(run, work);
  }

  /** What happens in a run, in that of this call by default. */
  tell(moment: Moment, run = runHere.getStore()): void {
    if (run === undefined || run.cut?.at !== moment) return;
    if (run.left > 0) run.left -= 1;
    else run.reach();
  }

  /** From now on, the messages that a run was given, that it saves or that its model gets must be in the thread. */
  accept(holder: unknown, run = runHere.getStore()): void {
    if (run?.isAborted !== false) return;
    for (const text of textsIn(holder)) if (this.scripts.has(text)) this.accepted.add(text);
  }

  /** A write of a run begins. */
  write(): void {
    const run = runHere.getStore();
    if (run !== undefined && this.waitsForWrites) run.hasWritten = true;
  }

  async during<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#atWork += 1;
    try {
      return await work();
    } finally {
      this.#atWork -= 1;
    }
  }

  /** Resolves when no tool and no write is at work. */
  async allEnded(): Promise<void> {
    const since = performance.now();
    do {
      await turns();
      await turns();
    } while (this.#atWork > 0 && performance.now() - since < HANGS);
  }

  /** Waits until the program has come to a step. */
  untilStep(step: number): Promise<void> {
    if (this.step >= step) return Promise.resolve();
    const { promise, resolve } = deferred();
    this.#late.push({ step, resolve });
    return promise;
  }

  releaseLate(): void {
    for (const { step, resolve } of this.#late) if (step <= this.step) resolve();
    this.#late = this.#late.filter(({ step }) => step > this.step);
  }

  /** The checkpointer, whose operations take a while and are moments. */
  watched(saver: BaseCheckpointSaver): BaseCheckpointSaver {
    const { put, putWrites, getTuple } = saver;
    const wait = async () => {
      this.#operations += 1;
      const count = this.#waits[this.#operations % this.#waits.length] ?? 0;
      for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
    };
    // A view, because several programs can use one checkpointer.
    return Object.assign(Object.create(saver) as BaseCheckpointSaver, {
      put: (...given: Parameters<typeof put>) =>
        this.during(async () => {
          if (this.waitsForWrites) this.#acceptStored(given[1].channel_values);
          this.write();
          this.tell("saving");
          await wait();
          const saved = await put.apply(saver, given);
          this.#acceptStored(given[1].channel_values);
          this.tell("saved");
          return saved;
        }),
      putWrites: (...given: Parameters<typeof putWrites>) =>
        this.during(async () => {
          this.write();
          this.tell("noting");
          await wait();
          await putWrites.apply(saver, given);
          this.tell("noted");
        }),
      getTuple: async (...given: Parameters<typeof getTuple>) => {
        await wait();
        return getTuple.apply(saver, given);
      },
    });
  }

  #acceptStored(channels: Record<string, unknown>): void {
    this.accept(channels);
    this.accept(channels["__start__"]);
  }

  /** The promises that a state breaks. */
  brokenIn(values: unknown): string[] {
    const broken = [...this.faults];
    let messages: BaseMessage[];
    try {
      messages = pairedMessagesOf(values);
    } catch (error) {
      return [...broken, `the thread is not sound: ${error}`];
    }
    const words = messages.filter(({ type }) => type === "human").map(({ text }) => text);
    for (const text of new Set(this.sent)) {
      const count = words.filter((word) => word === text).length;
      if (count > 1) broken.push(`the message ${text} is there ${count} times`);
      if (count === 0 && this.accepted.has(text)) broken.push(`the message ${text} is lost`);
    }
    // A message that was sent again may have entered the thread with any of its runs.
    const once = (text: string) => this.sent.filter((one) => one === text).length === 1;
    const ordered = this.sent.filter((text) => once(text) && this.accepted.has(text));
    const found = words.filter((word) => ordered.includes(word));
    if (found.join() !== ordered.join()) broken.push(`the messages are in the order ${words.join()}`);
    for (const [id, text] of this.ends)
      if (!messages.some((message) => message.type === "tool" && message.text === text))
        broken.push(`the result of ${id} is lost: ${text}`);
    for (const id of new Set(this.starts)) {
      const count = this.starts.filter((one) => one === id).length;
      if (count > 1 && !id.startsWith("safe")) broken.push(`the call ${id} was started ${count} times`);
      if (id.startsWith("pay") && !this.approved.has(id)) broken.push(`the call ${id} was not approved`);
    }
    const { notes } = Object(values) as { notes?: Record<string, string> };
    for (const id of this.notes) if (notes?.[id] !== "written") broken.push(`the note of ${id} is lost`);
    const answer = messages.at(-1);
    if (answer?.type !== "ai" || answer.text !== "answer to the end")
      broken.push(`the last message has no answer: ${answer?.type} ${answer?.text}`);
    return broken;
  }
}

/** Streams its responses in pieces, under an id of its own. */
class ProgramModel extends PlayedModel {
  readonly #stage: Stage;
  #responses = 0;

  constructor(stage: Stage) {
    super();
    this.#stage = stage;
  }

  protected override async play(messages: readonly BaseMessage[], _options: PlayOptions) {
    const stage = this.#stage;
    const rules = validateHistory(messages, "openai").map(({ message }) => message);
    for (const fault of [...strictViolations(messages), ...rules])
      stage.faults.push(`a request is not valid: ${fault}`);
    stage.waitsForWrites = true;
    stage.tell("asked");
    await new Promise(setImmediate);
    this.#responses += 1;
    const id = `response-${this.#responses}`;
    const start = messages.findLastIndex((message) => message.type === "human");
    const text = messages[start]?.text.split("\n").at(-1) ?? "";
    stage.accept({ messages: [{ content: text }] });
    const script = stage.scripts.get(text);
    if (script === undefined) stage.faults.push(`a request does not end with a message of the user: ${text}`);
    const round = messages.slice(start).filter((message) => callIdsOf(message).length > 0).length;
    const calls = (script?.[round] ?? []).map(({ tool, takes, lag }, index) => {
      const label = `${tool}-${text}-${this.#responses}-${index}`;
      return { type: "tool_call" as const, id: label, name: tool, args: { label, takes, lag } };
    });
    const words = calls.length > 0 ? ["Looking", " into", ` ${text}`] : ["answer", " to", ` ${text}`];
    const whole = new AIMessage({ id, content: "", tool_calls: calls });
    stage.tell("responded");
    return [
      ...words.map((content) => new AIMessageChunk({ id, content })),
      ...(calls.length > 0 ? [new AIMessageChunk({ ...whole } as never)] : []),
    ];
  }

  override async *_streamResponseChunks(
    ...given: Parameters<PlayedModel["_streamResponseChunks"]>
  ): ReturnType<PlayedModel["_streamResponseChunks"]> {
    for await (const chunk of super._streamResponseChunks(...given)) {
      yield chunk;
      this.#stage.tell("part");
      await new Promise(setImmediate);
    }
  }
}

const schema = z.object({ label: z.string(), takes: z.number(), lag: z.number() });

function toolsOf(stage: Stage) {
  return TOOL_NAMES.map((name) => {
    const run = async (
      { label, takes, lag }: z.infer<typeof schema>,
      { signal, toolCallId }: ToolRuntime,
    ) => {
      stage.starts.push(label);
      if (stage.rejected.has(label)) stage.faults.push(`the call ${label} was started after its rejection`);
      stage.tell("start");
      const own = stage.step;
      for (let turn = 0; turn < takes; turn += 1) {
        await new Promise(setImmediate);
        if (name !== "deaf" && signal?.aborted) throw signal.reason;
      }
      if (name === "heedful") {
        for (let turn = 0; turn < 30; turn += 1) {
          await new Promise(setImmediate);
          if (signal?.aborted) throw signal.reason;
        }
      }
      if (name === "deaf" && signal?.aborted) await stage.untilStep(own + lag);
      const text = `result of ${label}`;
      stage.ends.set(label, text);
      if (name === "note") stage.notes.push(label);
      stage.tell("end");
      if (name !== "note") return text;
      const messages = [new ToolMessage({ content: text, tool_call_id: toolCallId })];
      return new Command({ update: { notes: { [label]: "written" }, messages } });
    };
    const made = makeTool(
      name,
      (args: z.infer<typeof schema>, runtime) => stage.during(() => run(args, runtime)),
      schema,
    );
    if (name === "safe") made.metadata = { replay: "safe" };
    return made;
  });
}
