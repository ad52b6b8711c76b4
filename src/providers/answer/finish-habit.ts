/**
 * Whether a model gives finish reasons. Some compatible servers never do. A complete response without a finish reason
 * shows that the model omits them. Only a response in one piece is known to be complete; a stream without a reason
 * may have been cut. A single finish reason at any time shows the opposite.
 */
export class FinishHabit {
  #habit: "unknown" | "gives" | "omits" = "unknown";

  get omits(): boolean {
    return this.#habit === "omits";
  }

  /** @param isWhole Whether the response came in one piece. */
  note(finishReason: string | undefined, isWhole: boolean): void {
    if (finishReason !== undefined) this.#habit = "gives";
    else if (isWhole && this.#habit === "unknown") this.#habit = "omits";
  }
}

const HABITS = new WeakMap<object, FinishHabit>();

/** The habit of a model, kept as long as the model exists. Graphs that share a model share its habit. */
export function finishHabitOf(model: object): FinishHabit {
  const habit = HABITS.get(model) ?? new FinishHabit();
  HABITS.set(model, habit);
  return habit;
}
