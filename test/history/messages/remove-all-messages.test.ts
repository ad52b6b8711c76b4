import { REMOVE_ALL_MESSAGES as LANGGRAPH_REMOVE_ALL } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { REMOVE_ALL_MESSAGES } from "../../../src/history/message.js";

it("The id that removes all messages is LangGraph's.", () => {
  expect(REMOVE_ALL_MESSAGES).toBe(LANGGRAPH_REMOVE_ALL);
});
