/**
 * The entry `langgraph-tether/history`: functions on message lists. They need only
 * `@langchain/core/messages`, so they also run in browsers and edge workers.
 */

export { InvalidSettingError, TetherError, type TetherErrorCode } from "./errors.js";
export { filterToolCalls, type ToolCallsToKeep } from "./history/long-threads/filter-tool-calls.js";
export { findSafeCutoff, type Keep } from "./history/long-threads/find-safe-cutoff.js";
export type { Call } from "./history/messages/call.js";
export type { Repair, RepairKind } from "./history/messages/repair.js";
export { type ReducedMessages, reduceMessages } from "./history/reducer/reduce-messages.js";
export { type RepairedHistory, repairHistory } from "./history/reducer/repair-history.js";
export type { DialectName } from "./providers/dialects/dialects.js";
export { type Violation, validateHistory } from "./providers/dialects/validate-history.js";
export { explainInput } from "./providers/input/explanation/explain-input.js";
export type {
  AddedMessageExplanation,
  InputExplanation,
  InputReason,
  InputReasonCode,
  StoredMessageExplanation,
} from "./providers/input/explanation/explanation.js";
export { type ModelInputOptions, toModelInput } from "./providers/input/to-model-input.js";
