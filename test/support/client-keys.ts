/**
 * Every key of `configurable` and `metadata` that our code or LangGraph reads in a run, and what a client can do with
 * it. With `nothing`, a run is like one without the key. `context` holds settings, and the test of a forged key covers it.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The keys that LangGraph passes to tasks and subgraphs. */
function keysOfLangGraph(): readonly string[] {
  const main = createRequire(import.meta.url).resolve("@langchain/langgraph");
  const code = readFileSync(join(dirname(main), "constants.cjs"), "utf8");
  return [...new Set(code.match(/__pregel_\w+/g))];
}

export const CLIENT_KEYS: Readonly<Record<"configurable" | "metadata", Readonly<Record<string, string>>>> = {
  configurable: {
    ...Object.fromEntries(keysOfLangGraph().map((key) => [key, "nothing"])),
    __tether_run: "nothing",
    __tether_run_id: "nothing",
    // LangGraph's server sets these, whatever a client says.
    assistant_id: "nothing",
    graph_id: "nothing",
    user_id: "nothing",
    langgraph_auth_user: "nothing",
    langgraph_auth_user_id: "nothing",
    langgraph_auth_permissions: "nothing",
    // Settings are read in `context` only.
    systemPrompt: "nothing",
    model: "nothing",
    task_id: "nothing",
    thread_id: "names the thread. A program must check whose it is; the server does so",
    checkpoint_id: "names a checkpoint of the thread, from which the run goes on",
    checkpoint_ns: "nothing but to find the checkpoint in `checkpoint_map`",
    checkpoint_map: "names a checkpoint of the thread, from which the run goes on",
    run_id: "is stored as the name of the run",
  },
  // All of them are stored with the checkpoints, and shown in traces.
  metadata: {
    langgraph_step: "nothing",
    langgraph_node: "nothing",
    langgraph_path: "nothing",
    ls_agent_type: "nothing",
    timeoutMs: "nothing",
    run_id: "nothing",
    thread_id: "nothing",
    task_id: "nothing",
    checkpoint_id: "nothing",
    checkpoint_ns: "nothing",
    assistant_id: "nothing",
    graph_id: "nothing",
  },
};

export const USELESS_KEYS = Object.entries(CLIENT_KEYS).flatMap(([place, keys]) =>
  Object.entries(keys).flatMap(([key, does]) => (does === "nothing" ? [[place, key] as const] : [])),
);

/** JSON, of the kinds that code mistakes for something else. The last one has the fields of LangGraph's own values. */
export const FORGED_VALUES: readonly unknown[] = [
  1,
  null,
  { modes: ["values"], push: "x", subgraphCounter: 7, identity: "admin", "": "x" },
];
