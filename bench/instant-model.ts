/** A model that responds at once, so that what is measured is the agent around it. */

import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { PlayedModel, type PlayOptions, wholeChunk } from "../test/support/models.js";

const ANSWER = `Answer ${"word ".repeat(30)}`;
const RESULT = "found ".repeat(20);

let calls = 0;

/** Calls the tool once in each turn, then answers. If it may not call tools, it writes a summary. */
export class InstantModel extends PlayedModel {
  protected override async play(
    messages: readonly BaseMessage[],
    { toolNames = [], tool_choice }: PlayOptions,
  ): Promise<readonly AIMessageChunk[]> {
    if (toolNames.length === 0 || tool_choice === "none")
      return [wholeChunk(new AIMessage("They looked at cities."))];
    if (messages.at(-1)?.type === "tool") return [wholeChunk(new AIMessage(ANSWER))];
    calls += 1;
    const call = {
      id: `new-call-${calls}`,
      name: "look",
      args: { city: "Rome" },
      type: "tool_call" as const,
    };
    return [wholeChunk(new AIMessage({ content: "", tool_calls: [call] }))];
  }
}

export const look = tool(async ({ city }: { city: string }) => `${city}: ${RESULT}`, {
  name: "look",
  description: "Looks at a city.",
  schema: z.object({ city: z.string() }),
});
