/** The messages that suites give to what they measure. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";

export const MESSAGES_A_TURN = 4;

const QUESTION = "word ".repeat(20);
const RESULT = "found ".repeat(20);
const ANSWER = "word ".repeat(30);

/** A question, a response with a call, its result, and a text. */
export const createTurn = (turn: number): [HumanMessage, AIMessage, ToolMessage, AIMessage] => [
  new HumanMessage({ id: `h${turn}`, content: `Question ${turn} ${QUESTION}` }),
  new AIMessage({
    id: `c${turn}`,
    content: "",
    tool_calls: [{ id: `call-${turn}`, name: "look", args: { city: "Rome" }, type: "tool_call" }],
  }),
  new ToolMessage({ id: `r${turn}`, content: RESULT, tool_call_id: `call-${turn}`, name: "look" }),
  new AIMessage({ id: `a${turn}`, content: `Answer ${turn} ${ANSWER}` }),
];

/** @param size How many messages. All turns are whole. */
export const createHistory = (size: number): BaseMessage[] =>
  Array.from({ length: size / MESSAGES_A_TURN }, (_, turn) => createTurn(turn)).flat();

/** The same turns. In every fifth one, the call has no result. */
export const createBrokenHistory = (size: number): BaseMessage[] =>
  createHistory(size).filter((_, index) => index % 20 !== 2);

/** A size as titles have it, such as 100,000. */
export const written = (size: number): string => size.toLocaleString("en-US");
