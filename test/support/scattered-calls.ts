/**
 * Lists that the client and the provider of a dialect accept, with calls in every place of a message. Each call that the
 * client sends has its result. Calls that it does not send have none.
 */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import type { DialectName } from "../../src/index.js";
import { toSentMessages } from "../../src/providers/rules/rule.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";

const PLACES = ["tool_calls", "invalid_tool_calls", "block", "item", "raw"] as const;
type Place = (typeof PLACES)[number];

/** The places of each call of one message. */
type Scattered = readonly (readonly Place[])[];

/** Places that exclude each other: the two lists, and the blocks of two providers. */
const EXCLUSIVE: readonly (readonly Place[])[] = [
  ["tool_calls", "invalid_tool_calls"],
  ["block", "item"],
];

const places = fc
  .uniqueArray(fc.constantFrom(...PLACES), { minLength: 1, maxLength: 3 })
  .filter((chosen) => EXCLUSIVE.every((pair) => !pair.every((place) => chosen.includes(place))));

const scattered: fc.Arbitrary<Scattered> = fc.array(places, { maxLength: 3 });

/** Lists that are accepted, by what we know of the client. */
export const acceptedLists = (dialect: DialectName): fc.Arbitrary<BaseMessage[]> =>
  fc.array(scattered, { minLength: 1, maxLength: 3 }).map((rounds) => [
    new HumanMessage({ id: "h", content: "Well?" }),
    ...rounds.flatMap((calls, round): BaseMessage[] => {
      const message = responseWith(calls, round);
      const [sent] = toSentMessages([message], DIALECTS[dialect]);
      const results = (sent?.calls ?? []).map(
        ({ id }) =>
          new ToolMessage({ id: `r-${id}`, tool_call_id: id, content: `found ${id}`, name: "look" }),
      );
      return [
        message,
        ...results,
        closing(round),
        new HumanMessage({ id: `h${round}`, content: "And now?" }),
      ];
    }),
  ]);

/** Mistral takes a result before a response only, and DeepSeek demands the reasoning of each response. */
function closing(round: number): AIMessage {
  return new AIMessage({
    id: `b${round}`,
    content: "Done.",
    additional_kwargs: { reasoning_content: "So." },
  });
}

function responseWith(calls: Scattered, round: number): AIMessage {
  const ids = (place: Place) =>
    calls.flatMap((places, index) => (places.includes(place) ? [`call${round}${index}`] : []));
  const blocks = [
    ...ids("block").map((id) => ({ type: "tool_use", id, name: "look", input: { at: id } })),
    ...ids("item").map((id) => ({ type: "function_call", call_id: id, name: "look", arguments: "{}" })),
  ];
  const raw = ids("raw").map((id) => ({
    id,
    type: "function" as const,
    function: { name: "look", arguments: JSON.stringify({ at: id }) },
  }));
  const message = new AIMessage({
    id: `a${round}`,
    content: blocks.length === 0 ? "Looking." : [{ type: "text", text: "Looking." }, ...blocks],
    tool_calls: ids("tool_calls").map((id) => ({ id, name: "look", args: { at: id } })),
    invalid_tool_calls: ids("invalid_tool_calls").map((id) => ({
      id,
      name: "look",
      args: "{",
      error: "cut",
    })),
  });
  // Set after the construction, because LangChain's constructor warns of calls that are only there.
  message.additional_kwargs = {
    reasoning_content: "I must look.",
    ...(raw.length > 0 && { tool_calls: raw }),
  };
  return message;
}
