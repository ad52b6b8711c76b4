/** A part of a store: everything in it lies under one label. */

import {
  BaseStore,
  type Item,
  type Operation,
  type OperationResults,
  type SearchOperation,
} from "@langchain/langgraph";
import type { AgentGraph } from "../../src/agent/graph/agent-graph.js";
import { searchItems, storeLabel } from "../../src/threads/stores.js";

/**
 * The store's label for what belongs to a user; for undefined, what runs without a user keep. They never collide,
 * because user names are escaped differently.
 */
export function userLabel(user: string | undefined): string {
  return user === undefined ? "x--nobody" : storeLabel(user);
}

/**
 * The part of a store that belongs to one user. Namespaces are written and read as usual. In the store below they begin
 * with the user's label, so nothing of another user can be reached.
 */
class OwnedStore extends BaseStore {
  readonly #store: BaseStore;
  readonly #label: string;

  constructor(store: BaseStore, label: string) {
    super();
    this.#store = store;
    this.#label = label;
  }

  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = operations.map(async (operation) => {
      if ("namespacePrefix" in operation) return this.#search(operation);
      if (!("namespace" in operation)) throw new Error("The namespaces of this store cannot be listed.");
      const namespace = [this.#label, ...operation.namespace];
      const [item] = await this.#store.batch([{ ...operation, namespace }]);
      return item ? outside(item) : null;
    });
    return (await Promise.all(results)) as OperationResults<Op>;
  }

  async #search(operation: SearchOperation): Promise<Item[]> {
    const { namespacePrefix, limit = 10, offset = 0, ...options } = operation;
    const items: Item[] = [];
    for await (const item of searchItems(this.#store, [this.#label, ...namespacePrefix], options))
      if (items.push(outside(item)) === offset + limit) break;
    return items.slice(offset);
  }
}

/** An item as the part's user sees it. */
function outside(item: Item): Item {
  return { ...item, namespace: item.namespace.slice(1) };
}

/** Gives a graph the user's part of its store. The server sets the store after the graph is made. */
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
