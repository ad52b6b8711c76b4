/** The doctor for one thread: the functions that the entry `langgraph-tether/doctor` exports, over the parts below. */

import { InvalidSettingError } from "../errors.js";
import { checkSettings } from "../shared/check-settings.js";
import { isRecord } from "../shared/values.js";
import type { ThreadReport } from "./finding.js";
import { DIAGNOSE_RULES, type DiagnoseOptions, reportOn } from "./findings.js";
import { hintAtPlace, isPlace, storeThreadOf, type ThreadPlace } from "./graph-store.js";
import { PLAN_RULES, type PlanOptions, planFor, type RepairPlan } from "./plan.js";
import type { StoredThread } from "./thread-store.js";

/**
 * Says what is wrong with a thread. Changes nothing. It is pure and synchronous for a `StoredThread`. For a graph and a
 * config, or a store and a reference, it reads the thread first.
 *
 * @throws InvalidSettingError for a wrong option, or if the graph, its checkpointer or the config cannot be used.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
 * import { diagnoseThread } from "langgraph-tether/doctor";
 *
 * const graph = new StateGraph(MessagesAnnotation)
 *   .addNode("model", () => ({}))
 *   .addEdge("__start__", "model")
 *   .compile({ checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * await graph.invoke(
 *   {
 *     messages: [
 *       new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *       new HumanMessage({ id: "b", content: "Are you there?" }),
 *     ],
 *   },
 *   config,
 * );
 * const { outcome, findings } = await diagnoseThread({ graph, config });
 * console.log(outcome, findings.map(({ code }) => code)); // findings [ 'pairing/dangling-call' ]
 * ```
 */
export function diagnoseThread(thread: StoredThread, options?: DiagnoseOptions): ThreadReport;
export function diagnoseThread(place: ThreadPlace, options?: DiagnoseOptions): Promise<ThreadReport>;
export function diagnoseThread(
  given: StoredThread | ThreadPlace,
  options: DiagnoseOptions = {},
): ThreadReport | Promise<ThreadReport> {
  checkSettings(options, DIAGNOSE_RULES, "options");
  return ofThread(given, (thread) => reportOn(thread, options));
}

/**
 * Plans what a repair would do with a thread. Changes nothing. It first looks for results that tools returned; a call
 * without one gets a placeholder that says why. `unplaced` names what has no place in the list, and the receipt keeps
 * it. A thread that is busy or waits for a human is skipped.
 *
 * @throws InvalidSettingError for a wrong option, or if the graph, its checkpointer or the config cannot be used.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
 * import { planRepair } from "langgraph-tether/doctor";
 *
 * const graph = new StateGraph(MessagesAnnotation)
 *   .addNode("model", () => ({}))
 *   .addEdge("__start__", "model")
 *   .compile({ checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * await graph.invoke(
 *   {
 *     messages: [
 *       new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *       new HumanMessage({ id: "b", content: "Are you there?" }),
 *     ],
 *   },
 *   config,
 * );
 * const plan = await planRepair({ graph, config });
 * console.log(plan.kind === "write" && plan.steps.map(({ kind, callId }) => `${kind} ${callId}`)); // [ 'close c1' ]
 * ```
 */
export function planRepair(thread: StoredThread, options?: PlanOptions): RepairPlan;
export function planRepair(place: ThreadPlace, options?: PlanOptions): Promise<RepairPlan>;
export function planRepair(
  given: StoredThread | ThreadPlace,
  options: PlanOptions = {},
): RepairPlan | Promise<RepairPlan> {
  checkSettings(options, PLAN_RULES, "options");
  return ofThread(given, (thread) => planFor(thread, options));
}

async function readThread(place: ThreadPlace): Promise<StoredThread> {
  const { store, ref } = storeThreadOf(place);
  return store.read(ref);
}

function ofThread<Made>(given: StoredThread | ThreadPlace, make: (thread: StoredThread) => Made) {
  if (isPlace(given)) return readThread(given).then(make);
  if (isStoredThread(given)) return make(given);
  const expected = "`{ graph, config }`, `{ store, ref }`, or a thread that a store has read";
  throw InvalidSettingError.expected("thread", expected, given, hintAtPlace(given));
}

function isStoredThread(value: unknown): value is StoredThread {
  if (!isRecord(value) || typeof value["threadId"] !== "string") return false;
  return isRecord(value["content"]) && typeof value["content"]["kind"] === "string";
}
