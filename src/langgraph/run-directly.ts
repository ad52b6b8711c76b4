/**
 * LangGraph runs a node, and writes what it returns, through a chain of runnables. Each of them merges configs, opens a
 * scope of async context and makes an id for a trace that is never shown. Together they take longer than the rest of a short
 * run.
 */

import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { END, isCommand, type Send, START } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";
import { recordsIn } from "../shared/records-in.js";
import { untilAborted } from "../shared/until-aborted.js";
import { isSend } from "./own-command.js";

type Work = (value: unknown, config: RunnableConfig) => unknown;

/** LangGraph's runnables of this kind have no trace. They call this function, and nothing else. */
interface Callable {
  readonly name?: string;
  readonly trace: false;
  readonly func: Work;
  readonly writes?: readonly unknown[];
}

interface Compiled {
  readonly nodes: Readonly<
    Record<string, { bound: Runnable; writers: Runnable[]; getNode: () => Runnable | undefined }>
  >;
}

/**
 * Lets each node of a compiled graph run and write in one step, and write without a check by the schema of the state. Use
 * it for a graph whose input is checked when it comes in, and whose nodes write what they have checked.
 *
 * @returns The fields of the graph, to make a graph from. The one that is given must not be run.
 */
export function runDirectly<Graph extends Compiled & { builder: object }>(compiled: Graph): Graph {
  for (const [name, node] of Object.entries(compiled.nodes)) {
    const bound: unknown = node.bound;
    const writers: unknown[] = node.writers;
    if (!writers.every(isCallable)) continue;
    const writer = new DirectWriter(name, writers);
    // The first node has writers only. LangGraph makes no sequence of one writer, so this one has the original ones.
    const first = name === START ? node.getNode() : undefined;
    node.writers = [writer];
    const direct = isCallable(bound) ? new DirectNode(name, bound, node.bound) : undefined;
    if (direct !== undefined) node.bound = direct;
    const sequence = direct === undefined ? first : node.getNode();
    if (sequence === undefined) continue;
    const run = (value: unknown, config: RunnableConfig) =>
      direct === undefined ? writer.invoke(value, config) : runAndWrite(direct, writer, value, config);
    const step = new DirectStep(name, run, sequence);
    node.getNode = () => step;
  }
  const fields = { ...compiled };
  // The writers look up the schema in the graph that was compiled, and not in the copy that runs.
  compiled.builder = Object.create(compiled.builder, { [CHECKED_BY]: { value: undefined } });
  return fields;
}

/** The schema with which LangGraph checks what nodes write. It makes two partial copies of it for each write. */
const CHECKED_BY = "_schemaRuntimeDefinition";

/** A step that is run directly. Callbacks get the events of LangGraph's own sequence. */
class DirectStep extends Runnable {
  override lc_namespace = ["langgraph"];
  readonly #run: (value: unknown, config: RunnableConfig) => Promise<unknown>;
  readonly #sequence: Runnable;

  constructor(
    name: string,
    run: (value: unknown, config: RunnableConfig) => Promise<unknown>,
    sequence: Runnable,
  ) {
    super();
    this.name = name;
    this.#run = run;
    this.#sequence = sequence;
  }

  override async invoke(value: unknown, config: RunnableConfig = {}): Promise<unknown> {
    return config.callbacks === undefined ? this.#run(value, config) : this.#sequence.invoke(value, config);
  }
}

/** Runs a node, and writes what it returns. */
async function runAndWrite(
  node: Runnable,
  writer: Runnable,
  value: unknown,
  config: RunnableConfig,
): Promise<unknown> {
  const { signal } = config;
  const work = node.invoke(value, config);
  const written = await (signal === undefined ? work : untilAborted(work, signal));
  signal?.throwIfAborted();
  return writer.invoke(written, config);
}

/** The function of a node, in the async context that LangGraph's `interrupt` and LangChain's runnables read. */
class DirectNode extends Runnable {
  override lc_namespace = ["langgraph"];
  readonly #callable: Callable;
  readonly #bound: Runnable;

  constructor(name: string, callable: Callable, bound: Runnable) {
    super();
    this.name = name;
    this.#callable = callable;
    this.#bound = bound;
  }

  override async invoke(value: unknown, config: RunnableConfig = {}): Promise<unknown> {
    const context = AsyncLocalStorageProviderSingleton.getInstance();
    const outer: unknown = context.getStore();
    // The traces of LangSmith begin at what LangChain puts into the context.
    if (isTraced(config)) return this.#bound.invoke(value, config);
    const variables: unknown = Reflect.get(Object(outer), VARIABLES);
    const store = { extra: { [CONFIG]: config }, ...(variables !== undefined && { [VARIABLES]: variables }) };
    return context.run(store, () => this.#callable.func(value, config));
  }
}

/** LangChain's names for what the context holds. */
const CONFIG = Symbol.for("lc:child_config");
const VARIABLES = Symbol.for("lc:context_variables");

function isTraced({ callbacks }: RunnableConfig): boolean {
  const handlers: unknown = Array.isArray(callbacks) ? callbacks : Reflect.get(Object(callbacks), "handlers");
  return recordsIn(handlers).some(({ name }) => name === "langchain_tracer");
}

/** All writers of a node, one after the other. */
class DirectWriter extends Runnable {
  override lc_namespace = ["langgraph"];
  override name = "write";
  readonly #node: string;
  readonly #writers: readonly Callable[];
  /** LangGraph puts the branch for commands before those of the graph. */
  readonly #commands: Callable | undefined;

  constructor(node: string, writers: readonly Callable[]) {
    super();
    this.#node = node;
    this.#writers = writers;
    this.#commands = writers.find(({ name }) => name === BRANCH);
    for (const { writes = [] } of writers) for (const write of writes) mapDirectly(write);
  }

  override async invoke(value: unknown, config: RunnableConfig = {}): Promise<unknown> {
    const targets = targetsOf(value);
    for (const writer of this.#writers)
      if (writer !== this.#commands || targets === undefined) await writer.func(value, config);
      else if (targets.length > 0) this.#goTo(targets, config);
    return value;
  }

  /** The writes that LangGraph's branch for commands makes. */
  #goTo(targets: readonly (string | Send)[], { configurable }: RunnableConfig): void {
    const writes = targets.map((to) => (isSend(to) ? [TASKS, to] : [`branch:to:${to}`, this.#node]));
    configurable?.[SEND]?.(writes);
  }
}

const BRANCH = "<branch_run>";
const TASKS = "__pregel_tasks";
const SEND = "__pregel_send";

/** The entry of a node's own update has a runnable that turns the update into writes of channels. */
function mapDirectly(write: unknown): void {
  if (!isRecord(write)) return;
  const { mapper } = write;
  if (isCallable(mapper))
    Object.assign(mapper, { invoke: async (...given: Parameters<Work>) => mapper.func(...given) });
}

function isCallable(value: unknown): value is Callable {
  return isRecord(value) && value["trace"] === false && typeof value["func"] === "function";
}

/**
 * The nodes to which the commands of a node lead. Undefined if LangGraph must decide, because a command is meant for a
 * parent graph, or leads to no node.
 */
function targetsOf(value: unknown): readonly (string | Send)[] | undefined {
  const written = Array.isArray(value) ? value : [value];
  if (written.some((one) => isSend(one) || (isCommand(one) && one.graph !== undefined))) return undefined;
  const targets = written
    .filter((one) => isCommand(one))
    .flatMap(({ goto = [] }) => goto)
    .filter((target) => target !== END);
  return targets.every(isTarget) ? targets : undefined;
}

function isTarget(target: unknown): boolean {
  return isSend(target) ? target.node !== END : typeof target === "string" && target !== "";
}
