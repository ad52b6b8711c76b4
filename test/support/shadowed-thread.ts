/**
 * A thread with summaries, as the graph makes them, and its shadow: the same messages, never summarised. Nothing is
 * lost as long as both have the same complete history.
 */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { callsOf } from "../../src/history/call.js";
import { groupMessages } from "../../src/history/group.js";
import type { SummaryPolicy } from "../../src/history/plan-summary.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { createPlaceholder, isPlaceholder } from "../../src/history/result.js";
import { coverageOf } from "../../src/history/summary.js";
import { readFullHistory, restoreCovered } from "../../src/index.js";
import type { SummaryAttempt } from "../../src/threads/state.js";
import { shouldSummarize } from "../../src/threads/summary/summarize.js";
import { aiOf, humanOf, policyOf, squeeze, stepOf } from "./long-histories.js";
import { result } from "./make-messages.js";
import { FunctionModel } from "./models.js";
import { summarizeOnce, transcriptsOf } from "./run-summarize.js";
import { SavedLists } from "./saved-lists.js";

export type Act =
  | {
      readonly kind: "turn";
      readonly requestTokens: number;
      readonly answerTokens: number;
      /** The calls of each round, by id, and the number of tokens of each result. */
      readonly steps: readonly { readonly calls: readonly string[]; readonly tokens: number }[];
      /** Whether the results of the last round are missing. */
      readonly isCutOff: boolean;
    }
  | { readonly kind: "late"; readonly which: number }
  | { readonly kind: "remove"; readonly which: number }
  | { readonly kind: "undo" }
  | { readonly kind: "restore" };

export class ShadowedThread {
  history: BaseMessage[] = [];
  shadow: BaseMessage[] = [];
  readonly policy: SummaryPolicy;
  readonly #kind: "keep" | "archive";
  readonly #lists = new SavedLists();
  readonly #onStep: (thread: ShadowedThread) => void;
  #attempt: SummaryAttempt | undefined;
  #count = 0;
  /** Descriptions of all faults that were found. */
  readonly violations: string[] = [];
  passes = 0;
  /** Whether the last pass made no summary, because its text would have been longer than what it covers. */
  isTooShortToCover = false;

  /** @param onStep Contract: called in place of each model call. */
  constructor(
    kind: "keep" | "archive",
    policy: Partial<SummaryPolicy>,
    onStep: (thread: ShadowedThread) => void = () => {},
  ) {
    this.#kind = kind;
    this.policy = policyOf(policy);
    this.#onStep = onStep;
  }

  async act(act: Act): Promise<void> {
    switch (act.kind) {
      case "turn":
        return this.#takeTurn(act);
      case "late":
        return this.#bringLateResult(act.which);
      case "remove":
        return this.#remove(act.which);
      case "undo":
        return this.#undo();
      case "restore": {
        const update = await restoreCovered(this.#lists.show(this.history), this.#lists.config);
        this.history = reduceMessages(this.history, update).messages;
      }
    }
  }

  readAll(): Promise<BaseMessage[]> {
    return readFullHistory(this.#lists.show(this.history), this.#lists.config);
  }

  #write(...messages: readonly BaseMessage[]): void {
    this.history = reduceMessages(this.history, messages).messages;
    this.shadow = reduceMessages(this.shadow, messages).messages;
  }

  async #takeTurn({
    requestTokens,
    answerTokens,
    steps,
    isCutOff,
  }: Extract<Act, { kind: "turn" }>): Promise<void> {
    this.#closeCalls();
    this.#write(humanOf(this.#id("h"), requestTokens));
    await this.#step();
    for (const [index, { calls, tokens }] of steps.entries()) {
      const [head, ...results] = stepOf(this.#id("s"), tokens, ...calls);
      if (head === undefined) continue;
      const arrived = isCutOff && index === steps.length - 1 ? results.slice(1) : results;
      this.#write(head, ...arrived);
      if (arrived.length < results.length) return;
      await this.#step();
    }
    this.#write(aiOf(this.#id("a"), answerTokens));
  }

  /** Does what happens before each model call: makes a summary if one is needed. */
  async #step(): Promise<void> {
    const state = { messages: this.history, summaryAttempt: this.#attempt };
    if (shouldSummarize(state, this.policy)) await this.#summarize();
    this.#onStep(this);
  }

  async #summarize(): Promise<void> {
    this.passes += 1;
    // Every third attempt fails.
    const isFailing = this.passes % 3 === 0;
    const number = this.passes;
    const model = new FunctionModel(({ index }) => (isFailing ? "" : `gist ${number}.${index}`));
    const before = this.history;
    const pass = await summarizeOnce(before, model, {
      policy: this.policy,
      coveredMessages: this.#kind,
      lists: this.#lists,
    });
    this.history = pass.messages;
    this.#attempt = pass.summaryAttempt;
    this.isTooShortToCover = pass.events.some(
      (event) => event.type === "summary-failed" && event.reason.includes("is not shorter than the messages"),
    );
    const shown = squeeze(transcriptsOf(model).join(""));
    const asked = squeeze(model.requests.map(({ text }) => text).join(""));
    for (const id of pass.covered) {
      const message = before.find((one) => one.id === id);
      const isFolded =
        message !== undefined && (coverageOf(message) !== undefined || message.type === "tool");
      const text = squeeze(message?.text.split("\n\n").at(-1) ?? "?");
      if (!(isFolded ? asked : shown).includes(text)) this.violations.push(`${id} was covered and not shown`);
    }
  }

  #closeCalls(): void {
    for (const { group, call, index } of this.#unanswered().filter(({ result }) => result === undefined)) {
      this.#write(createPlaceholder(call, "superseded", `${group.head.id}:${index}`));
    }
  }

  #unanswered() {
    return groupMessages(this.shadow, callsOf).groups.flatMap((group) =>
      group.calls.flatMap((call, index) => {
        const given: ToolMessage | undefined = group.results[index];
        return given === undefined || isPlaceholder(given) ? [{ group, call, index, result: given }] : [];
      }),
    );
  }

  #bringLateResult(which: number): void {
    const waiting = this.#unanswered();
    const one = waiting[which % Math.max(waiting.length, 1)];
    if (one !== undefined) this.#write(result(this.#id("late"), one.call.id));
  }

  /** Removes a message of the state that is not a summary. */
  #remove(which: number): void {
    const there = this.history.filter((message) => coverageOf(message) === undefined);
    const { id } = there[which % Math.max(there.length, 1)] ?? {};
    if (id !== undefined) this.#write(new RemoveMessage({ id }));
  }

  #undo(): void {
    const summary = this.history.findLast((message) => coverageOf(message)?.kind === "keep");
    if (summary?.id === undefined) return;
    this.history = reduceMessages(this.history, [new RemoveMessage({ id: summary.id })]).messages;
  }

  #id(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#count}`;
  }
}
