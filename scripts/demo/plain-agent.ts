/** The same story with a plain LangGraph agent, to show the problem before the solution. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createServedModel } from "../../server/offline/create-model.js";
import { createDeployTools } from "../../server/tools/create-tools.js";
import { expect } from "./check-pairs.js";
import { describeCall } from "./describe.js";
import type { Page } from "./page.js";
import { HANGING_CITY, type WeatherStandIn } from "./weather-stand-in.js";

/** The request to both agents, and the next message after the cancelled run. */
export const REQUEST = `What is 6*7 and the weather in ${HANGING_CITY}?`;
export const NEXT_REQUEST = "What is 5+5?";

const THREAD = { configurable: { thread_id: "1" } };

export interface PlainStage {
  readonly page: Page;
  readonly weather: WeatherStandIn;
}

export async function playPlainAgent({ page, weather }: PlainStage): Promise<void> {
  page.heading("1. A plain LangGraph agent: a run is cancelled, and the thread is dead");
  const { style, line } = page;
  const tools = createDeployTools({ geocodingBaseUrl: weather.url, forecastBaseUrl: weather.url });
  const llm = await createServedModel("offline:");
  const agent = createReactAgent({ llm, tools, checkpointer: new MemorySaver() });
  const tell = (text: string) => line(`${style("bold", "you ▸")} ${text}`);
  /** @returns why the provider rejected the thread. */
  const sayInVain = async (text: string): Promise<string> => {
    tell(text);
    const error: unknown = await agent.invoke({ messages: [new HumanMessage(text)] }, THREAD).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(isRefusal(error), `the provider to refuse "${text}"`);
    return error.message;
  };

  tell(REQUEST);
  const controller = new AbortController();
  const hanging = weather.nextHangingRequest();
  const run = agent.invoke(
    { messages: [new HumanMessage(REQUEST)] },
    { ...THREAD, signal: controller.signal },
  );
  await Promise.race([hanging, run]);
  controller.abort();
  const wasCancelled = await run.then(
    () => false,
    () => true,
  );
  expect(wasCancelled, "the run to be cancelled");
  for (const call of await readCalls(agent)) line(style("cyan", `  → ${describeCall(call)}`));
  line(style("red", "  ✗ cancelled: the weather had not arrived yet"));

  const reason = await sayInVain(NEXT_REQUEST);
  page.paragraph(style("red", `  ✗ 400: ${reason}`));
  const later = await sayInVain("Are you there?");
  expect(later === reason, "the provider to refuse each later message for the same reason");
  line(style("red", "  ✗ 400: the same error"));
  line();
  page.paragraph(
    "The thread has tool calls without results, and every request contains the whole thread. From now on the provider " +
      "rejects every message. The calculator's result is lost too.",
  );
}

async function readCalls(agent: ReturnType<typeof createReactAgent>) {
  const { messages } = (await agent.getState(THREAD)).values as { messages: unknown[] };
  return messages.flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []));
}

function isRefusal(error: unknown): error is Error {
  return error instanceof Error && "status" in error && error.status === 400;
}
