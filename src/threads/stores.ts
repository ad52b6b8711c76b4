/** What every store takes, and how a store is searched. Each store has limits of its own, and LangGraph's differ. */

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

/** Texts that are labels as they are. `langgraph` must not begin a namespace. */
const PLAIN = /^(?!x--|langgraph$)[A-Za-z0-9-]+$/;

/**
 * The label of a namespace for a text. It has only letters, digits and hyphens, because `PostgresStore` refuses most other
 * characters. Two texts never have the same label.
 */
export function storeLabel(text: string): string {
  if (PLAIN.test(text)) return text;
  return `x--${text.replace(/[^A-Za-z0-9]+/g, (part) => `-${part.split("").map(toHex).join("")}-`)}`;
}

/** Stands before the code of a character that a store may refuse. Its name in Unicode is "substitute". */
const ESCAPE = "\u001a";
const REFUSED = new RegExp(`[\0${ESCAPE}\\p{Surrogate}]`, "gu");
const ESCAPED = new RegExp(`${ESCAPE}([0-9a-f]{4})`, "g");
/** Messages are nested less deep. What clients and damaged stores have can be nested so deep that the stack overflows. */
const LEVELS = 201;

/** A key or another text without NUL and halves of surrogate pairs, which PostgreSQL does not take. */
export function escapeText(text: string): string {
  return text.replace(REFUSED, (character) => ESCAPE + toHex(character));
}

/** A value of an item whose texts, at every depth, are escaped like keys. `unescapeValue` undoes it. */
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
 * The items of a namespace and of those below it, in the order of the store. Search with nothing else: `PostgresStore`
 * compares the beginnings of texts, so for `["1"]` it also returns the items of `["10"]`.
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
    // Stores of other copies of LangGraph and of users can have more or less in an item.
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

/** Whether a namespace begins with the labels of another one, or is the same. */
export function isUnder(namespace: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((label, index) => namespace[index] === label);
}

/**
 * A view of a store that gives up what does not answer. LangGraph collects what a run asks of its store, and a run does
 * not end before that is answered.
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

/** The error for a run that must wait for a human but is not saved, so that nobody could resume it. */
export function missingCheckpointer(given?: unknown): InvalidSettingError {
  const reason = "because `requireApproval` saves a run that waits for a human";
  return InvalidSettingError.expected("checkpointer", `a checkpointer, ${reason}`, given);
}

/** The error for a graph without the store that it needs. */
export function missingStore(reason: string): InvalidSettingError {
  return InvalidSettingError.expected("store", `a store, because ${reason}`, undefined);
}

/** The namespace of the store that has the inbox of a thread. */
export function inboxNamespace(threadId: string): string[] {
  return ["langgraph-tether", "inbox", storeLabel(threadId)];
}
