/** Tells the failures of a model, after which another model can be asked, from everything else. */

import { type ModelError, TetherError } from "../../errors.js";
import { isError } from "../../shared/is-error.js";
import { rootOf } from "./plain-error.js";
import { isTransportError, isUnreachable, statusOf } from "./transport-error.js";

/** Faults of a program. `fetch` throws a `TypeError` too, when it cannot connect. */
const FAULTS: ReadonlySet<string> = new Set(["TypeError", "ReferenceError", "RangeError", "AssertionError"]);

export function isModelError(error: unknown): error is ModelError {
  return TetherError.isInstance(error) && error.code === "MODEL_FAILED";
}

/**
 * Whether a model has failed for this request: its provider cannot be reached, failed or refused the request, or no
 * response was complete. The client has retried what can pass, and the guard has requested broken responses again.
 *
 * False for an abort, for LangGraph's signals, and for faults of a program. Another model would meet them too.
 */
export function failsForGood(error: unknown): error is ModelError {
  if (!isModelError(error)) return false;
  const { cause } = error;
  if (!isError(cause) || statusOf(cause) !== undefined) return true;
  return !FAULTS.has(rootOf(cause).name) || isTransportError(cause) || isUnreachable(cause);
}
