/** The public entry of the package. No other source file imports it. Adding a name is a decision. */

import "./shared/check-node.js";

export type { AgentGraph } from "./agent/graph/agent-graph.js";
export { type AgentGraphOptions, createAgentGraph } from "./agent/graph/create-agent-graph.js";
export type { OwnChunk, RunOptions } from "./agent/graph/types.js";
export type {
  AgentContext,
  ChatContext,
  ChatOptions,
  ContextView,
  FunctionCall,
  FunctionContext,
  StateView,
} from "./agent/middleware/contexts.js";
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
} from "./agent/middleware/middleware.js";
export type { Next } from "./agent/middleware/run-onion.js";
export { MiddlewareTermination } from "./agent/middleware/run-onion.js";
export type { ApprovalRequest, Decision } from "./agent/run/approval-request.js";
export type {
  ApprovalCall,
  ApprovalCandidate,
  ApprovalOptions,
  ApprovalRuntime,
  ApprovalState,
  DecisionType,
  RequireApproval,
} from "./agent/settings/approval-rules.js";
export type { ResponseSchema } from "./agent/settings/response-format.js";
export {
  MultipleStructuredOutputsError,
  type ProviderStrategy,
  providerStrategy,
  type ResponseFormat,
  type StructuredOutputError,
  StructuredOutputParsingError,
  type ToolStrategy,
  type ToolStrategyOptions,
  toolStrategy,
} from "./agent/settings/response-format.js";
export type { RunContext } from "./agent/settings/run-context.js";
export type { ToolChoice } from "./agent/settings/tools.js";
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
export { findSafeCutoff, type Keep, type ToolCallsToKeep } from "./history/cut.js";
export { PairedMessagesValue, pairedMessagesReducer } from "./history/reducer/paired-messages.js";
export { type RepairedHistory, repairHistory } from "./history/reducer/repair-history.js";
export type { Repair } from "./history/repair.js";
export type { PlaceholderCause } from "./history/result.js";
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
export {
  type CreateModel,
  type CreateModelOptions,
  cachedCreateModel,
  createModel,
} from "./providers/models/create-model.js";
export { type Violation, validateHistory } from "./providers/rules/validate-history.js";
export { type AskModelOptions, askModel } from "./threads/asking/ask-model.js";
export type { AgentEvent, EventPlace, Rung } from "./threads/events.js";
export { PairedMessagesDeltaValue } from "./threads/langgraph/channels.js";
export { type LockPool, postgresThreadLock, type ThreadLock } from "./threads/saver/thread-lock.js";
export { type MessageSerializer, messageSerializer } from "./threads/serializer/message-serializer.js";
export {
  type HistorySource,
  type MissingMessages,
  type ReadHistoryOptions,
  type ReadPageOptions,
  readFullHistory,
  restoreCovered,
} from "./threads/summary/full-history.js";
export type { RunEndEvent, TokenUsage } from "./threads/usage.js";
