import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES as LANGGRAPH_REMOVE_ALL } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { deriveId, deriveUnusedId, REMOVE_ALL_MESSAGES } from "../../../src/history/message.js";
import { toModelInput } from "../../../src/providers/input/to-model-input.js";
import { titled } from "../../support/titled.js";

const call = { id: "call_1", name: "weather", args: { city: "Zürich" } };
const result = (content: string) => new ToolMessage({ content, tool_call_id: "call_1", name: "weather" });

// Stored threads have these ids, and a replay must give the same ones.
it.each(
  titled([
    {
      title: "a human message",
      message: new HumanMessage("hello"),
      ids: ["686a2a069289476426802de19d393561", "eba2344dffbe40648d1e5ad98e0db31e"],
    },
    {
      title: "a text with half a pair of surrogates",
      message: new HumanMessage("Grüße \ud800 日本"),
      ids: ["69f7260e4b48b275e0264603524bb76c", "3e80f7c62f703e202338c4355f071a45"],
    },
    {
      title: "a message with a call",
      message: new AIMessage({ content: "", tool_calls: [call] }),
      ids: ["306ada65cc1fe55e84c4edeefab25e2e", "c3ac1182ae98ff0a1a61f17ccb191050"],
    },
    {
      title: "a result",
      message: result("18 °C"),
      ids: ["17b181fe857f4ad0aff3227b51325736", "c99e6521760420e0470f9f4a298328b0"],
    },
  ]),
)("The derived id does not change between versions: %s", (_title, { message, ids }) => {
  const [first, second] = ids;
  expect([deriveId(message, "m1"), deriveId(message, "m1", 1)]).toEqual(ids);
  expect(deriveUnusedId(message, "m1", (id) => id === first)).toBe(second);
});

it("The derived ids of calls in a request do not change between versions.", () => {
  const message = new AIMessage({ id: "m1", content: "", tool_calls: [call, call] });
  const history = [new HumanMessage("Weather?"), message, result("1"), result("2")];
  const ids = toModelInput(history, { dialect: "mistral" }).flatMap((sent) => {
    if (ToolMessage.isInstance(sent)) return [sent.tool_call_id];
    return AIMessage.isInstance(sent) ? (sent.tool_calls ?? []).map(({ id }) => id) : [];
  });
  expect(ids).toEqual(["772a7a36a", "5a4cd0925", "772a7a36a", "5a4cd0925"]);
});

it("The id that removes all messages is LangGraph's.", () => {
  expect(REMOVE_ALL_MESSAGES).toBe(LANGGRAPH_REMOVE_ALL);
});
