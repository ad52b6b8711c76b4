/**
 * The entry `langgraph-tether/doctor`: finds, explains and mends broken threads where they are stored. It needs Node. The
 * command line `langgraph-tether` is made of it.
 */

export { applyRepair, diagnoseThread, planRepair, readThread } from "./doctor/doctor.js";
export type { Finding, FindingCode, Fix, FixKind, Severity, ThreadReport } from "./doctor/finding.js";
export { createGraphStore, type GraphStoreOptions } from "./doctor/graph/graph-store.js";
export type { GraphThread } from "./doctor/graph/graph-thread.js";
export type { RepairOutcome, UndoOutcome } from "./doctor/outcomes.js";
export type { StoreThread, ThreadPlace } from "./doctor/place.js";
export type { ReceiptEntry, ReceiptIntent, ReceiptResult, ReceiptWriter } from "./doctor/receipt/receipt.js";
export { openReceipt, type ReceiptFile, readReceipt } from "./doctor/receipt/receipt-file.js";
export type { ApplyOptions } from "./doctor/repair/apply-plan.js";
export type { PlanOptions } from "./doctor/repair/plan-repair.js";
export { type UndoOptions, undo } from "./doctor/repair/undo.js";
export type { RepairPlan, RepairStep, RepairStepKind, SkipReason, Unplaced } from "./doctor/repair-plan.js";
export { type Explanation, explain, type Reason } from "./doctor/report/explain.js";
export type { DiagnoseOptions } from "./doctor/report/report-on.js";
export { type SizeReport, sizeOf } from "./doctor/report/size-of.js";
export type {
  EndedRun,
  OpenTask,
  StoredMessages,
  StoredThread,
  ThreadSizes,
  ThreadStatus,
} from "./doctor/stored-thread.js";
export { threadOfList } from "./doctor/thread-of-list.js";
export type {
  ThreadRef,
  ThreadSelection,
  ThreadStore,
  ThreadWrite,
  WriteOutcome,
} from "./doctor/thread-store.js";
