/** A way into the package that does not work. Its message says why. */
export class BrokenDoorError extends Error {
  override readonly name = "BrokenDoorError";
}
