import { InvalidSettingError } from "../../errors.js";

/** The error for a run that must wait for a human but is not saved, so that nobody could resume it. */
export function missingCheckpointer(): InvalidSettingError {
  const reason = "because `requireApproval` saves a run that waits for a human";
  return InvalidSettingError.expected("checkpointer", `a checkpointer, ${reason}`, undefined);
}

/** The error for a graph without the store that it needs. */
export function missingStore(
  reason = '`coveredMessages: "archive"` moves messages to it',
): InvalidSettingError {
  return InvalidSettingError.expected("store", `a store, because ${reason}`, undefined);
}
