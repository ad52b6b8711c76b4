/**
 * Names that LangGraph's development server cannot write into the file in which it keeps the threads of all users: as long
 * as an object of one thread has such a name, nothing of anybody is saved.
 */

import { type ChatMiddleware, chatMiddleware } from "../../agent/middleware/middleware.js";
import { copyMessage } from "../../history/message.js";

const RESERVED_NAMES: readonly string[] = ["__proto__", "constructor", "prototype"];

export function isReservedName(name: string): boolean {
  return RESERVED_NAMES.includes(name);
}

/**
 * Refuses calls with such a name in their arguments. The server keeps the arguments of a call that waits for approval as
 * they are. Messages are written in another form, which can have these names.
 */
export const refuseReservedNames: ChatMiddleware = chatMiddleware(
  async function refuseReservedNames(context, next) {
    await next();
    const { result } = context;
    const calls = result?.tool_calls ?? [];
    const refused = calls.filter(({ args }) => hasReservedName(args));
    if (result === undefined || refused.length === 0) return;
    const error = `they must not have the names ${RESERVED_NAMES.map((name) => `\`${name}\``).join(", ")}`;
    const invalid = refused.map(({ args, ...call }) => ({
      ...call,
      args: JSON.stringify(args),
      error,
      type: "invalid_tool_call" as const,
    }));
    context.result = copyMessage(result, {
      tool_calls: calls.filter((call) => !refused.includes(call)),
      invalid_tool_calls: [...(result.invalid_tool_calls ?? []), ...invalid],
    });
  },
);

function hasReservedName(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => isReservedName(name) || hasReservedName(item));
}
