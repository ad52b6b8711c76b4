/** Past steps whose requests were reduced: what is shown is what the model got then. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { z } from "zod";
import { createGraphStore, explain } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { coerceMessage, identityOf } from "../support/internals.js";
import { type Answer, calls, FunctionModel, shortSummariser } from "../support/models.js";
import { openThread } from "../support/open-thread.js";

const URL_OF_CAT = "https://example.com/cat.png";
const PICTURE = { type: "image_url", image_url: { url: URL_OF_CAT } };
const picture = new HumanMessage({ content: [{ type: "text", text: "Look." }, PICTURE] });
const LONGEST = 9_000;

const linesOf = (messages: readonly BaseMessage[]) =>
  messages.map(({ type, content }) => JSON.stringify([type, content]));
const sizeOf = (messages: readonly BaseMessage[]) => linesOf(messages).join("").length;
const showsCat = (messages: readonly BaseMessage[]) =>
  linesOf(messages).join("").includes(`"url":"${URL_OF_CAT}"`);
const has = (messages: readonly BaseMessage[], wanted: string) =>
  messages.some(({ type }) => type === wanted);

/** For each way of reduction, when a provider refuses a request, and with which words. */
const REFUSALS: Readonly<
  Record<string, readonly [refuses: (messages: readonly BaseMessage[]) => boolean, text: string]>
> = {
  described: [showsCat, `Error while downloading ${URL_OF_CAT}.`],
  "described strict": [showsCat, "Rejected (E4711)."],
  "described strict retold": [
    (messages) =>
      has(
        messages.slice(
          0,
          messages.findLastIndex(({ type }) => type === "human"),
        ),
        "tool",
      ),
    "Rejected (E4711).",
  ],
  shortened: [
    (messages) => sizeOf(messages) > LONGEST,
    "This model's maximum context length is 2000 tokens. However, your messages resulted in 4000 tokens.",
  ],
};

const look = tool(() => "seen ".repeat(900), { name: "look", description: "Looks.", schema: z.object({}) });

it.each(Object.entries(REFUSALS))("are shown as they were sent: %s", async (rungs, [refuses, text]) => {
  const accepted: (readonly BaseMessage[])[] = [];
  const answer: Answer = ({ messages }) => {
    if (refuses(messages)) return Object.assign(new Error(`400 ${text}`), { status: 400 });
    accepted.push(messages);
    return messages.at(-1)?.type === "human" ? calls(["look"]) : "Fine.";
  };
  const model = new FunctionModel(answer);
  const graph = createAgentGraph({
    model,
    tools: [look],
    summaryModel: shortSummariser(),
    checkpointer: new MemorySaver(),
  });
  const { send, read } = openThread(graph);
  for (const input of ["First.", { messages: [picture] }, "And now?"])
    expect(await send(input)).toMatchObject({ error: undefined });

  const inspector = createInspector({
    threads: () => createGraphStore({ graph }),
    isProtected: true,
    settingsOf: async () => identityOf(model),
  });
  const ask = async (query: string) =>
    (await inspector(new Request(`http://localhost/tether/threads/1${query}`))).text();
  const { steps } = JSON.parse(await ask(".json"));
  const asked = steps.filter(({ response }: { response: unknown }) => response !== null).toReversed();
  expect(asked).toHaveLength(accepted.length);
  for (const [index, { checkpointId, response }] of asked.entries()) {
    const { input, request } = JSON.parse(await ask(`.json?step=${checkpointId}`));
    const shown = input.flatMap((message: unknown) => coerceMessage(message) ?? []);
    expect(linesOf(shown)).toEqual(linesOf(accepted[index] ?? []));
    expect(request.reduced).toEqual(response.reduced);
  }
  const told = asked.map(({ response }: { response: { reduced: string[] } }) => response.reduced.join(" "));
  expect(told).toContain(rungs);
  expect(await ask("")).toContain("It is reduced: ");

  const { reduced, text: explained } = explain(await read());
  expect(reduced.map(({ rungs }) => rungs.join(" "))).toEqual(told.filter((one: string) => one !== ""));
  expect(explained).toContain(`responds to an input that was reduced: ${rungs.replaceAll(" ", ", ")}.`);
});
