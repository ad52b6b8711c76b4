import type { BaseMessage } from "@langchain/core/messages";
import type { Target } from "../../dialects/maker.js";

/**
 * One step from the history to messages that a provider accepts.
 *
 * Contract: pure and deterministic. Expects groups in which each tool call has one result, directly after its message
 * and in call order, and keeps them so. A message without a reason to change keeps its identity. The output for a
 * message depends only on that message and those before it, so a prompt cache stays valid when the history grows.
 */
export type Step = (messages: readonly BaseMessage[], target: Target) => readonly BaseMessage[];
