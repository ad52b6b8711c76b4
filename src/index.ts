/** The public entry of the package. No other source file imports it. Adding a name is a decision. */

export {
  type BrokenRule,
  InvalidCommandError,
  InvalidMessageError,
  InvalidModelError,
  InvalidSettingError,
  InvalidStateError,
  InvalidToolError,
  MiddlewareError,
  ModelError,
  TetherError,
  type TetherErrorCode,
  ThreadConflictError,
} from "./errors.js";
export type { AgentGraph } from "./graph/agent-graph.js";
export { type AgentGraphOptions, createAgentGraph } from "./graph/create-agent-graph.js";
export type { RunOptions } from "./graph/run-types.js";
export { filterToolCalls, type ToolCallsToKeep } from "./history/long-threads/filter-tool-calls.js";
export { findSafeCutoff, type Keep } from "./history/long-threads/find-safe-cutoff.js";
export type { Call } from "./history/messages/call.js";
export type { Repair, RepairKind } from "./history/messages/repair.js";
export type { PlaceholderCause } from "./history/messages/result.js";
export {
  PairedMessagesValue,
  pairedMessagesReducer,
  REPAIR_CHANNEL,
} from "./history/reducer/paired-messages.js";
export { type ReducedMessages, reduceMessages } from "./history/reducer/reduce-messages.js";
export { type RepairedHistory, repairHistory } from "./history/reducer/repair-history.js";
export { PairedMessagesDeltaValue } from "./langgraph/channels/paired-messages-delta.js";
export { type MessageSerializer, messageSerializer } from "./langgraph/serializer/message-serializer.js";
export type { AgentContext } from "./middleware/agent-context.js";
export type { ChatContext, ChatOptions } from "./middleware/chat-context.js";
export type { ContextView, StateView } from "./middleware/context.js";
export type { FunctionCall, FunctionContext } from "./middleware/function-context.js";
export {
  type AgentMiddleware,
  agentMiddleware,
  type ChatMiddleware,
  type ChatMiddlewareOptions,
  chatMiddleware,
  type FunctionMiddleware,
  type FunctionMiddlewareOptions,
  functionMiddleware,
  type Middleware,
  type MiddlewareOptions,
} from "./middleware/middleware.js";
export type { Next } from "./middleware/run-onion.js";
export { MiddlewareTermination } from "./middleware/termination.js";
export type { ApprovalRequest, Decision } from "./nodes/approval/approval-request.js";
export type { AgentEvent } from "./nodes/run/agent-event.js";
export type { ArchiveReader, MissingMessage } from "./nodes/summary/archive.js";
export {
  type ReadHistoryOptions,
  type ReadPageOptions,
  readFullHistory,
  restoreCovered,
} from "./nodes/summary/full-history.js";
export { dialectOf } from "./providers/dialects/dialect-of.js";
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
export { type CreateModel, cachedCreateModel } from "./providers/models/cached-create-model.js";
export { type CreateModelOptions, createModel } from "./providers/models/create-model.js";
export type { ProviderTool } from "./providers/models/provider-tools.js";
export {
  MultipleStructuredOutputsError,
  StructuredOutputParsingError,
} from "./settings/format/format-errors.js";
export {
  type ProviderStrategy,
  providerStrategy,
  type ResponseFormat,
  type StructuredOutputError,
  type ToolStrategy,
  type ToolStrategyOptions,
  toolStrategy,
} from "./settings/format/response-format.js";
export type { ResponseSchema } from "./settings/format/response-schema.js";
export type {
  ApprovalCall,
  ApprovalCandidate,
  ApprovalOptions,
  ApprovalRuntime,
  ApprovalState,
  DecisionType,
  RequireApproval,
} from "./settings/require-approval.js";
export type { RunContext } from "./settings/run-context.js";
export type { ToolChoice } from "./settings/tool-choice.js";
