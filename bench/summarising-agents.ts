/** Agents that summarise their threads with the same budget. */

import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, summarizationMiddleware } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../src/index.js";
import type { FunctionModel } from "../test/support/models.js";
import { OURS, WITH_SUMMARY } from "./contenders.js";

export const BUDGET = 1500;
const KEEP = 6;

/** A text of about so many tokens. */
export const words = (name: string, tokens: number) =>
  `${name} ${"word ".repeat(tokens)}`.slice(0, tokens * 4);

const look = tool(async ({ at }: { at: string }) => words(`found-${at}`, 80), {
  name: "look",
  description: "Looks at a place.",
  schema: z.object({ at: z.string() }),
});

export interface Agent {
  invoke(input: { messages: BaseMessage[] }, config: object): Promise<{ messages: BaseMessage[] }>;
}
export type MakeAgent = (model: FunctionModel, summariser: FunctionModel) => Agent;

export const SUMMARISING_AGENTS: Readonly<Record<string, MakeAgent>> = {
  [OURS]: (model, summariser) =>
    createAgentGraph({
      model,
      tools: [look],
      summaryModel: summariser,
      maxTokensBeforeSummary: BUDGET,
      messagesToKeep: KEEP,
      checkpointer: new MemorySaver(),
    }) as unknown as Agent,
  [WITH_SUMMARY]: (model, summariser) =>
    createAgent({
      model,
      tools: [look],
      middleware: [
        summarizationMiddleware({
          model: summariser,
          trigger: { tokens: BUDGET },
          keep: { messages: KEEP },
        } as never),
      ],
      checkpointer: new MemorySaver(),
      // Its option types resolve to never under exactOptionalPropertyTypes.
    } as never) as unknown as Agent,
};
