/** What the operator can correct: a wrong option or value, a missing package, or a target that cannot be opened. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly isUsageError = true;

  static isInstance(error: unknown): error is UsageError {
    return typeof error === "object" && error !== null && "isUsageError" in error;
  }
}
