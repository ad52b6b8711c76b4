import type { WatchedCheckpoints } from "../../langgraph/watch-checkpointer.js";
import type { RunBag } from "../../middleware/context.js";
import type { MiddlewareByKind } from "../../middleware/middleware.js";
import type { GivenMessages } from "../../middleware/run-agent-middleware.js";

/** What a run was started with. Nothing here changes while it runs; what it comes to is in its `RunRecord`. */
export interface RunInputs {
  /** Shared by all middleware of the run. */
  readonly bag: RunBag;
  readonly middleware: MiddlewareByKind;
  /** What the thread's saver knew when the run began. */
  readonly checkpoints: WatchedCheckpoints;
  /** Undefined: the model is asked. */
  readonly given?: GivenMessages | undefined;
  /** How many tool calls may run at once; Infinity: all. */
  readonly maxConcurrency: number;
  /** Whether the run only takes its input. */
  readonly endsAfterInput: boolean;
  /** What was given as an answer to the question that the run waits with, if it answers nothing. */
  readonly emptyAnswer?: string | undefined;
}
