/**
 * Whether a model gives finish reasons. Some compatible servers never do; a whole answer without one, which can only come
 * in one piece, tells them from a stream that was cut. One reason given at any time settles it the other way.
 */
export class FinishHabit {
  #habit: "unknown" | "gives" | "omits" = "unknown";

  get omits(): boolean {
    return this.#habit === "omits";
  }

  /** @param isWhole Whether the answer came in one piece. */
  note(finishReason: string | undefined, isWhole: boolean): void {
    if (finishReason !== undefined) this.#habit = "gives";
    else if (isWhole && this.#habit === "unknown") this.#habit = "omits";
  }
}

const HABITS = new WeakMap<object, FinishHabit>();

/** What is known of a model, for as long as the model is there: graphs that share one share this too. */
export function finishHabitOf(model: object): FinishHabit {
  const habit = HABITS.get(model) ?? new FinishHabit();
  HABITS.set(model, habit);
  return habit;
}
