/** The steps of a plan: how a list differs from the one before. */

import type { BaseMessage } from "@langchain/core/messages";
import { callIdOf, isResult } from "../../history/messages/result.js";
import type { Examination, OpenCall } from "../examine/examine-thread.js";
import { idIn } from "../examine/id-in.js";
import type { RepairStep } from "../repair-plan.js";

/** The fields of a step that name its message. */
export function messageOf(
  message: BaseMessage | undefined,
): Pick<RepairStep, "messageId" | "callId" | "tool"> {
  const isAnswer = message !== undefined && isResult(message);
  return {
    messageId: message?.id ?? null,
    callId: isAnswer ? callIdOf(message) : null,
    tool: isAnswer ? (message.name ?? null) : null,
  };
}

/** @param after The list that the thread gets. */
export function stepsOf(found: Examination, after: readonly BaseMessage[]): RepairStep[] {
  const { list, openCalls, unsentCalls, orphans, duplicates, misplaced } = found;
  const to = new Map(after.map((message, index) => [message, index]));
  const from = (message: BaseMessage): number | null => list.byMessage.get(message)?.index ?? null;
  const steps: RepairStep[] = [];
  for (const { value, index } of list.foreign)
    steps.push({
      ...messageOf(undefined),
      messageId: idIn(value) ?? null,
      kind: "take-out",
      from: index,
      to: null,
      description: "A value that is not a message is taken out.",
    });
  for (const { message, index, issue } of list.messages)
    if (issue !== undefined)
      steps.push({
        ...messageOf(message),
        kind: "mend",
        from: index,
        to: to.get(message) ?? null,
        description: `The field \`${issue.path}\` is not ${issue.expectation}: what can be read of it is kept.`,
      });
  for (const { group, call } of unsentCalls)
    steps.push({
      kind: "mend",
      messageId: group.head.id ?? null,
      callId: call.id,
      tool: call.name,
      from: from(group.head),
      to: to.get(group.head) ?? null,
      description: `The arguments of the call of ${nameOf(call.name)} are not valid JSON: what can be read of them is kept.`,
    });
  const withoutCall = new Set(orphans);
  for (const message of [...orphans, ...duplicates]) {
    const why = withoutCall.has(message) ? "no call before it has its id" : "its call has another result";
    steps.push({
      ...messageOf(message),
      kind: "take-out",
      from: from(message),
      to: null,
      description: `A result of ${nameOf(message.name)} is taken out, because ${why}. The receipt keeps it.`,
    });
  }
  for (const message of misplaced)
    steps.push({
      ...messageOf(message),
      kind: "move",
      from: from(message),
      to: to.get(message) ?? null,
      description: `The result of ${nameOf(message.name)} is moved to its call.`,
    });
  for (const open of openCalls) if (!open.isLeftOpen) steps.push(stepOf(open, to.get(open.group.head)));
  const told = new Set(openCalls.flatMap(({ recovered }) => recovered ?? []));
  for (const [index, message] of after.entries())
    if (!isResult(message) && !list.byMessage.has(message) && !told.has(message as never))
      steps.push({
        ...messageOf(message),
        kind: "recover",
        from: null,
        to: index,
        description: "A message that a finished task wrote is put into the list.",
      });
  return steps;
}

function stepOf({ call, place, recovered, standIn }: OpenCall, start: number | undefined): RepairStep {
  const fields = {
    messageId: recovered?.id ?? null,
    callId: call.id,
    tool: call.name,
    from: null,
    to: start === undefined ? null : start + 1 + place,
  };
  const name = nameOf(call.name);
  if (recovered === undefined)
    return {
      ...fields,
      kind: "close",
      description: `A result is written for the call of ${name}, which has none.`,
    };
  return standIn === undefined
    ? { ...fields, kind: "recover", description: `The result that ${name} returned is put after its call.` }
    : {
        ...fields,
        kind: "replace",
        description: `The result that ${name} returned replaces one that was made up.`,
      };
}

function nameOf(tool: string | undefined): string {
  return tool ? `\`${tool}\`` : "a tool without a name";
}
