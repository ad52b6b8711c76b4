/**
 * What came for the thread while nobody asked the model: results of tools that outlived their run, and messages of its
 * inbox. The model node takes it before each request, and before it ends the run:
 *
 * 1. Late results come first, and are looked for once in a run. They replace the placeholders of their calls.
 * 2. Messages of the inbox come next, each time.
 *
 * After either the node writes what it took, and begins again. So the model reads the results before the messages.
 */

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { unansweredCalls } from "../../history/open-calls.js";
import { endsRun, lastResults } from "../../history/result.js";
import { findLateResults } from "../../threads/ended-runs/late-results.js";
import { givenKeys } from "../../threads/ended-runs/leftovers.js";
import { announce, recover } from "../../threads/ended-runs/recover.js";
import { isSavedRun } from "../../threads/langgraph/run-host.js";
import { superstepOf } from "../../threads/langgraph/wrappable-graph.js";
import { isKeyOf } from "../../threads/own-state.js";
import type { AgentState } from "../../threads/state.js";
import { stepsLeft } from "./budgets.js";
import { runOf } from "./handle.js";
import { type InboxOptions, inboxOf, takeSteered } from "./steer.js";

/** The state update that takes messages. */
export interface TakenMessages {
  readonly messages: BaseMessage[];
  readonly steered?: string[];
  /** Further updates of own keys, in order. */
  readonly values?: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Takes what came. Undefined if nothing did, or if the history cannot take a message now.
 *
 * @param beforeNotes The history without what tools and middleware wrote after the run's results.
 */
export async function takeMessages(
  options: InboxOptions,
  state: AgentState,
  config: LangGraphRunnableConfig,
  beforeNotes: readonly BaseMessage[] = state.messages,
): Promise<TakenMessages | undefined> {
  const inbox = inboxOf(options, config);
  const mayBeLate = isSavedRun(config) && !runOf(config).record.hasLookedForLate;
  if (!mayBeLate && inbox === undefined) return undefined;
  if (stepsLeft(config) < 1 || !isOpenToMessages(beforeNotes, config)) return undefined;
  const late = mayBeLate ? await takeLate(state, config) : undefined;
  return late ?? (inbox && takeSteered(inbox, options, state, config));
}

/**
 * Whether a message can follow the history: no call waits for its result, and no middleware has just ended the run.
 * What ended an earlier run does not count.
 */
function isOpenToMessages(messages: readonly BaseMessage[], config: LangGraphRunnableConfig): boolean {
  if (unansweredCalls(messages).pending.length > 0) return false;
  return !lastResults(messages).some(endsRun) || superstepOf(config) === runOf(config).record.firstStep;
}

async function takeLate(
  { messages }: AgentState,
  config: LangGraphRunnableConfig,
): Promise<TakenMessages | undefined> {
  const { inputs, record } = runOf(config);
  record.hasLookedForLate = true;
  const { ownState, input } = inputs;
  const rewritten = givenKeys(input, isKeyOf(ownState));
  const late = await findLateResults(messages, config, () => rewritten).catch(() => undefined);
  const recovery = recover(
    messages,
    { runs: [], ...(late && { late }) },
    {
      ...LATE_ONLY,
      isReduced: (key) => ownState.reducedKeys.has(key),
    },
  );
  if (recovery.late.length === 0) return undefined;
  announce(recovery, config);
  return { messages: [...recovery.late], values: recovery.values.map(([key, value]) => ({ [key]: value })) };
}

const LATE_ONLY = { putsBack: "none", asksAtOnce: false, calls: [] } as const;
