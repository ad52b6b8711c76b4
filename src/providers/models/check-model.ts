/** Checks that a value is a chat model that a graph can use: its tools and its other models are set on the graph. */

import { InvalidSettingError } from "../../errors.js";
import { isRecord } from "../../shared/is-record.js";

const EXPECTATION = "a chat model or the name of one";

/** How a model was changed so that a graph cannot use the result, and what to do instead. */
interface Change {
  readonly got: string;
  readonly advice: string;
}

const BOUND_TOOLS: Change = {
  got: "a model with bound tools",
  advice: "Pass the model itself, and its tools as `tools`.",
};
const STRUCTURED: Change = {
  got: "a sequence, as `withStructuredOutput` makes it",
  advice: "Pass the model itself.",
};
const FALLBACKS: Change = {
  got: "a model with fallbacks",
  advice: "Pass the model itself, and the other models as `fallbackModels`.",
};

/**
 * @param setting The name of the setting in errors.
 * @param hint The end of the error for a value that is no model.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function assertPlainModel(setting: string, model: unknown, hint = ""): void {
  if (!isRecord(model) || typeof model["invoke"] !== "function") {
    throw InvalidSettingError.expected(setting, EXPECTATION, model, hint);
  }
  const change = changeOf(model);
  if (change === undefined) return;
  throw new InvalidSettingError(
    setting,
    `Expected \`${setting}\` to be ${EXPECTATION}, got ${change.got}. ${change.advice}`,
  );
}

/** A changed model is recognised by its fields. */
function changeOf(model: Record<string, unknown>): Change | undefined {
  // LangChain clients keep bound options in one of these fields.
  if (["kwargs", "config", "defaultOptions"].some((name) => hasTools(model[name]))) return BOUND_TOOLS;
  // `initChatModel` queues these operations until its model is made.
  const queued = model["_queuedMethodOperations"];
  if (isRecord(queued) && "bindTools" in queued) return BOUND_TOOLS;
  if (isRecord(queued) && "withStructuredOutput" in queued) return STRUCTURED;
  const bound = model["bound"];
  if (isRecord(bound)) return changeOf(bound);
  if ("fallbacks" in model && "runnable" in model) return FALLBACKS;
  if ("steps" in model || ("first" in model && "last" in model)) return STRUCTURED;
  return undefined;
}

function hasTools(options: unknown): boolean {
  return isRecord(options) && Array.isArray(options["tools"]) && options["tools"].length > 0;
}
