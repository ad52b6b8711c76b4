/** `Command` and `Send` of another copy of LangGraph. A program that mixes `import` and `require` has two copies. */

import { Command, isCommand, Send } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";

/** LangGraph has a check of this kind for a `Command` only. */
export function isSend(value: unknown): value is Send {
  return isRecord(value) && value["lg_name"] === "Send" && typeof value["node"] === "string";
}

/** The fields of a command that are set, to make another command with some of them replaced. */
export function fieldsOfCommand({ graph, goto, resume, update }: Command): CommandFields {
  return {
    ...(graph !== undefined && { graph }),
    ...(goto !== undefined && { goto }),
    ...(resume !== undefined && { resume }),
    ...(update !== undefined && { update }),
  };
}

export type CommandFields = ConstructorParameters<typeof Command>[0];

/**
 * The value that a tool returned. If it is a command, each `Send` in it becomes one of this copy: LangGraph accepts no
 * other.
 */
export function withOwnSends(value: unknown): unknown {
  if (!isCommand(value)) return value;
  const targets = [value.goto ?? []].flat();
  if (!targets.some(isSend)) return value;
  return new Command({ ...fieldsOfCommand(value), goto: targets.map(ownSend) });
}

function ownSend<Target>(target: Target | Send): Target | Send {
  if (!isSend(target)) return target;
  const { node, args, timeout } = target;
  return new Send(node, args, timeout === undefined ? undefined : { timeout });
}
