import type { BaseMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { isRecord } from "../../shared/is-record.js";
import type { AgentEvent } from "./agent-event.js";
import { RunTally } from "./run-tally.js";

/** The latest superstep. */
interface LastStep {
  readonly step: number | undefined;
  /** The history at its beginning. */
  readonly history: readonly BaseMessage[];
  /** The messages that its nodes wrote. */
  readonly writes: unknown[];
}

/** The progress of a run. It changes during the run; what the run was started with is in its `RunInputs`. */
export class RunRecord {
  readonly tally = new RunTally();
  /** The questions that the run waits for. */
  readonly interrupts: Interrupt[] = [];
  /** The messages of the inbox that are in the history, and whose items are deleted at the end of the run. */
  readonly steered = new Set<string>();
  /** Events about the input, until the first node or route emits them. */
  readonly inputEvents: AgentEvent[] = [];
  /**
   * What a function middleware threw. It ends the run. The run's caller gets it after the other calls of the batch have
   * finished.
   */
  failure: { readonly error: unknown } | undefined;
  /** The structured response of the run, if it has one. */
  structuredResponse: unknown;
  #firstStep: number | undefined;
  #last: LastStep | undefined;

  /** The run's first superstep. LangGraph counts steps over the whole thread. */
  get firstStep(): number | undefined {
    return this.#firstStep;
  }

  /** Called by each task. All tasks of one superstep begin with the same history, so the first call is enough. */
  beginStep(step: number | undefined, history: readonly BaseMessage[] | undefined): void {
    this.#firstStep ??= step;
    if (history !== undefined && (this.#last === undefined || this.#last.step !== step))
      this.#last = { step, history, writes: [] };
  }

  /** Called before the first superstep, because a run can end without one. The history includes the input. */
  beginRun(history: readonly BaseMessage[]): void {
    this.#last = { step: undefined, history, writes: [] };
  }

  /** Notes the structured response in an update of the model node. */
  noteResponse(update: unknown): void {
    if (isRecord(update) && update["structuredResponse"] !== undefined)
      this.structuredResponse = update["structuredResponse"];
  }

  addWrites(messages: readonly unknown[]): void {
    this.#last?.writes.push(...messages);
  }

  /**
   * The history at the end of the run; undefined if the run did not begin. It is computed when it is read, so only runs
   * with agent middleware pay for it.
   */
  get history(): readonly BaseMessage[] | undefined {
    if (this.#last === undefined) return undefined;
    const { history, writes } = this.#last;
    // LangGraph discards all writes of a superstep that an interrupt ended.
    if (writes.length === 0 || this.interrupts.length > 0) return history;
    const { messages } = reduceMessages(history, writes);
    this.#last = { ...this.#last, history: messages, writes: [] };
    return messages;
  }
}
