/** Finds calls with a result that the clients of LangChain do not send, or send as they are. */

import type { Group } from "../../history/calls/group.js";
import { type Call, callBlockOf, isAIMessage } from "../../history/messages/call.js";
import { isDerivedId } from "../../history/messages/message-id.js";
import { isPlaceholder } from "../../history/messages/result.js";
import { recordsIn } from "../../shared/records-in.js";

/** A call whose arguments could not be parsed, and that has a result. */
export interface UnsentCall {
  readonly group: Group;
  readonly call: Call;
  /** Whether clients send it as the provider wrote it: the arguments are not JSON then. Otherwise they send no call. */
  readonly isSentRaw: boolean;
}

/**
 * Clients send the results of invalid calls, and not the calls. Our own agents change the request: they store such a
 * result with a derived id, or as a placeholder.
 */
export function unsentCallsIn(groups: readonly Group[]): UnsentCall[] {
  return groups.flatMap((group) =>
    group.calls.flatMap((call, place) => {
      const result = group.results[place];
      if (call.kind !== "invalid" || result === undefined || isPlaceholder(result) || isDerivedId(result.id))
        return [];
      const { head } = group;
      if (!isAIMessage(head) || isSentOtherwise(head, call)) return [];
      const isSentRaw = recordsIn(head.additional_kwargs?.["tool_calls"]).some(({ id }) => id === call.id);
      return [{ group, call, isSentRaw: isSentRaw && !head.tool_calls?.length }];
    }),
  );
}

/** As a block of the content, or with the items of the stored response. */
function isSentOtherwise(head: Group["head"], call: Call): boolean {
  if (Array.isArray(Reflect.get(head.response_metadata ?? {}, "output"))) return true;
  return recordsIn(head.content).some((block) => callBlockOf(block)?.id === call.id);
}
