/** A part of a store: everything in it lies under one label. */

import {
  BaseStore,
  type Item,
  type MatchCondition,
  type Operation,
  type OperationResults,
} from "@langchain/langgraph";
import type { AgentGraph } from "../../graph/agent-graph.js";

/**
 * The part of a store that belongs to one user. Whoever uses it writes and reads namespaces as usual. In the store below
 * they begin with the user's label, so nothing of another user can be reached.
 */
class OwnedStore extends BaseStore {
  readonly #store: BaseStore;
  readonly #label: string;

  constructor(store: BaseStore, label: string) {
    super();
    this.#store = store;
    this.#label = label;
  }

  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = await this.#store.batch(
      operations.map((operation) => this.#inside(operation)),
    );
    return results.map((result) => outside(result)) as OperationResults<Op>;
  }

  #inside(operation: Operation): Operation {
    const under = (namespace: string[]) => [this.#label, ...namespace];
    if ("namespacePrefix" in operation)
      return { ...operation, namespacePrefix: under(operation.namespacePrefix) };
    if ("namespace" in operation) return { ...operation, namespace: under(operation.namespace) };
    const { matchConditions = [], maxDepth } = operation;
    const hasPrefix = matchConditions.some(({ matchType }) => matchType === "prefix");
    const conditions: MatchCondition[] = matchConditions.map((condition) =>
      condition.matchType === "prefix" ? { ...condition, path: [this.#label, ...condition.path] } : condition,
    );
    if (!hasPrefix) conditions.push({ matchType: "prefix", path: [this.#label] });
    return {
      ...operation,
      matchConditions: conditions,
      ...(maxDepth !== undefined && { maxDepth: maxDepth + 1 }),
    };
  }
}

/** An item, a list of items or a list of namespaces, as the user of the part sees it. */
function outside(result: unknown): unknown {
  if (Array.isArray(result)) {
    const isNamespace = result.length > 0 && result.every((label) => typeof label === "string");
    return isNamespace ? result.slice(1) : result.map(outside);
  }
  if (typeof result !== "object" || result === null || !("namespace" in result)) return result;
  const { namespace, ...rest } = result as Item;
  return { ...rest, namespace: namespace.slice(1) };
}

/** Gives a graph the part of its store that belongs to a label. The server sets the store after the graph is made. */
export function withOwnedStore(graph: AgentGraph, label: string): AgentGraph {
  let { store } = graph;
  return Object.defineProperty(graph, "store", {
    configurable: true,
    enumerable: true,
    get: () => store,
    set: (given: BaseStore | undefined) => {
      store = given === undefined || given === null ? undefined : new OwnedStore(given, label);
    },
  });
}
