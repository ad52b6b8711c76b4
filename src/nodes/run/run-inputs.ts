import type { WatchedCheckpoints } from "../../langgraph/checkpoints/watch-checkpointer.js";
import type { RunBag } from "../../middleware/context.js";
import type { MiddlewareByKind } from "../../middleware/middleware.js";
import type { GivenMessages } from "../../middleware/run-agent-middleware.js";
import type { OwnState } from "../../settings/schemas/own-state.js";
import type { LateResults } from "../recovery/late-results.js";

/** What a run was started with. Nothing here changes during the run; its progress is in its `RunRecord`. */
export interface RunInputs {
  /** The input that LangGraph gets. */
  readonly input: unknown;
  /** Shared by all middleware of the run. */
  readonly bag: RunBag;
  readonly middleware: MiddlewareByKind;
  /** The checkpoint that the run began on. */
  readonly checkpoints: WatchedCheckpoints;
  /** The results that came after the run that had asked for them. Undefined: no later run sees the thread. */
  readonly late?: LateResults | undefined;
  /** The own keys of the state. */
  readonly ownState: OwnState;
  /** Messages that a middleware set. Undefined: the model is asked. */
  readonly given?: GivenMessages | undefined;
  /** The structured response of the run whose result a middleware corrects. The correction leaves it as it is. */
  readonly structuredResponse?: unknown;
  /** How many tool calls can run at once; Infinity: all of them. */
  readonly maxConcurrency: number;
  /** Whether a tool or a middleware of another agent started the run. The inbox of the thread is that agent's. */
  readonly isInTool: boolean;
  /** Whether the run only stores its input, without asking the model. */
  readonly endsAfterInput: boolean;
  /** The empty value that the caller resumed the run with; undefined if there was none. */
  readonly emptyAnswer?: string | undefined;
}
