/** Asks the model again while it responds with a text that is not in the format. */

import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { filterToolCalls } from "../../history/long-threads/filter-tool-calls.js";
import { callsOf } from "../../history/messages/call.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import type { RunContext } from "../../settings/run-context.js";
import { toJson } from "../../shared/to-json.js";
import { askModel, type ModelAnswer, type ModelRequest } from "../model/ask-model.js";
import { emitEvent } from "../run/agent-event.js";
import { runRecordOf } from "../run/run-handle.js";
import { checkText } from "./check-response.js";
import type { ActiveFormat } from "./format-request.js";

export interface AskedInFormat {
  readonly answer: ModelAnswer;
  /** How often the model was asked. */
  readonly requests: number;
}

/**
 * A wrong text is not stored, because a history of failed attempts helps nobody. Clients have received it, so it is
 * taken back. The model sees it, with a message that says what is wrong, only in the next request. The last text stays.
 *
 * @param mostRequests How often the model is asked at most.
 */
export async function askInFormat(
  active: ActiveFormat | undefined,
  request: ModelRequest,
  mostRequests: number,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<AskedInFormat> {
  let asked = request;
  for (let requests = 1; ; requests += 1) {
    const answer = await askModel(asked, config);
    const { message } = answer;
    if (active === undefined) return { answer, requests };
    // A middleware can turn tools off for this response.
    const isOff = active.kind === "tool" && answer.toolChoice === "none";
    const isLast = requests >= mostRequests || answer.isTerminated || isOff;
    if (message === undefined || isLast || callsOf(message).length > 0) return { answer, requests };
    const fault = await faultOf(message, active);
    if (fault === undefined) return { answer, requests };
    emitEvent(config, { type: "structured-response-refused", reason: fault });
    runRecordOf(config)?.tally.addAnswer(message);
    await takeBack(message, config);
    asked = { ...asked, ...withFault(asked, message, instruct(fault, active)) };
  }
}

/** What is wrong with a text; undefined if it is in the format. */
async function faultOf(message: AIMessage, active: ActiveFormat): Promise<string | undefined> {
  if (active.kind === "tool") return "The response is a text.";
  const checked = await checkText(message, active.format);
  return checked.kind === "right" ? undefined : checked.errors.join("\n");
}

function instruct(fault: string, active: ActiveFormat): string {
  if (active.kind === "tool") {
    const names = active.formats.map(({ name }) => `\`${name}\``).join(" or ");
    return `${fault} Do not respond with a text. Call ${names} with your response as its arguments.`;
  }
  return `The response does not match its schema:\n${fault}\nRespond again, only with JSON that matches this schema:\n${toJson(active.format.jsonSchema)}`;
}

/**
 * The message that says what is wrong looks like a new turn, and calls of earlier turns can be left out. So they are left
 * out here, before it is added.
 */
function withFault(
  { history, input }: ModelRequest,
  message: AIMessage,
  text: string,
): Pick<ModelRequest, "history" | "input"> {
  const { maxToolCallsFromHistory: most, ...rest } = input;
  const shown: readonly BaseMessage[] = most === undefined ? history : filterToolCalls(history, most);
  return { history: [...shown, message, new HumanMessage(text)], input: rest };
}
