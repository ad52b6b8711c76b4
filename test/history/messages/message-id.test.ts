import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { deriveId, deriveUnusedId } from "../../../src/history/messages/message-id.js";
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
      ids: ["38eddeec678b9dbebc08361f9b3ce0d0", "ef7e335e8a35484c2de81769c18d5394"],
    },
    {
      title: "a text with half a pair of surrogates",
      message: new HumanMessage("Grüße \ud800 日本"),
      ids: ["90a7f84f167ce4157581655761f317db", "a10c47bccb09677210fa732b9322eb82"],
    },
    {
      title: "a message with a call",
      message: new AIMessage({ content: "", tool_calls: [call] }),
      ids: ["ed50a323ce72f8f3e38d11dc87aeaa72", "9a1bacba7ab4c5d5667085ab309064ef"],
    },
    {
      title: "a result",
      message: result("18 °C"),
      ids: ["ec6f77e0ddf1a2256db7d6516aff9ee5", "dfe730bff9119d4f813fdf2085ccad7a"],
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
  expect(ids).toEqual(["b7cf348cf", "72ee7f471", "b7cf348cf", "72ee7f471"]);
});
