/** An entry of the package that does not work. The message says why. */
export class BrokenDoorError extends Error {
  override readonly name = "BrokenDoorError";
}
