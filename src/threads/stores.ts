/** What every store takes, and how a store is searched. Stores have different limits, even LangGraph's own. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore } from "@langchain/langgraph";
import { InvalidSettingError } from "../errors.js";
import { toJson } from "../shared/json.js";
import { isRecord, mapTexts, textIn } from "../shared/values.js";
import { answered } from "../shared/waiting.js";
import { replaceMethods } from "./langgraph/replace-methods.js";

/** The id of a config's thread; undefined for a run without a thread. */
export function threadIdOf({ configurable }: Pick<RunnableConfig, "configurable">): string | undefined {
  return textIn(configurable, "thread_id");
}

/** Texts that can be labels unchanged. `langgraph` must not begin a namespace. */
const PLAIN = /^(?!x--|langgraph$)[A-Za-z0-9-]+$/;

/**
 * A text's namespace label. It has only letters, digits and hyphens, because `PostgresStore` refuses most other
 * characters. Different texts have different labels.
 */
export function storeLabel(text: string): string {
  if (PLAIN.test(text)) return text;
  return `x--${text.replace(/[^A-Za-z0-9]+/g, (part) => `-${part.split("").map(toHex).join("")}-`)}`;
}

/** Precedes the code of a character that a store may refuse. Unicode calls it "substitute". */
const ESCAPE = "\u001a";
const REFUSED = new RegExp(`[\0${ESCAPE}\\p{Surrogate}]`, "gu");
const ESCAPED = new RegExp(`${ESCAPE}([0-9a-f]{4})`, "g");
/** Messages are nested less deep. Clients and damaged stores can have values so deep that the stack overflows. */
const LEVELS = 201;

/** A key or another text without NUL and lone surrogates, which PostgreSQL does not accept. */
export function escapeText(text: string): string {
  return text.replace(REFUSED, (character) => ESCAPE + toHex(character));
}

/** An item's value with all its texts escaped like keys. `unescapeValue` undoes it. */
export function escapeValue(value: Record<string, unknown>): Record<string, unknown> {
  return mapTexts(value, escapeText, LEVELS) as Record<string, unknown>;
}

export function unescapeValue(value: unknown): unknown {
  const restore = (text: string): string =>
    text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return mapTexts(value, restore, LEVELS);
}

function toHex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, "0");
}

type SearchOptions = Pick<NonNullable<Parameters<BaseStore["search"]>[1]>, "filter" | "query">;
type FoundItem = Awaited<ReturnType<BaseStore["search"]>>[number];

const PAGE_SIZE = 100;

/**
 * The items of a namespace and of those below it, in the store's order. Search only with this: `PostgresStore` compares
 * text prefixes, so for `["1"]` it also returns the items of `["10"]`.
 */
export async function* searchItems(
  store: Pick<BaseStore, "search">,
  namespace: readonly string[],
  options: SearchOptions = {},
): AsyncGenerator<FoundItem> {
  const seen = new Set<string | undefined>();
  for (let offset = 0; ; offset += PAGE_SIZE) {
    const page = await store.search([...namespace], { ...options, limit: PAGE_SIZE, offset });
    const before = seen.size;
    // Stores of users, or of other copies of LangGraph, can have more or less in an item.
    for (const item of page.filter((found: unknown) => isRecord(found))) {
      const place = item.namespace ?? [...namespace];
      const id = toJson([place, item.key]);
      if (!seen.has(id) && isUnder(place, namespace)) yield { ...item, namespace: place };
      seen.add(id);
    }
    // A store with an index can return the same items on every page.
    if (page.length < PAGE_SIZE || seen.size === before) return;
  }
}

/** Whether a namespace begins with another's labels. */
export function isUnder(namespace: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((label, index) => namespace[index] === label);
}

/**
 * A view of a store that abandons what does not answer. LangGraph collects a run's store requests, and a run does not
 * end before they are answered.
 */
export function boundedStore(store: BaseStore, signal: AbortSignal | undefined): BaseStore {
  const wait = { what: "The store", signal };
  return replaceMethods(store, {
    batch: (operations) => answered(store.batch(operations), wait),
    get: (...given) => answered(store.get(...given), wait),
    put: (...given) => answered(store.put(...given), wait),
    delete: (...given) => answered(store.delete(...given), wait),
    search: (...given) => answered(store.search(...given), wait),
    listNamespaces: (...given) => answered(store.listNamespaces(...given), wait),
  });
}

/** The error of a run that must wait for a human but is not saved, so that nobody could resume it. */
export function missingCheckpointer(given?: unknown): InvalidSettingError {
  const reason = "because `requireApproval` saves a run that waits for a human";
  return InvalidSettingError.expected("checkpointer", `a checkpointer, ${reason}`, given);
}

/** The error of a graph without the store that it needs. */
export function missingStore(reason: string): InvalidSettingError {
  return InvalidSettingError.expected("store", `a store, because ${reason}`, undefined);
}

/** The store's namespace for a thread's inbox. */
export function inboxNamespace(threadId: string): string[] {
  return ["langgraph-tether", "inbox", storeLabel(threadId)];
}
