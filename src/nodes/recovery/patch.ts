import type { BaseMessage } from "@langchain/core/messages";
import { Command, type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import { placeOfCall } from "../../history/calls/group.js";
import { type UnansweredCall, unansweredCalls } from "../../history/calls/open-calls.js";
import { isAIMessage } from "../../history/messages/call.js";
import { markRecoveredResult } from "../../history/messages/recovered.js";
import { causeInHistory, createPlaceholder } from "../../history/messages/result.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import type { CallPolicy } from "../approval/call-policy.js";
import { noteRecovered } from "../inbox/note-recovered.js";
import { emitEvent } from "../run/agent-event.js";
import type { AgentState, AgentUpdate } from "../run/agent-state.js";
import { runInputsOf } from "../run/run-handle.js";
import { addUsage, isUsed, NO_USAGE } from "../run/thread-usage.js";
import { findLeftovers } from "./leftovers.js";
import { pendingApprovals } from "./pending-approvals.js";
import { type Remains, recoverCalls } from "./recover-calls.js";
import { recoverMessages } from "./recover-messages.js";
import { recoverValues } from "./recover-values.js";

export interface PatchNodeOptions {
  readonly callPolicy: CallPolicy;
}

type PatchCommand = Command<unknown, AgentUpdate, "approve">;
type PatchUpdate = AgentUpdate | PatchCommand | (AgentUpdate | PatchCommand)[];

/**
 * Makes the node that recovers what ended runs left, and closes the calls that nobody will answer. Messages that an
 * ended run has shown to a client are put back in their places. A call gets the result that its tool returned before
 * its run ended, if it can be found. Otherwise it gets a placeholder that says what is known. Calls of the open group
 * stay open if the caller is to answer them. If they waited for a human, the question is repeated. This node runs no
 * tool.
 */
export function createPatchNode({ callPolicy }: PatchNodeOptions) {
  return async function patch(state: AgentState, config: LangGraphRunnableConfig): Promise<PatchUpdate> {
    const { messages } = state;
    const inputs = runInputsOf(config);
    const leftovers = inputs === undefined ? [] : await findLeftovers(inputs);
    const recovered = recoverMessages(messages, leftovers, config);
    const history = recovered.length === 0 ? messages : reduceMessages(messages, recovered).messages;
    for (const { id = "" } of recovered.filter(isAIMessage))
      emitEvent(config, { type: "response-recovered", messageId: id });

    const { dangling, pending } = unansweredCalls(history);
    const calls = [...dangling, ...pending];
    const found = recoverCalls(calls, leftovers);
    const isClosed = (index: number, { call }: UnansweredCall, remains: Remains | undefined): boolean => {
      // A response that a middleware set follows the open group too.
      if (index < dangling.length || inputs?.given !== undefined) return true;
      if (inputs?.endsAfterInput) return remains?.kind === "question";
      return remains === undefined && !callPolicy.isHandedOver({ call });
    };
    const closing: BaseMessage[] = [];
    for (const [index, unanswered] of calls.entries()) {
      const { call, group, place } = unanswered;
      const remains = found[index];
      if (remains?.kind === "result") {
        closing.push(markRecoveredResult(remains.result));
        emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
      } else if (isClosed(index, unanswered, remains)) {
        const cause = remains?.kind === "question" ? "declined" : causeInHistory(call, history[group.end]);
        closing.push(createPlaceholder(call, cause, placeOfCall(group, place)));
        emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
      }
    }
    const written = [...recovered.map(asQuietUpdate), ...closing];
    const usage = leftovers.map((leftover) => leftover.usage).reduce(addUsage, NO_USAGE);
    const update = {
      ...(written.length > 0 && { messages: written, ...noteRecovered(recovered, state, config) }),
      ...(isUsed(usage) && { threadUsage: usage }),
    };
    const asksAgain = inputs?.given === undefined && !inputs?.endsAfterInput;
    const question = asksAgain ? pendingApprovals(pending, found.slice(dangling.length)) : undefined;
    const whole =
      question === undefined ? update : new Command({ update, goto: [new Send("approve", question)] });
    const values = inputs === undefined ? [] : recoverValues(leftovers, inputs.ownState);
    // Several writes to one key need several updates. LangGraph takes a list of them only if it has a command.
    const others = values.map((value) => new Command<unknown, AgentUpdate, "approve">({ update: value }));
    return others.length === 0 ? whole : [whole, ...others];
  };
}

/**
 * LangGraph streams each message instance that a node writes. Clients have the pieces of a response already, and would
 * join them with it.
 */
function asQuietUpdate(message: BaseMessage) {
  return isAIMessage(message) ? toPlain(message) : message;
}
