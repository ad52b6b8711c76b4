import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { findSafeCutoff, TetherError } from "langgraph-tether";

try {
  findSafeCutoff([new HumanMessage("Hello!"), new AIMessage("Hi!")], { messages: -1 });
} catch (error) {
  if (!TetherError.isInstance(error)) throw error;
  console.log(error.code, error.message); // INVALID_SETTING Expected `messages` to be an integer of 0 or more, got `-1`.
}
