/** Views of a checkpointer and a store that give up what does not answer, so that no thread waits for ever. */

import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { answered } from "../shared/answered.js";
import { replaceMethods } from "./replace-methods.js";

export function boundedSaver(
  saver: BaseCheckpointSaver,
  signal: AbortSignal | undefined,
): BaseCheckpointSaver {
  const wait = { what: "The checkpointer", signal };
  return replaceMethods(saver, {
    getTuple: (...given) => answered(saver.getTuple(...given), wait),
    put: (...given) => answered(saver.put(...given), wait),
    putWrites: (...given) => answered(saver.putWrites(...given), wait),
  });
}

/** LangGraph collects what a run asks of its store. A run does not end before that is answered. */
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
