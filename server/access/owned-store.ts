/** A part of a store: everything in it lies under one label. */

import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from "@langchain/langgraph";
import type { AgentGraph } from "../../src/agent/agent-graph.js";
import { formerLabel, isUnder, searchItems, storeLabel } from "../../src/threads/stores.js";

const PAGE_SIZE = 100;

/**
 * The part of a store that belongs to one user. Whoever uses it writes and reads namespaces as usual. In the store below
 * they begin with the user's label, so nothing of another user can be reached. What earlier versions wrote under another
 * label is found there, until it is written again.
 */
class OwnedStore extends BaseStore {
  readonly #store: BaseStore;
  readonly #labels: UserLabels;

  constructor(store: BaseStore, labels: UserLabels) {
    super();
    this.#store = store;
    this.#labels = labels;
  }

  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const onItems = operations.filter((operation) => "namespace" in operation);
    const own = onItems.map(({ namespace, ...rest }) => ({
      ...rest,
      namespace: [this.#labels.label, ...namespace],
    }));
    const found: unknown[] = own.length === 0 ? [] : await this.#store.batch(own);
    const results = operations.map(async (operation) => {
      if ("namespacePrefix" in operation) return this.#search(operation);
      if (!("namespace" in operation)) return this.#list(operation);
      const item = found[onItems.indexOf(operation)] ?? (await this.#readFormer(operation));
      return outside(item as Item | null);
    });
    return (await Promise.all(results)) as OperationResults<Op>;
  }

  /** What has the former label. It is deleted when it is written again, or is to be deleted. */
  async #readFormer({ namespace, key, ...rest }: GetOperation | PutOperation): Promise<Item | null> {
    const { former } = this.#labels;
    if (former === undefined) return null;
    const place = { namespace: [former, ...namespace], key };
    // A store that refuses the label has nothing there.
    const [item] = await this.#store.batch([place]).catch(() => [null]);
    if (!("value" in rest)) return item ?? null;
    if (item) await this.#store.batch([{ ...place, value: null }]);
    return null;
  }

  async #search(operation: SearchOperation): Promise<Item[]> {
    const { namespacePrefix, limit = 10, offset = 0, ...options } = operation;
    const { label, former } = this.#labels;
    const find = async (first: string) => {
      const items: (Item & { score?: number })[] = [];
      for await (const item of searchItems(this.#store, [first, ...namespacePrefix], options))
        if (items.push(item) === offset + limit) break;
      return items;
    };
    const found = await find(label);
    if (former !== undefined) found.push(...(await find(former).catch(() => [])));
    const scored = found.toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0));
    return scored.slice(offset, offset + limit).flatMap((item) => outside(item) ?? []);
  }

  async #list({ matchConditions = [], maxDepth, ...range }: ListNamespacesOperation): Promise<string[][]> {
    const { label, former } = this.#labels;
    const find = async (first: string) => {
      const isPrefix = ({ matchType }: { matchType: string }) => matchType === "prefix";
      const conditions = matchConditions.map((condition) =>
        isPrefix(condition) ? { ...condition, path: [first, ...condition.path] } : condition,
      );
      if (!conditions.some(isPrefix)) conditions.push({ matchType: "prefix", path: [first] });
      const namespaces: string[][] = [];
      for (let offset = 0; ; offset += PAGE_SIZE) {
        const page = { matchConditions: conditions, limit: PAGE_SIZE, offset };
        const [found = []] = await this.#store.batch([page]);
        namespaces.push(...found.filter((namespace) => isUnder(namespace, [first])));
        if (found.length < PAGE_SIZE) return namespaces.map((namespace) => namespace.slice(1));
      }
    };
    const found = await find(label);
    if (former !== undefined) found.push(...(await find(former).catch(() => [])));
    const shown = found.map((namespace) => namespace.slice(0, maxDepth));
    const unique = new Map(shown.map((namespace) => [JSON.stringify(namespace), namespace]));
    return [...unique.values()].slice(range.offset, range.offset + range.limit);
  }
}

/** An item as the user of the part sees it. */
function outside<Found extends Item>(item: Found | null): Found | null {
  return item && { ...item, namespace: item.namespace.slice(1) };
}

/** Gives a graph the part of its store that belongs to a user. The server sets the store after the graph is made. */
export function withOwnedStore(graph: AgentGraph, labels: UserLabels): AgentGraph {
  let { store } = graph;
  return Object.defineProperty(graph, "store", {
    configurable: true,
    enumerable: true,
    get: () => store,
    set: (given: BaseStore | undefined) => {
      store = given === undefined || given === null ? undefined : new OwnedStore(given, labels);
    },
  });
}

/*
 * The labels under which the store keeps what belongs to a user. Two users never have the same label.
 */

interface UserLabels {
  /** What is written has this label. */
  readonly label: string;
  /** The label of what earlier versions wrote, if it is another one. */
  readonly former: string | undefined;
}

/** Runs without a user have these labels. No user has them: the name of a user is escaped differently. */
const NOBODY: UserLabels = { label: "x--nobody", former: "%nobody" };

export function userLabels(user: string | undefined): UserLabels {
  return user === undefined ? NOBODY : { label: storeLabel(user), former: formerLabel(user) };
}
