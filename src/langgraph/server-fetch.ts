/** The LangGraph server that runs in this process: requests to it, and what it says of a run. */

import type { RunnableConfig } from "@langchain/core/runnables";

/** Where the server keeps the function. The SDK's client uses it in graphs. Not exported. */
const SERVER_FETCH = Symbol.for("langgraph_api:fetch");

/** Where a server that is no part of the process keeps its address. Not exported. */
const SERVER_URL = Symbol.for("langgraph_api:url");

/** Whether LangGraph's server runs graphs in this process. */
export function isServerProcess(): boolean {
  return SERVER_FETCH in globalThis || SERVER_URL in globalThis;
}

/** Contract: sends a request to a path of the server, through all of its checks, and returns the response. */
export type ServerFetch = (path: string, init: RequestInit) => Promise<Response>;

/** @throws Error in a process without a server. */
export const serverFetch: ServerFetch = (path, init) => {
  const send: unknown = Reflect.get(globalThis, SERVER_FETCH);
  if (typeof send !== "function") throw new Error("Expected a LangGraph server in this process.");
  return send(path, init);
};

export interface ServedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
}

/** The run for which the server asks for a graph; undefined if it only reads or changes a state. */
export function servedRunOf(config: RunnableConfig | undefined): ServedRun | undefined {
  const { run_id: runId, thread_id: threadId, assistant_id: assistantId } = config?.configurable ?? {};
  return typeof runId === "string"
    ? { runId, threadId: String(threadId), assistantId: String(assistantId) }
    : undefined;
}
