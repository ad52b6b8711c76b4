/** Asks the model again while it responds with a text that is not in the format. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { filterToolCalls } from "../../history/long-threads/filter-tool-calls.js";
import { callsOf } from "../../history/messages/call.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import type { FormatPlan } from "../../settings/format/read-response-format.js";
import type { RunContext } from "../../settings/run-context.js";
import { toJson } from "../../shared/to-json.js";
import { askModel, type ModelAnswer, type ModelRequest } from "../model/ask-model.js";
import { emitEvent } from "../run/agent-event.js";
import { checkText } from "./check-response.js";
import { type ActiveFormat, activeFormat, formatRequest, formatTools } from "./format-request.js";

export interface AnswerInFormat {
  readonly answer: ModelAnswer;
  /** The format of the model that responded. Undefined: a text. */
  readonly format: ActiveFormat | undefined;
  /** How often the model was asked. */
  readonly requests: number;
}

/**
 * A wrong text is not stored, because a history of failed attempts helps nobody. Clients have received it, so it is
 * taken back. The model sees it, with a message that says what is wrong, only in the next request. The last text stays.
 *
 * @param plan Undefined for a graph whose responses are texts.
 * @param mostRequests How often the model is asked at most.
 */
export async function askInFormat(
  plan: FormatPlan | undefined,
  request: Omit<ModelRequest, "addFormat" | "formatTools">,
  mostRequests: number,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<AnswerInFormat> {
  if (plan === undefined) return { answer: await askModel(request, config), format: undefined, requests: 1 };
  // A chat middleware can offer other tools than those of the graph.
  let hasTools = request.tools.length > 0;
  const formatOf = (model: BaseChatModel) => activeFormat(plan, model, hasTools);
  const updates: ModelAnswer["updates"][number][] = [];
  let asked: ModelRequest = {
    ...request,
    formatTools: formatTools(plan),
    addFormat: (offer, model) => {
      hasTools = offer.tools.length > 0;
      return formatRequest(formatOf(model), model, offer);
    },
  };
  for (let requests = 1; ; requests += 1) {
    const answer = await askModel(asked, config);
    updates.push(...answer.updates);
    const { message, model, position } = answer;
    const format = formatOf(model);
    const isLast = message === undefined || requests >= mostRequests || answer.isTerminated;
    const fault = isLast || callsOf(message).length > 0 ? undefined : await faultOf(message, format);
    if (message === undefined || fault === undefined)
      return { answer: { ...answer, updates }, format, requests };
    emitEvent(config, { type: "structured-response-refused", reason: fault });
    await takeBack(message, config);
    const models = { ...asked.models, position };
    asked = { ...asked, ...withFault(asked, message, instruct(fault, format)), models };
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
