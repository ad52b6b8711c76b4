/**
 * The entry `langgraph-tether/doctor`: finds, explains and repairs broken threads where they are stored. It needs Node.
 * The command line `langgraph-tether` is built on it.
 */

import "./shared/check-node.js";

export type { ApplyOptions, RepairOutcome, UndoOutcome } from "./doctor/apply.js";
export { applyRepair, type UndoOptions, undo } from "./doctor/apply.js";
export { diagnoseThread, planRepair } from "./doctor/doctor.js";
export { type Explanation, explain, type Reason, type ReducedRequest } from "./doctor/explain.js";
export type {
  Finding,
  FindingCode,
  Fix,
  FixKind,
  RepairStepKind,
  Severity,
  ThreadReport,
} from "./doctor/finding.js";
export type { DiagnoseOptions } from "./doctor/findings.js";
export { type FinishOptions, type FinishOutcome, finishThreads } from "./doctor/finish.js";
export type { GraphThread, StoreThread, ThreadPlace } from "./doctor/graph-store.js";
export { createGraphStore, type GraphStoreOptions } from "./doctor/graph-store.js";
export type {
  PlanOptions,
  RepairPlan,
  RepairStep,
  SkipReason,
  Unplaced,
} from "./doctor/plan.js";
export type { ReceiptEntry, ReceiptIntent, ReceiptResult, ReceiptWriter } from "./doctor/receipt.js";
export { openReceipt, type ReceiptFile, readReceipt } from "./doctor/receipt.js";
export type {
  EndedRun,
  ListedThread,
  OpenTask,
  ReadBounds,
  StepSelection,
  StoredMessages,
  StoredThread,
  ThreadRef,
  ThreadSelection,
  ThreadStatus,
  ThreadStep,
  ThreadStore,
  ThreadWrite,
  WriteOutcome,
} from "./doctor/thread-store.js";
export {
  type UnfinishedCall,
  type UnfinishedOptions,
  type UnfinishedThread,
  unfinishedThreads,
} from "./doctor/unfinished.js";
