/** Plans the response of the offline model: a pure function of the messages and the tools. */

import { isDeepStrictEqual } from "node:util";
import type { BaseMessage } from "@langchain/core/messages";
import type { PlannedCall } from "./find-calls.js";
import { findSteps, type Step } from "./find-steps.js";
import { type Round, readRounds, readTurn } from "./read-turn.js";
import { introduce, stateResults } from "./reply-texts.js";
import { summarize } from "./summarize.js";
import type { ToolChoice } from "./tool-choice.js";

export type Reply =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "calls"; readonly calls: readonly PlannedCall[] };

export interface ReplyOptions {
  /** The bound tools, in the order in which they were bound. */
  readonly toolNames: ReadonlySet<string>;
  readonly toolChoice: ToolChoice;
}

/** Asks for results of earlier turns: `what did the tools return?` */
const RECALL = /\bwhat (?:did|have|do) (?:(?:the|your|all) )*tools? (?:return|say|answer|report)/iu;

export function planReply(messages: readonly BaseMessage[], { toolNames, toolChoice }: ReplyOptions): Reply {
  const { request, rounds } = readTurn(messages);
  const calls = planCalls(findSteps(request, toolNames), rounds, { toolNames, toolChoice });
  if (calls.length > 0) return { kind: "calls", calls };
  if (rounds.length > 0) return { kind: "text", text: stateResults(rounds) };
  const earlier = RECALL.test(request) ? readRounds(messages) : [];
  if (earlier.length > 0) return { kind: "text", text: stateResults(earlier) };
  const summary = toolNames.size === 0 ? summarize(messages) : undefined;
  return { kind: "text", text: summary ?? introduce([...toolNames]) };
}

function planCalls(steps: readonly Step[], rounds: readonly Round[], options: ReplyOptions): Step {
  const { toolNames, toolChoice } = options;
  const next = findNextStep(steps, rounds);
  if (toolChoice.kind === "none") return [];
  if (toolChoice.kind === "auto") return next;

  // A forced model must call a tool, even if the request asks for nothing, or for nothing more.
  const names = toolChoice.kind === "tool" ? [toolChoice.name] : [...toolNames];
  const candidates = [next, ...steps.toReversed()].map((step) =>
    step.filter(({ name }) => names.includes(name)),
  );
  return candidates.find((step) => step.length > 0) ?? names.slice(0, 1).map((name) => ({ name, args: {} }));
}

/**
 * A summary can replace the first rounds of a long turn, so the last round shows which step is done. The
 * number of rounds matters only among equal steps, and for rounds that this model did not plan.
 */
function findNextStep(steps: readonly Step[], rounds: readonly Round[]): Step {
  const last = rounds.at(-1);
  if (last === undefined) return steps[0] ?? [];
  const done = steps.findIndex(
    (step, index) => index >= rounds.length - 1 && isDeepStrictEqual(step, last.calls),
  );
  return steps[done === -1 ? rounds.length : done + 1] ?? [];
}
