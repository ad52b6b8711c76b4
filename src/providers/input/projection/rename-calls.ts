/**
 * Makes call ids unique in the whole input and valid for the provider. A call and its result are renamed together.
 *
 * Providers repeat ids within a thread, some by design, and other providers reject a repeated id. A valid id that was
 * not used before is kept. Any other id is derived from the call and its place, so it is the same in each request.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { callIdOf, isResult } from "../../../history/messages/result.js";
import { hashText } from "../../../shared/hash-text.js";
import { addNoted, type Journal } from "./journal.js";
import type { Step, StepReason } from "./step.js";

/** The longest id that all providers accept. Mistral demands exactly this length. */
const ID_LENGTH = 9;

const NONE: readonly string[] = [];

export const renameCalls: Step = ({ dialect }, journal) => {
  const used = new Set<string>();
  const deriveCallId = callIdDeriver(used, journal);
  let ids: readonly string[] = NONE;
  let answered = 0;
  return (message, index) => {
    if (isResult(message)) {
      const id = ids[answered];
      answered += 1;
      return id === undefined || id === callIdOf(message)
        ? message
        : copyMessage(message, { tool_call_id: id });
    }
    if (!isAIMessage(message)) return message;
    answered = 0;
    const calls = message.tool_calls ?? [];
    ids = NONE;
    if (calls.length === 0) return message;
    ids = calls.map(({ id = "" }, place) => {
      if (dialect.callId.test(id) && addNoted(used, id, journal)) return id;
      const derived = deriveCallId([id, placeOf(message, index), String(place)].join("\n"));
      addNoted(used, derived, journal);
      return derived;
    });
    if (calls.every(({ id }, place) => id === ids[place])) return message;
    const renamed = calls.map((call, place) => ({ ...call, id: ids[place] ?? "" }));
    return copyMessage(message, { tool_calls: renamed });
  };
};

/** A message's own id stays the same when messages before it change. Its index does not. */
function placeOf({ id }: AIMessage, index: number): string {
  return id === undefined || id === "" ? `#${index}` : id;
}

function callIdDeriver(used: ReadonlySet<string>, journal: Journal): (place: string) => string {
  /** For each place, the first salt that was not tried. Messages of a list can have the same id. */
  const salts = new Map<string, number>();
  return (place) => {
    const first = salts.get(place) ?? 0;
    for (let salt = first; ; salt += 1) {
      const id = hashText(`${place}\n${salt}`, ID_LENGTH);
      if (used.has(id)) continue;
      salts.set(place, salt + 1);
      journal.note(() => salts.set(place, first));
      return id;
    }
  };
}

export const whyRenameCalls: StepReason = ({ before, after, target }) => {
  const ids = callIdsOf(after);
  const renamed = callIdsOf(before).flatMap((id, index) =>
    id === ids[index] ? [] : [[id, ids[index]] as const],
  );
  const texts = renamed.map(([id, other]) => `"${id}" as "${other}"`);
  const isRepeated = renamed.every(([id]) => target.dialect.callId.test(id));
  return {
    code: "call-id-renamed",
    text: `${isRepeated ? "An earlier call has the same id" : "The provider does not accept the id"}, so it is sent in another form: ${texts.join(", ")}.`,
    rules: [isRepeated ? "repeated-call-id" : "call-id"],
  };
};

function callIdsOf(message: BaseMessage | undefined): readonly string[] {
  if (message === undefined) return [];
  if (isResult(message)) return [callIdOf(message)];
  return isAIMessage(message) ? (message.tool_calls ?? []).map(({ id = "" }) => id) : [];
}
