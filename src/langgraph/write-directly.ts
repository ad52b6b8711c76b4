/**
 * LangGraph writes what a node returns through a chain of runnables. Each of them merges configs, opens a scope of async
 * context and makes an id for a trace that is never shown. Together they take longer than the rest of a short run.
 */

import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { isCommand } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";
import { isSend } from "./own-command.js";

type Write = (value: unknown, config: RunnableConfig) => unknown;

/** LangGraph's runnables of this kind have no trace. They call this function, and nothing else. */
interface Callable {
  readonly name?: string;
  readonly trace: false;
  readonly func: Write;
  readonly writes?: readonly unknown[];
}

interface Written {
  readonly nodes: Readonly<Record<string, { writers: Runnable[] }>>;
}

/**
 * Lets the nodes of a compiled graph write in one step each, and without a check by the schema of the state. Use it for
 * a graph whose input is checked when it comes in, and whose nodes write what they have checked.
 *
 * @returns The fields of the graph, to make a graph from. The one that is given must not be run.
 */
export function writeDirectly<Graph extends Written & { builder: object }>(compiled: Graph): Graph {
  for (const node of Object.values(compiled.nodes)) {
    const writers: unknown[] = node.writers;
    if (writers.every(isCallable)) node.writers = [new DirectWriter(writers)];
  }
  const fields = { ...compiled };
  // The writers look up the schema in the graph that was compiled, and not in the copy that runs.
  compiled.builder = Object.create(compiled.builder, { [CHECKED_BY]: { value: undefined } });
  return fields;
}

/** The schema with which LangGraph checks what nodes write. It makes two partial copies of it for each write. */
const CHECKED_BY = "_schemaRuntimeDefinition";

/** All writers of a node, one after the other. */
class DirectWriter extends Runnable {
  override lc_namespace = ["langgraph"];
  override name = "write";
  readonly #writers: readonly Callable[];
  /** LangGraph puts the branch for commands before those of the graph. */
  readonly #commands: Callable | undefined;

  constructor(writers: readonly Callable[]) {
    super();
    this.#writers = writers;
    this.#commands = writers.find(({ name }) => name === BRANCH);
    for (const { writes = [] } of writers) for (const write of writes) mapDirectly(write);
  }

  override async invoke(value: unknown, config: RunnableConfig = {}): Promise<unknown> {
    for (const writer of this.#writers)
      if (writer !== this.#commands || goesAnywhere(value)) await writer.func(value, config);
    return value;
  }
}

const BRANCH = "<branch_run>";

/** The entry of a node's own update has a runnable that turns the update into writes of channels. */
function mapDirectly(write: unknown): void {
  if (!isRecord(write)) return;
  const { mapper } = write;
  if (isCallable(mapper))
    Object.assign(mapper, { invoke: async (...given: Parameters<Write>) => mapper.func(...given) });
}

function isCallable(value: unknown): value is Callable {
  return isRecord(value) && value["trace"] === false && typeof value["func"] === "function";
}

/** Whether a node returned a command that names the next node, or that is meant for a parent graph. */
function goesAnywhere(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(goesAnywhere);
  if (isSend(value)) return true;
  if (!isCommand(value)) return false;
  const { goto, graph } = value;
  return graph !== undefined || (Array.isArray(goto) ? goto.length > 0 : goto !== undefined);
}
