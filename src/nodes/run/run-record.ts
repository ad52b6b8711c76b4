import type { BaseMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import type { OwnState } from "../../settings/schemas/own-state.js";
import { isRecord } from "../../shared/is-record.js";
import type { LateResult } from "../recovery/late-results.js";
import type { AgentEvent } from "./agent-event.js";
import { RunTally } from "./run-tally.js";

/** The latest superstep. */
interface LastStep {
  readonly step: number | undefined;
  /** The history at its beginning. */
  readonly history: readonly BaseMessage[];
  /** The messages that its nodes wrote. */
  readonly writes: unknown[];
  /** The own keys of the state at its beginning. */
  readonly values: Readonly<Record<string, unknown>>;
  /** What its nodes wrote to keys of the state, in order. */
  readonly updates: Readonly<Record<string, unknown>>[];
}

/** The state at the beginning of a superstep, with the own keys of the user. */
type BeginningState = { readonly messages: readonly BaseMessage[]; readonly [key: string]: unknown };

function beginningWith(step: number | undefined, { messages, ...values }: BeginningState): LastStep {
  return { step, history: messages, writes: [], values, updates: [] };
}

/** The progress of a run. It changes during the run; what the run was started with is in its `RunInputs`. */
export class RunRecord {
  readonly tally = new RunTally();
  /** The questions that the run waits for. */
  readonly interrupts: Interrupt[] = [];
  /** The messages of the inbox that are in the history, and whose items are deleted at the end of the run. */
  readonly steered = new Set<string>();
  /** The late results that the run has taken, to be forgotten at its end. Undefined: it has not looked for them. */
  late: readonly LateResult[] | undefined;
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
  beginStep(step: number | undefined, state: BeginningState | undefined): void {
    this.#firstStep ??= step;
    if (state !== undefined && (this.#last === undefined || this.#last.step !== step))
      this.#last = beginningWith(step, state);
  }

  /** Called before the first superstep, because a run can end without one. The history includes the input. */
  beginRun(state: BeginningState): void {
    this.#last = beginningWith(undefined, state);
  }

  /** Notes the structured response in an update of the model node. */
  noteResponse(update: unknown): void {
    if (isRecord(update) && update["structuredResponse"] !== undefined)
      this.structuredResponse = update["structuredResponse"];
  }

  addWrites(updates: readonly Readonly<Record<string, unknown>>[]): void {
    for (const update of updates) {
      const { messages } = update;
      if (Array.isArray(messages)) this.#last?.writes.push(...messages);
      this.#last?.updates.push(update);
    }
  }

  /** The own keys of the state at the end of the run; undefined if the run did not begin. */
  ownValues({ keys, channels }: OwnState): Readonly<Record<string, unknown>> | undefined {
    if (this.#last === undefined) return undefined;
    const { values, updates } = this.#last;
    const left = keys.map((key) => {
      const written = updates.flatMap((update) => (Object.hasOwn(update, key) ? [update[key]] : []));
      const channel = channels[key];
      if (written.length === 0 || channel === undefined || this.interrupts.length > 0)
        return [key, values[key]];
      const copy = channel.fromCheckpoint(values[key]);
      copy.update(written);
      return [key, copy.get()];
    });
    return Object.fromEntries(left.filter(([, value]) => value !== undefined));
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
