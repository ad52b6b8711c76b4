/** The scenes on one thread of the served graph, in order. */

import type { Message, ToolMessage } from "@langchain/langgraph-sdk";
import { expect } from "./check-pairs.js";
import type { Conversation } from "./conversation.js";
import { callsOf, placeholderCauseOf, textOf } from "./describe.js";
import type { Page } from "./page.js";
import { NEXT_REQUEST, REQUEST } from "./plain-agent.js";
import { HANGING_CITY, type WeatherStandIn } from "./weather-stand-in.js";

export interface Stage {
  readonly conversation: Conversation;
  readonly page: Page;
  readonly weather: WeatherStandIn;
}

export async function playScenes(stage: Stage): Promise<void> {
  await playCancelledRun(stage);
  await playLateResult(stage);
  await playRemovedMessage(stage);
}

async function playCancelledRun({ conversation, page, weather }: Stage): Promise<void> {
  page.heading("2. The same story with langgraph-tether: the thread goes on");
  const hanging = weather.nextHangingRequest();
  await conversation.say(REQUEST, async ({ event, data }, cancel) => {
    if (event !== "messages" || !isResult(data)) return;
    await hanging;
    page.line(page.style("red", "  ✗ cancelled: the calculator is done, the weather is not"));
    await cancel();
  });
  await conversation.say(NEXT_REQUEST);
  const messages = await conversation.show();
  const late = findPlaceholder(messages);
  expect(late?.message.name === "weather", "the unfinished call to have a placeholder");
  expect(
    textOf(messages[late.index - 1] ?? late.message) === "42",
    "the result of the finished tool to be kept",
  );
}

async function playLateResult({ conversation, page }: Stage): Promise<void> {
  page.heading("3. The late result arrives and replaces its placeholder");
  const waiting = findPlaceholder(await conversation.readMessages());
  expect(waiting !== undefined, "a placeholder that waits for its result");
  const content = `${HANGING_CITY}, Iceland: light drizzle, 4.2 °C, wind 38 km/h`;
  page.line(`threads.updateState ◂ tool message for ${waiting.message.tool_call_id}:`);
  page.line(`  ${content}`);
  await conversation.update({
    type: "tool",
    tool_call_id: waiting.message.tool_call_id,
    name: "weather",
    content,
  });
  page.line();
  await conversation.say("What did the tools return?");
  const messages = await conversation.show();
  expect(
    textOf(messages[waiting.index] ?? waiting.message) === content,
    "the result to be where its placeholder was",
  );
  expect(textOf(messages.at(-1) ?? waiting.message).includes(content), "the model to use the late result");
}

async function playRemovedMessage({ conversation, page }: Stage): Promise<void> {
  page.heading("4. A message is removed, and its results go with it");
  page.paragraph(
    "LangGraph's own reducer removes only the message. Its results would stay without their calls. A " +
      "provider rejects that too, just like a call without a result.",
  );
  const before = await conversation.readMessages();
  const removed = before.find((message) => message.type === "ai" && callsOf(message).length > 0);
  expect(removed?.type === "ai", "a message with calls");
  page.line(
    `threads.updateState ◂ remove message ${before.indexOf(removed) + 1}, which has these tool calls:`,
  );
  for (const { words } of callsOf(removed)) page.line(`  ${words}`);
  await conversation.update({ type: "remove", id: removed.id });
  page.line();
  await conversation.say("What is 2+3?");
  const messages = await conversation.show();
  const ids = new Set(callsOf(removed).map(({ id }) => id));
  const left = messages.filter((message) => message.type === "tool" && ids.has(message.tool_call_id));
  expect(left.length === 0, "no result of the removed message to remain");
  expect(messages.length === before.length - 1 - ids.size + 4, "nothing else to be removed");
}

function findPlaceholder(messages: readonly Message[]): { index: number; message: ToolMessage } | undefined {
  for (const [index, message] of messages.entries()) {
    if (message.type === "tool" && placeholderCauseOf(message) !== undefined) return { index, message };
  }
  return undefined;
}

/** Whether a part of the stream contains a result. */
function isResult(data: unknown): boolean {
  const message: unknown = Array.isArray(data) ? data[0] : undefined;
  return typeof message === "object" && message !== null && "type" in message && message.type === "tool";
}
