/**
 * The entry `langgraph-tether/history`: functions on message lists. They need only
 * `@langchain/core/messages`, so they also run in browsers and edge workers.
 */

import "./shared/check-node.js";

export { InvalidSettingError, TetherError, type TetherErrorCode } from "./errors.js";
export { findSafeCutoff, type Keep, type ToolCallsToKeep } from "./history/cut.js";
export { type RepairedHistory, repairHistory } from "./history/reducer/repair-history.js";
export type { Repair } from "./history/repair.js";
export type { DialectName } from "./providers/contract/dialect-name.js";
export type {
  AddedMessageExplanation,
  InputExplanation,
  InputReason,
  InputReasonCode,
  StoredMessageExplanation,
} from "./providers/input/explain-input.js";
export { explainInput } from "./providers/input/explain-input.js";
export { type ModelInputOptions, toModelInput } from "./providers/input/to-model-input.js";
export { type Violation, validateHistory } from "./providers/rules/validate-history.js";
