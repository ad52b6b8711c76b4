import type { BaseMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { RunTally } from "./run-tally.js";

/** The latest superstep that began. */
interface LastStep {
  readonly step: number | undefined;
  /** What the step began with. */
  readonly history: readonly BaseMessage[];
  /** What its nodes wrote. */
  readonly writes: readonly unknown[];
}

/** What a run has come to so far. Written while it runs; what it was started with is in its `RunInputs`. */
export class RunRecord {
  readonly tally = new RunTally();
  /** What the run waits for. */
  readonly interrupts: Interrupt[] = [];
  /** What a function middleware threw. It ends the run, and its caller gets it when the siblings are done. */
  failure: { readonly error: unknown } | undefined;
  #firstStep: number | undefined;
  #last: LastStep | undefined;

  /** The run's first superstep. LangGraph counts steps over the whole thread. */
  get firstStep(): number | undefined {
    return this.#firstStep;
  }

  /** Tasks of one superstep all begin with the same history. */
  beginStep(step: number | undefined, history: readonly BaseMessage[] | undefined): void {
    this.#firstStep ??= step;
    if (history !== undefined && (this.#last === undefined || this.#last.step !== step))
      this.#last = { step, history, writes: [] };
  }

  /** The run may end without a step: `history` is what it has before its first one. */
  beginRun(history: readonly BaseMessage[]): void {
    this.#last = { step: undefined, history, writes: [] };
  }

  addWrites(messages: readonly unknown[]): void {
    if (this.#last !== undefined) this.#last = { ...this.#last, writes: [...this.#last.writes, ...messages] };
  }

  /**
   * The history that the run ends with; undefined if it took no step. It is worked out when it is read, so only a run
   * with agent middleware pays for it.
   */
  get history(): readonly BaseMessage[] | undefined {
    if (this.#last === undefined) return undefined;
    const { history, writes } = this.#last;
    // LangGraph applies nothing of a superstep that an interrupt ended.
    if (writes.length === 0 || this.interrupts.length > 0) return history;
    const { messages } = reduceMessages(history, writes);
    this.#last = { ...this.#last, history: messages, writes: [] };
    return messages;
  }
}
