/**
 * Whatever a model puts into a response, it gets all of it back from its own client, as this client alone would send it.
 * Another model gets texts, calls and media only.
 */

import { AIMessage, type AIMessageFields, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { expect } from "vitest";
import { toModelInput } from "../../src/index.js";
import { withAsked } from "../../src/providers/contract/author.js";
import { identityOf } from "../../src/providers/table/dialect-of.js";
import { law, leadRequests, stopAtEnd } from "../support/test-tools.js";
import { result, user } from "../support/wire-messages.js";
import { CLIENTS } from "../wire/unchanged/clients.js";
import { startRecorder } from "../wire/unchanged/start-recorder.js";

const recorder = stopAtEnd(await startRecorder());
leadRequests(recorder.fetch);

const NAMES = [
  "ChatOpenAI",
  "ChatOpenAI (Responses)",
  "ChatAnthropic",
  "ChatGoogle",
  "ChatOpenAI at OpenRouter",
] as const;
type Name = (typeof NAMES)[number];

const MODELS = new Map(
  CLIENTS.filter(({ name }) => NAMES.includes(name as Name)).map((client) => [
    client.name,
    { ...client, model: client.create(recorder), id: client.model },
  ]),
);
const modelOf = (name: Name) => MODELS.get(name) as NonNullable<ReturnType<typeof MODELS.get>>;

const value = fc.oneof(
  fc.constantFrom("c2ln", 7, true),
  fc.record({ deep: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }) }),
);
const unknownFields = fc
  .uniqueArray(fc.constantFrom("future_a", "future_b", "sealed"), { maxLength: 2 })
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, value]))));

/** Blocks of which nobody has heard, and texts with such fields. */
const block = fc.oneof(
  unknownFields.map((fields) => ({ type: "text", text: "said", ...fields })),
  fc
    .tuple(fc.constantFrom("future_block", "sealed_block"), unknownFields)
    .map(([type, fields]) => ({ type, ...fields })),
  fc.constant({ type: "thinking", thinking: "hm", signature: "c2ln" }),
);

const item = fc
  .tuple(fc.constantFrom("future_item", "sealed_item"), fc.constantFrom("i_1", "i_2", "i_3"), unknownFields)
  .map(([type, id, fields]) => ({ type, id, ...fields }));

const response = fc.record({
  blocks: fc.array(block, { maxLength: 4 }).map((blocks) => [...blocks, { type: "text", text: "said" }]),
  kwargs: unknownFields,
  items: fc.uniqueArray(item, { maxLength: 3, selector: ({ id }) => id }),
  calls: fc.boolean(),
});

type Response = typeof response extends fc.Arbitrary<infer Value> ? Value : never;
type Client = ReturnType<typeof modelOf>;

/** A thread with this response, which the client has received for its request. */
function historyOf({ name, provider, model, callId, callBlock }: Client, given: Response): BaseMessage[] {
  const { blocks, kwargs, items, calls } = given;
  const call = { id: callId(1), name: "look", args: { city: "Oslo" }, type: "tool_call" as const };
  const isResponses = name.includes("Responses");
  const stored = {
    type: "function_call",
    id: "fc_1",
    call_id: call.id,
    name: "look",
    arguments: '{"city":"Oslo"}',
  };
  const output = [...items, ...(calls ? [stored] : [])];
  const message = new AIMessage({
    content: [...blocks, ...(calls && callBlock !== undefined ? [callBlock(call)] : [])],
    tool_calls: calls ? [call] : [],
    additional_kwargs: kwargs,
    response_metadata: {
      model_name: "resolved-to-another-name",
      ...(provider !== undefined && { model_provider: provider }),
      ...(isResponses && output.length > 0 && { output }),
    },
  } as AIMessageFields);
  return [
    user("Hello."),
    withAsked(message, identityOf(model)),
    ...(calls ? [result(call.id, "clear", { name: "look" })] : []),
    user("And now?"),
  ];
}

async function bodyOf({ model }: Client, messages: readonly BaseMessage[]): Promise<unknown> {
  const { requests, error } = await recorder.record(() => model.invoke([...messages]));
  return requests[0]?.body ?? String(error);
}

law(
  "A model gets its own words as its client alone sends them",
  200,
  // OpenAI refuses unknown fields of texts, so they do not go there.
  [fc.constantFrom(...NAMES.filter((name) => name !== "ChatOpenAI")), response],
  async (name, given) => {
    const client = modelOf(name);
    const history = historyOf(client, given);
    const alone = await bodyOf(client, history);
    expect(await bodyOf(client, toModelInput(history, { model: client.model }))).toEqual(alone);
  },
);

law(
  "Another model gets texts, calls and media only",
  200,
  [fc.constantFrom(...NAMES), fc.constantFrom(...NAMES), response],
  (name, otherName, given) => {
    const [client, other] = [modelOf(name), modelOf(otherName)];
    // One model over both of OpenAI's protocols stays itself.
    fc.pre(client.id !== other.id);
    const input = toModelInput(historyOf(client, given), { model: other.model });
    for (const message of input.filter(AIMessage.isInstance)) {
      const { content, additional_kwargs, response_metadata, tool_calls = [] } = message;
      const blocks = typeof content === "string" ? [] : content;
      for (const each of blocks) expect(each).toEqual({ type: "text", text: "said" });
      expect(Object.keys(additional_kwargs).filter((name) => !name.startsWith("tether_"))).toEqual([]);
      expect(JSON.stringify([response_metadata, tool_calls])).not.toMatch(/future|sealed|fc_1/);
    }
  },
);
