import type { BaseMessage } from "@langchain/core/messages";
import type { Target } from "../dialects/maker.js";
import { bridgeRoles } from "./projection/bridge-roles.js";
import { carryMedia } from "./projection/carry-media.js";
import { cleanContent } from "./projection/clean-content.js";
import { fillBlanks } from "./projection/fill-blanks.js";
import { fitStoredItems } from "./projection/fit-stored-items.js";
import { keepOwnState } from "./projection/keep-own-state.js";
import { listCalls } from "./projection/list-calls.js";
import { mergeTurns } from "./projection/merge-turns.js";
import { nameTools } from "./projection/name-tools.js";
import { pairServerTools } from "./projection/pair-server-tools.js";
import { passReasoning } from "./projection/pass-reasoning.js";
import { renameCalls } from "./projection/rename-calls.js";
import type { Step } from "./projection/step.js";

/** Each of them changes messages one by one. The order matters. Each step reads from the dialect what to do. */
const FORM_STEPS: readonly Step[] = [
  listCalls,
  keepOwnState,
  pairServerTools,
  carryMedia,
  cleanContent,
  nameTools,
  fillBlanks,
  renameCalls,
  fitStoredItems,
  passReasoning,
];

/** These change the sequence of messages, and what depends on it. */
const SEQUENCE_STEPS: readonly Step[] = [mergeTurns, bridgeRoles, passReasoning];

/**
 * Rewrites paired messages, with the system message first, into a form that a provider of this dialect accepts.
 *
 * @returns The given array if it needs no change.
 */
export function projectMessages(messages: readonly BaseMessage[], target: Target): readonly BaseMessage[] {
  return SEQUENCE_STEPS.reduce((projected, step) => step(projected, target), formMessages(messages, target));
}

/** Rewrites each message alone. Messages can still stand in a sequence that a provider refuses. */
export function formMessages(messages: readonly BaseMessage[], target: Target): readonly BaseMessage[] {
  return FORM_STEPS.reduce((formed, step) => step(formed, target), messages);
}
