import { InvalidSettingError } from "../../errors.js";

/** The error for a run that must wait for a human and could not be found again. */
export function missingCheckpointer(): InvalidSettingError {
  const reason = "as `requireApproval` needs one to save a run that waits for a human";
  return InvalidSettingError.expected("checkpointer", `a checkpointer, ${reason}`, undefined);
}

/** The error for a run that must archive messages and has no place for them. */
export function missingStore(): InvalidSettingError {
  return InvalidSettingError.expected(
    "store",
    'a store, as `coveredMessages: "archive"` needs one for the messages',
    undefined,
  );
}
