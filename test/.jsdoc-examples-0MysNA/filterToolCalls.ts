import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { filterToolCalls } from "langgraph-tether";

const history = [
  new HumanMessage("What is the weather in Paris?"),
  new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: { city: "Paris" } }] }),
  new ToolMessage({ tool_call_id: "c1", content: "18 °C" }),
  new AIMessage("18 °C."),
  new HumanMessage("Thank you!"),
];
console.log(filterToolCalls(history, 0).map((message) => message.text)); // [ 'What is the weather in Paris?', '18 °C.', 'Thank you!' ]
