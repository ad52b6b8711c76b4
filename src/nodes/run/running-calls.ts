/** The writes of the calls that a run runs at the same time. */
export class RunningCalls<Update> {
  #step: number | undefined;
  #updates: Promise<Update>[] = [];

  /** Called at the beginning of a call. */
  add(update: Promise<Update>, step: number | undefined): void {
    if (this.#step !== step) this.#updates = [];
    this.#step = step;
    this.#updates.push(update);
  }

  /** The writes of all calls of the superstep that returned. Resolves when the last one has ended. */
  async settled(): Promise<Update[]> {
    // LangGraph begins all tasks of a superstep in one turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve));
    const outcomes = await Promise.allSettled(this.#updates);
    return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  }
}
