/**
 * Random programs of decisions on one thread: people decide on pages that may show an earlier question, twice, for
 * another thread, and again from old checkpoints, while messages are sent and edited, processes die and are replaced,
 * and the thread is forked. Amounts are unique, so each tells which call of which response was paid.
 *
 * A decision means the calls of the question that its page shows. What must hold:
 *
 * - Each payment was approved, with these arguments, by a decision that meant its call and was not refused.
 * - In one branch, a call is paid at most once, and not after a decision that refused it.
 * - A decision counts, is refused with an `InvalidCommandError`, or is asked again with a `problem`. One on a question
 *   that waits, by its id, counts.
 * - Each request is valid, and the last message is answered.
 *
 * As documented, LangChain's agents take a decision without a name for the question that waits, and do not make the runs
 * of a thread wait for one another. Until the middleware has been reached in a process, they take a stored decision for
 * a new one that names its checkpoint. Nor does an id name a call that an edit or another branch has left out, if the
 * model uses it again. So the programs do without these.
 */

import { setImmediate as turn } from "node:timers/promises";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  Command,
  type Interrupt,
  interrupt,
  MemorySaver,
  type StateSnapshot,
} from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import fc from "fast-check";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { createAgentGraph, InvalidCommandError, type RequireApproval } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { DURABILITIES } from "./crashing-thread.js";
import { FunctionModel } from "./models.js";
import { inThread, messagesOf, pairedMessagesOf } from "./thread.js";
import { makeTool } from "./tools.js";

export const DECIDING_NAMES = ["createAgentGraph", "tetherMiddleware"] as const;

type Round = readonly ("pay" | "look" | "ask")[];
type Kind = "approve" | "edit" | "reject" | "respond";

/** What a decision names. */
type Naming = "question" | "calls" | "both" | "nothing";

/** How requirements of approval differ between deployments. */
const POLICIES = {
  always: ["pay"],
  "two decisions": { pay: { allowedDecisions: ["approve", "reject"] } },
  "a function": ({ name }) => name === "pay",
  "no tool": [],
} as const satisfies Record<string, RequireApproval>;

interface Decide {
  readonly kind: "decide";
  readonly page: 0 | 1;
  /** Whether the page is loaded again before. */
  readonly looks: boolean;
  /** Which of all questions that were ever shown. Undefined: one of the page. */
  readonly seen: number | undefined;
  readonly naming: Naming;
  /** The decisions, for the question's calls in order. */
  readonly kinds: readonly Kind[];
  readonly isReversed: boolean;
  /** Whether the run begins on the question's checkpoint. */
  readonly isAtCheckpoint: boolean;
  /** Whether the other questions of the page are answered too, by their ids. */
  readonly answersAll: boolean;
  /** A second click, with the same decisions or the opposite ones. */
  readonly second: { readonly isAtOnce: boolean; readonly isSame: boolean } | undefined;
}

export type Step = (
  | { readonly kind: "send"; readonly rounds: readonly Round[] }
  | {
      readonly kind: "edit";
      readonly which: number;
      readonly from: number | undefined;
      readonly rounds: readonly Round[];
    }
  | Decide
  /** Decisions that can mean nothing here. */
  | { readonly kind: "stray"; readonly what: (typeof STRAYS)[number] }
  | { readonly kind: "look"; readonly page: 0 | 1 }
  | { readonly kind: "again" }
  | { readonly kind: "continue" }
  /** A state update that begins a branch on an old checkpoint. */
  | { readonly kind: "fork"; readonly from: number }
  | { readonly kind: "deploy"; readonly policy: keyof typeof POLICIES }
) & {
  readonly process: 0 | 1;
  /** After how many writes the process dies. */
  readonly dies: number | undefined;
};

const STRAYS = [
  "random id",
  "upper case",
  "other thread",
  "wrong call",
  "text",
  "empty",
  "mixed keys",
] as const;

export interface Program {
  readonly steps: readonly Step[];
  readonly saver: "memory" | "sqlite";
  readonly channel: "full" | "delta";
  readonly durability: (typeof DURABILITIES)[number];
  /** Whether the model uses the same ids of calls in each response. */
  readonly repeatsIds: boolean;
}

const round: fc.Arbitrary<Round> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant("pay" as const) },
    { weight: 2, arbitrary: fc.constant("look" as const) },
    { weight: 1, arbitrary: fc.constant("ask" as const) },
  ),
  { minLength: 1, maxLength: 4 },
);
const rounds = fc.array(round, { minLength: 0, maxLength: 2, size: "max" });
const page = fc.constantFrom(0, 1);
const kinds = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant("approve" as const) },
    { weight: 3, arbitrary: fc.constantFrom<Kind>("edit", "reject", "reject", "respond") },
  ),
  { minLength: 1, maxLength: 4 },
);
const decide: fc.Arbitrary<Decide> = fc.record({
  kind: fc.constant("decide" as const),
  page,
  looks: fc.boolean(),
  seen: fc.option(fc.nat(5), { nil: undefined, freq: 3 }),
  naming: fc.constantFrom<Naming>("question", "question", "calls", "both", "nothing", "nothing"),
  kinds,
  isReversed: fc.boolean(),
  isAtCheckpoint: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  answersAll: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
  second: fc.option(fc.record({ isAtOnce: fc.boolean(), isSame: fc.boolean() }), { nil: undefined, freq: 1 }),
});
type Plain = Step extends infer One ? (One extends Step ? Omit<One, "process" | "dies"> : never) : never;
const weighted = (weight: number, arbitrary: fc.Arbitrary<Plain>) => ({ weight, arbitrary });
const from = fc.nat(12);
const plain: fc.Arbitrary<Plain> = fc.oneof(
  weighted(4, fc.record({ kind: fc.constant("send" as const), rounds })),
  weighted(9, decide),
  weighted(
    2,
    fc.record({
      kind: fc.constant("edit" as const),
      which: fc.nat(3),
      from: fc.option(from, { nil: undefined }),
      rounds,
    }),
  ),
  weighted(1, fc.record({ kind: fc.constant("stray" as const), what: fc.constantFrom(...STRAYS) })),
  weighted(1, fc.record({ kind: fc.constant("look" as const), page })),
  weighted(1, fc.constant<Plain>({ kind: "again" })),
  weighted(1, fc.constant<Plain>({ kind: "continue" })),
  weighted(1, fc.record({ kind: fc.constant("fork" as const), from })),
  weighted(
    1,
    fc.record({
      kind: fc.constant("deploy" as const),
      policy: fc.constantFrom(...(Object.keys(POLICIES) as (keyof typeof POLICIES)[])),
    }),
  ),
);
const step = (one: fc.Arbitrary<Plain>): fc.Arbitrary<Step> =>
  fc
    .record({
      one,
      process: fc.constantFrom(0 as const, 1 as const),
      dies: fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, fc.nat(9)),
    })
    .map(({ one, ...rest }) => ({ ...one, ...rest }) as Step);
/** A turn that asks, so that most programs have something to decide on. */
const asks = step(
  fc.record({
    kind: fc.constant("send" as const),
    rounds: fc.tuple(
      round.map((names) => ["pay" as const, ...names]),
      round,
    ),
  }),
);

export const decisionPrograms: fc.Arbitrary<Program> = fc.record({
  steps: fc
    .tuple(asks, fc.array(step(plain), { minLength: 2, maxLength: 9, size: "max" }))
    .map(([first, rest]) => [first, ...rest]),
  saver: fc.constantFrom("memory", "sqlite"),
  channel: fc.constantFrom("full", "delta"),
  durability: fc.constantFrom(...DURABILITIES),
  repeatsIds: fc.boolean(),
});

/** A question as a page shows it. */
interface Shown {
  readonly id: string;
  /** Undefined: a tool asks. */
  readonly calls: readonly { readonly id: string; readonly amount: number }[] | undefined;
  readonly config: object;
}

/** A decision as its human means it. */
interface Given {
  readonly step: number;
  /** What is to be paid for each call: its own amount, or an edited one. Undefined: nothing. */
  readonly meant: ReadonlyMap<number, number | undefined>;
  readonly isAtCheckpoint: boolean;
  outcome: "counted" | "refused" | "unknown";
}

interface Payment {
  readonly amount: number;
  readonly step: number;
  readonly branch: number;
}

type Graph = Pick<
  ReturnType<typeof createAgentGraph>,
  "invoke" | "getState" | "getStateHistory" | "updateState"
>;

const OPPOSITE = { approve: "reject", edit: "reject", reject: "approve", respond: "approve" } as const;

/** Plays a program. Returns the promises that were broken, and what happened. */
export async function playDecisions(name: (typeof DECIDING_NAMES)[number], program: Program) {
  const world = new World(name, program);
  try {
    for (const step of program.steps) await world.take(step);
    await world.end();
  } finally {
    world.close();
  }
  return { broken: world.broken(), counts: world.counts, log: world.log };
}

class World {
  readonly counts: Record<string, number> = {};
  readonly log: string[] = [];
  readonly #faults: string[] = [];
  readonly #payments: Payment[] = [];
  readonly #given: Given[] = [];
  /** The call that an edited amount belongs to. */
  readonly #roots = new Map<number, number>();
  readonly #pages: Shown[][] = [[], []];
  readonly #seen: Shown[] = [];
  readonly #scripts = new Map<string, readonly Round[]>();
  readonly #sent: HumanMessage[] = [];
  readonly #name: (typeof DECIDING_NAMES)[number];
  readonly #program: Program;
  readonly #saver: BaseCheckpointSaver;
  readonly #models: FunctionModel[] = [];
  /** The model of each process. */
  readonly #modelOf: FunctionModel[] = [];
  readonly #graphs: (Graph | undefined)[] = [undefined, undefined];
  #policy: keyof typeof POLICIES = "always";
  #step = 0;
  /** Changes when a run begins where the thread has gone on. */
  #branch = 0;
  /** Whether there were calls that are not in the history, whose ids a model can use again. */
  #hasLeftOut = false;
  #amount = 0;
  #stray: Shown | undefined;
  /** How many writes are left before the process dies. */
  #left = Number.POSITIVE_INFINITY;
  #hasDied = false;

  constructor(name: (typeof DECIDING_NAMES)[number], program: Program) {
    this.#name = name;
    this.#program = program;
    this.#saver = program.saver === "memory" ? new MemorySaver() : SqliteSaver.fromConnString(":memory:");
  }

  close(): void {
    if (this.#saver instanceof SqliteSaver) this.#saver.db.close();
  }

  get #isOurs(): boolean {
    return this.#name === "createAgentGraph";
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #fault(text: string): void {
    this.#faults.push(`step ${this.#step}: ${text}`);
  }

  /*
   * Processes.
   */

  /** Another object over the same database, whose process can die. */
  #connect(): BaseCheckpointSaver {
    const saver = this.#saver;
    const write =
      <Given extends unknown[], Result>(method: (...given: Given) => Promise<Result>) =>
      async (...given: Given): Promise<Result> => {
        await turn();
        if (this.#left <= 0) {
          this.#hasDied = true;
          throw new Error("The process has died.");
        }
        this.#left -= 1;
        return method.apply(saver, given);
      };
    return Object.assign(Object.create(saver) as BaseCheckpointSaver, {
      put: write(saver.put),
      putWrites: write(saver.putWrites),
    });
  }

  #graph(process: 0 | 1): Graph {
    this.#graphs[process] ??= this.#start(process);
    return this.#graphs[process];
  }

  #start(process: 0 | 1): Graph {
    const policy = this.#isOurs ? this.#policy : "always";
    const { channel, repeatsIds } = this.#program;
    const model = new FunctionModel(({ messages }) => this.#respond(messages, repeatsIds));
    this.#models.push(model);
    this.#modelOf[process] = model;
    const tools = [
      makeTool("look", async () => "seen"),
      makeTool("ask", async () => `told ${JSON.stringify(interrupt("May I?"))}`),
      ...(policy === "no tool" ? [] : [this.#payTool()]),
    ];
    const checkpointer = this.#connect();
    if (this.#isOurs)
      return createAgentGraph({
        model,
        tools,
        requireApproval: POLICIES[policy] as RequireApproval,
        messagesChannel: channel,
        checkpointer,
      });
    return createAgent({
      model,
      tools,
      stateSchema: tetherState({ delta: channel === "delta" }),
      middleware: [humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never), tetherMiddleware()],
      checkpointer,
    } as never).graph as unknown as Graph;
  }

  #payTool() {
    return makeTool(
      "pay",
      async ({ amount }) => {
        // LangGraph itself starts tools after a failed write.
        if (!this.#isOurs && this.#left <= 0) throw new Error("The process has died.");
        this.#payments.push({ amount, step: this.#step, branch: this.#branch });
        this.log.push(`  pays ${amount}`);
        this.#count("payments");
        await turn();
        return `paid ${amount}`;
      },
      z.object({ amount: z.number() }),
    );
  }

  #respond(messages: readonly BaseMessage[], repeatsIds: boolean): AIMessage | string {
    const start = messages.findLastIndex(({ type }) => type === "human");
    const text = messages[start]?.text.split("\n").at(-1) ?? "";
    const past = messages
      .slice(start)
      .filter((message) => AIMessage.isInstance(message) && (message.tool_calls?.length ?? 0) > 0);
    const round = this.#scripts.get(text)?.[past.length];
    if (round === undefined || round.length === 0) return `answer to ${text}`;
    const tool_calls = round.map((name, index) => {
      this.#amount += 1;
      const id = repeatsIds ? `functions.${name}:${index}` : `call_${this.#amount}`;
      return { type: "tool_call" as const, id, name, args: name === "pay" ? { amount: this.#amount } : {} };
    });
    this.log.push(`  calls ${tool_calls.map(({ name, args }) => `${name} ${args.amount ?? ""}`).join(", ")}`);
    return new AIMessage({ content: "", tool_calls });
  }

  /*
   * Runs.
   */

  async #run(
    process: 0 | 1,
    input: unknown,
    at: object = inThread("1"),
  ): Promise<PromiseSettledResult<object>> {
    const config = { ...at, durability: this.#program.durability };
    const [outcome] = await Promise.allSettled([
      this.#graph(process).invoke(input as never, config as never),
    ]);
    this.log.push(`  -> ${outcome.status === "fulfilled" ? shown(outcome.value) : outcome.reason}`);
    return outcome as PromiseSettledResult<object>;
  }

  #beginBranch(): void {
    this.#branch += 1;
    this.#hasLeftOut = true;
  }

  /** A run that is no decision may fail only if its process dies. */
  async #runPlain(process: 0 | 1, input: unknown, at?: object): Promise<void> {
    const outcome = await this.#run(process, input, at);
    if (outcome.status === "rejected" && !this.#hasDied) this.#fault(`a run failed: ${outcome.reason}`);
  }

  async #state(): Promise<StateSnapshot> {
    return this.#graph(0).getState(inThread("1"));
  }

  async #look(page: 0 | 1): Promise<void> {
    const { tasks, config } = await this.#state();
    this.#pages[page] = tasks.flatMap(({ interrupts }) => interrupts).map((one) => this.#read(one, config));
  }

  #read({ id = "", value }: Interrupt, config: object): Shown {
    const requests = (Object(value) as { actionRequests?: { id?: string; args: { amount: number } }[] })
      .actionRequests;
    const calls = requests?.map(({ id = "", args: { amount } }) => ({ id, amount }));
    const shown = { id, calls, config };
    if (!this.#seen.some((one) => one.id === id)) this.#seen.push(shown);
    return shown;
  }

  /** An earlier checkpoint of the thread. */
  async #earlier(index: number): Promise<StateSnapshot | undefined> {
    const all: StateSnapshot[] = [];
    for await (const snapshot of this.#graph(0).getStateHistory(inThread("1"))) all.push(snapshot);
    return all[Math.min(index, all.length - 1)];
  }

  async take(step: Step): Promise<void> {
    this.#step += 1;
    this.#hasDied = false;
    // With the durability `exit`, a killed run is as if it had not been.
    if (step.dies !== undefined && this.#program.durability !== "exit") this.#left = step.dies;
    this.log.push(`step ${this.#step}: ${JSON.stringify(step)}`);
    this.#count(step.kind);
    await this.#play(step);
    if (this.#hasDied) this.#count("deaths");
    if (this.#left < Number.POSITIVE_INFINITY) this.#graphs.fill(undefined);
    this.#left = Number.POSITIVE_INFINITY;
    // A tool or a write of a dead process can go on.
    for (let turns = 0; turns < 3; turns += 1) await turn();
    for (const [index, page] of this.#pages.entries())
      if (page.length === 0) await this.#look(index as 0 | 1);
  }

  async #play(step: Step): Promise<void> {
    if (step.kind === "send") return this.#send(step.process, step.rounds);
    if (step.kind === "look") return this.#look(step.page);
    if (step.kind === "continue") {
      const { values } = await this.#state();
      // An empty thread has nothing to continue.
      const isEmpty = (values.messages ?? []).length === 0;
      return isEmpty ? undefined : this.#runPlain(step.process, null);
    }
    if (step.kind === "again") {
      const last = this.#sent.at(-1);
      if (last !== undefined) await this.#runPlain(step.process, { messages: [last] });
      return;
    }
    if (step.kind === "deploy") {
      this.#policy = step.policy;
      this.#graphs.fill(undefined);
      return;
    }
    if (step.kind === "edit") return this.#edit(step);
    if (step.kind === "fork") {
      // LangChain takes the update for what the asking node wrote, so the calls go on.
      if (!this.#isOurs) return;
      const earlier = await this.#earlier(step.from);
      if (earlier === undefined) return;
      this.#beginBranch();
      const update = this.#graph(step.process).updateState(earlier.config, { messages: [] } as never);
      await update.catch((error: unknown) => {
        if (!this.#hasDied) this.log.push(`  -> ${error}`);
      });
      return;
    }
    if (step.kind === "stray") return this.#goAstray(step);
    await this.#decide(step);
  }

  #message(rounds: readonly Round[], id: string): HumanMessage {
    const text = `words ${this.#scripts.size}`;
    this.#scripts.set(text, rounds);
    return new HumanMessage({ content: text, id });
  }

  async #send(process: 0 | 1, rounds: readonly Round[]): Promise<void> {
    const message = this.#message(rounds, `user-${this.#sent.length}`);
    this.#sent.push(message);
    await this.#runPlain(process, { messages: [message] });
  }

  async #edit({ process, which, from, rounds }: Extract<Step, { kind: "edit" }>): Promise<void> {
    const { values } = await this.#state();
    const words = ((values.messages ?? []) as BaseMessage[]).filter(({ type }) => type === "human");
    const id = words[Math.min(which, words.length - 1)]?.id ?? "user-0";
    const earlier = from === undefined ? undefined : await this.#earlier(from);
    if (earlier !== undefined) this.#beginBranch();
    const message = this.#message(rounds, id);
    this.#sent.push(message);
    this.#hasLeftOut = true;
    await this.#runPlain(process, { messages: [message] }, earlier?.config);
  }

  /*
   * Decisions.
   */

  async #goAstray({ process, what }: Extract<Step, { kind: "stray" }>): Promise<void> {
    const decisions = [{ type: "approve" }];
    const random = "0123456789abcdef0123456789abcdef";
    const [waiting] = await this.#waiting();
    if (!this.#isOurs && !["random id", "other thread"].includes(what)) return;
    if (what === "other thread" && this.#stray === undefined) {
      const text = "elsewhere";
      this.#scripts.set(text, [["pay"]]);
      const messages = [new HumanMessage(text)];
      await this.#run(process, { messages }, inThread("2"));
      const { tasks, config } = await this.#graph(process).getState(inThread("2"));
      const [one] = tasks.flatMap(({ interrupts }) => interrupts);
      if (one === undefined) return;
      this.#stray = this.#read(one, config);
      this.#seen.splice(this.#seen.indexOf(this.#stray), 1);
    }
    const resume = {
      "random id": { [random]: { decisions } },
      "upper case": { [(waiting?.id ?? random).toUpperCase()]: { decisions } },
      "other thread": { [this.#stray?.id ?? random]: { decisions } },
      "wrong call": { decisions: [{ type: "approve", tool_call_id: "another" }] },
      text: "yes",
      empty: { decisions: [] },
      "mixed keys": { [waiting?.id ?? random]: { decisions }, decisions },
    }[what];
    const outcome = await this.#run(process, new Command({ resume }));
    const meant = new Map<number, number | undefined>();
    // A tool that asks takes whatever answers it.
    if (waiting === undefined || waiting.calls !== undefined)
      this.#settle(outcome, { meant, isAtCheckpoint: false });
  }

  /** What waits, and was not answered. */
  async #waiting(): Promise<Shown[]> {
    const { tasks, config } = await this.#state();
    return tasks
      .filter(({ result, error }) => (result === undefined || result === null) && error === undefined)
      .flatMap(({ interrupts }) => interrupts)
      .map((one) => this.#read(one, config));
  }

  #decisionsOn(
    calls: NonNullable<Shown["calls"]>,
    kinds: readonly Kind[],
    names: boolean,
    isReversed: boolean,
  ) {
    const meant = new Map<number, number | undefined>();
    const size = this.#isOurs ? Math.min(kinds.length, calls.length) : calls.length;
    const decisions = calls.slice(0, size).map(({ id, amount }, index) => {
      const wanted = kinds[index % kinds.length] ?? "reject";
      const type = !this.#isOurs && wanted === "respond" ? "reject" : wanted;
      const root = this.#roots.get(amount) ?? amount;
      const named = names ? { tool_call_id: id } : {};
      if (type === "edit") {
        this.#amount += 1;
        this.#roots.set(this.#amount, root);
        meant.set(root, this.#amount);
        const action = { name: "pay", args: { amount: this.#amount } };
        return { ...named, type, ...(this.#isOurs ? { edited_action: action } : { editedAction: action }) };
      }
      meant.set(root, type === "approve" ? amount : undefined);
      if (type === "respond") return { ...named, type, message: "A human says no." };
      return { ...named, type };
    });
    if (names && isReversed) decisions.reverse();
    return { decisions, meant };
  }

  async #decide(step: Decide): Promise<void> {
    const { process, page, seen, naming, second } = { process: 0 as const, ...step };
    if (step.looks) await this.#look(page);
    const shown =
      seen === undefined ? this.#pages[page]?.[0] : this.#seen[Math.min(seen, this.#seen.length - 1)];
    if (shown === undefined) return;
    const names = this.#isOurs && (naming === "calls" || naming === "both");
    // An agent of LangChain's takes whatever does not name a question for the one that waits.
    const isUnclear = naming === "calls" && this.#program.repeatsIds && this.#hasLeftOut;
    const byId = !this.#isOurs || isUnclear || naming === "question" || naming === "both";
    const makeOne = (kinds: readonly Kind[]) => {
      const { decisions, meant } =
        shown.calls === undefined
          ? { decisions: undefined, meant: new Map<number, number | undefined>() }
          : this.#decisionsOn(shown.calls, kinds, names, step.isReversed);
      const answer = decisions === undefined ? "yes" : { decisions };
      if (!byId) return { resume: answer as unknown, meant };
      const resume: Record<string, unknown> = { [shown.id]: answer };
      const others = step.answersAll && !step.isAtCheckpoint ? (this.#pages[page] ?? []) : [];
      for (const other of others) {
        if (other.id === shown.id) continue;
        const own = other.calls && this.#decisionsOn(other.calls, kinds, false, false);
        resume[other.id] = own === undefined ? "yes" : { decisions: own.decisions };
        for (const [call, amount] of own?.meant ?? []) meant.set(call, amount);
      }
      return { resume: resume as unknown, meant };
    };
    this.#graph(process);
    const hasAsked = (this.#modelOf[process]?.requests.length ?? 0) > 0;
    if (!this.#isOurs && step.isAtCheckpoint && !hasAsked) return;
    const { config: latest } = await this.#state();
    if (step.isAtCheckpoint && idOf(shown.config) !== idOf(latest)) this.#beginBranch();
    const at = step.isAtCheckpoint ? shown.config : inThread("1");
    const isWaiting = async () => (await this.#waiting()).some(({ id }) => id === shown.id);
    const click = async ({ resume, meant }: ReturnType<typeof makeOne>, waits: boolean) => {
      const [asking, ...others] = await this.#waiting();
      const outcome = await this.#run(process, new Command({ resume }), at);
      // A tool that asks takes what names no question.
      const isOneOfTool = asking !== undefined && asking.calls === undefined && others.length === 0;
      const isOfTool = isOneOfTool && !byId && !step.isAtCheckpoint;
      const note = { meant: isOfTool ? new Map() : meant, isAtCheckpoint: step.isAtCheckpoint };
      return this.#settle(outcome, note, step.answersAll ? "one of several" : waits);
    };
    const first = makeOne(step.kinds);
    const other = second?.isSame !== false ? first : makeOne(step.kinds.map((kind) => OPPOSITE[kind]));
    const waits = await isWaiting();
    if (second?.isAtOnce && this.#isOurs && !step.isAtCheckpoint) {
      await Promise.all([click(first, waits), click(other, waits)]);
      return;
    }
    // A process that died can have saved its decision, and the first one counts.
    const isDecided = this.#given.some(({ outcome }) => outcome === "unknown");
    const { outcome } = await click(first, waits);
    const isRight =
      waits && !isDecided && byId && !isUnclear && !step.answersAll && this.#policy !== "two decisions";
    if (isRight && outcome === "refused") this.#fault("a right decision was refused");
    if (waits && outcome === "counted") await this.#assertHeard(first.meant);
    if (second !== undefined && !step.isAtCheckpoint) await click(other, await isWaiting());
  }

  /** @param waits Whether the question waited. */
  #settle(
    outcome: PromiseSettledResult<object>,
    note: Pick<Given, "meant" | "isAtCheckpoint">,
    waits: boolean | "one of several" = false,
  ): Given {
    const given: Given = { step: this.#step, ...note, outcome: "counted" };
    this.#given.push(given);
    if (this.#hasDied) given.outcome = "unknown";
    else if (outcome.status === "rejected") {
      given.outcome = "refused";
      // With several questions, LangGraph refuses an answer that names none.
      const isKnown =
        InvalidCommandError.isInstance(outcome.reason) ||
        /multiple pending interrupts/.test(String(outcome.reason));
      if (this.#isOurs && !isKnown) this.#fault(`a decision failed: ${outcome.reason}`);
    } else if (problemsOf(outcome.value).length > 0) given.outcome = "refused";
    else if (!this.#isOurs && waits === "one of several") given.outcome = "unknown";
    else if (!this.#isOurs && !waits && !note.isAtCheckpoint) given.outcome = "refused";
    this.#count(`decisions ${given.outcome}`);
    return given;
  }

  /** A decision that counts leaves no call waiting. */
  async #assertHeard(meant: Given["meant"]): Promise<void> {
    if (!this.#isOurs) return;
    const waiting = (await this.#waiting()).flatMap(({ calls = [] }) =>
      calls.map(({ amount }) => this.#roots.get(amount) ?? amount),
    );
    for (const call of meant.keys())
      if (waiting.includes(call)) this.#fault(`the decision on ${call} was not heard`);
  }

  /*
   * The judge.
   */

  async end(): Promise<void> {
    this.#step += 1;
    this.#hasDied = false;
    this.#graphs.fill(undefined);
    this.log.push("the end");
    this.#scripts.set("the end", []);
    await this.#runPlain(0, { messages: [new HumanMessage("the end")] });
    try {
      const messages = pairedMessagesOf((await this.#state()).values);
      const last = messages.at(-1);
      if (last?.text !== "answer to the end")
        this.#fault(`the last message has no answer: ${last?.type} ${last?.text}`);
    } catch (error) {
      this.#fault(`the thread is not sound: ${error}`);
    }
    for (const model of this.#models)
      for (const fault of model.refused) this.#fault(`a request is not valid: ${fault}`);
  }

  broken(): string[] {
    const broken = [...this.#faults];
    const paid = new Set<string>();
    for (const { amount, step, branch } of this.#payments) {
      const call = this.#roots.get(amount) ?? amount;
      const about = this.#given.filter(
        (one) => one.step <= step && one.outcome !== "refused" && one.meant.has(call),
      );
      const what = `step ${step}: ${amount} was paid`;
      if (!about.some(({ meant }) => meant.get(call) === amount))
        broken.push(`${what}, and nobody approved it`);
      const counted = about.findLast(({ outcome }) => outcome === "counted");
      const isAfter = counted !== undefined && !about.some((one) => one.step > counted.step);
      const isOnly = about.filter((one) => one.step === counted?.step).length === 1;
      if (counted !== undefined && isAfter && isOnly && counted.meant.get(call) === undefined)
        broken.push(`${what} after a decision that refused it`);
      const key = `${branch} ${call}`;
      if (paid.has(key)) broken.push(`${what} twice in one branch`);
      paid.add(key);
    }
    return broken;
  }
}

function idOf(config: object): unknown {
  return (config as { configurable?: { checkpoint_id?: unknown } }).configurable?.checkpoint_id;
}

function problemsOf(values: object): string[] {
  const { __interrupt__ = [] } = values as { __interrupt__?: Interrupt<{ problem?: string }>[] };
  return __interrupt__.flatMap(({ value }) => Object(value).problem ?? []);
}

function shown(values: object): string {
  const { __interrupt__ = [], messages = [] } = values as {
    __interrupt__?: Interrupt[];
    messages?: BaseMessage[];
  };
  const asked = __interrupt__.map(({ id, value }) => {
    const { actionRequests = [], problem } = Object(value) as {
      actionRequests?: { args: { amount: number } }[];
      problem?: string;
    };
    return `${id} ${actionRequests.map(({ args }) => args.amount)} ${problem ?? ""}`;
  });
  return `${messagesOf({ messages }).at(-1)?.text} ? ${asked.join(" / ")}`;
}
