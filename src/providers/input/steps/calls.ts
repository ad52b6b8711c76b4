/** The steps that change the calls of messages. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { argumentsOf, callsOf, isAIMessage } from "../../../history/call.js";
import { isWritable, withListedCalls } from "../../../history/change-calls.js";
import { copyMessage, withTextFor } from "../../../history/message.js";
import { callIdOf, isResult } from "../../../history/result.js";
import { serverCallId, serverResultId } from "../../../history/server-tools.js";
import { hashText } from "../../../shared/json.js";
import { PLAIN_NAME } from "../../rule.js";
import type { Step } from "../step.js";
import { UNPAIRED_SERVER_TOOL } from "./content.js";

/*
 * Sends every call in `tool_calls`, and nowhere else. The result of a call with bad arguments says what was wrong.
 */

export const listCalls: Step = {
  make: () => (message) => (isAIMessage(message) ? withListedCalls(message) : message),
  why: ({ before, after }) => {
    const given = argumentsOf(before);
    const unsound = callsOf(after ?? before).filter((_, index) => !isWritable(given[index]));
    const names = unsound.map(({ id }) => `"${id}"`).join(", ");
    if (names === "")
      return {
        code: "calls-listed",
        text: "Its calls are sent in one list, and in no other field or block.",
      };
    return {
      code: "calls-listed",
      text: `The arguments of these calls are not a JSON object, so an object takes their place: ${names}.`,
      rules: ["arguments"],
    };
  },
};

/*
 * Rewrites the names of called tools into a form that the provider accepts, and gives each result the name of its
 * call.
 *
 * A model may call a tool that does not exist, with spaces or dots in the name, and the history keeps this call.
 * Some providers match results to calls by name.
 */

const LONGEST_NAME = 64;
const NAMELESS = "unnamed_tool";

export const nameTools: Step = {
  make: ({ dialect }) => {
    let calls: readonly ToolCall[] = [];
    let answered = 0;
    return (message) => {
      if (isResult(message)) {
        const name = calls[answered]?.name;
        answered += 1;
        if (!hasName(message) || message.name === name || name === undefined) return message;
        return copyMessage(message, { name });
      }
      const named = withLegalName(message);
      if (!isAIMessage(named)) return named;
      answered = 0;
      calls = named.tool_calls ?? [];
      if (calls.every(({ name }) => dialect.toolName.test(name))) return named;
      calls = calls.map((call) => ({ ...call, name: toLegalName(call.name, dialect.toolName) }));
      return copyMessage(named, { tool_calls: [...calls] });
    };
  },
  why: ({ before, after }) => {
    const pairs = namesOf(before).map((name, index) => [name, namesOf(after)[index]] as const);
    const changed = pairs.filter(([name, legal]) => name !== legal);
    const texts = changed.map(([name, legal]) => `"${name}" as "${legal}"`);
    const rule = before.name === after?.name ? "tool-name" : "message-name";
    return {
      code: "name-changed",
      text: `The provider does not accept these names, so they are sent in another form: ${[...new Set(texts)].join(", ")}.`,
      rules: isResult(before) ? ["tool-name"] : [rule, "tool-name"],
    };
  },
};

function toLegalName(name: string, legal: RegExp): string {
  if (legal.test(name)) return name;
  const replaced = name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, LONGEST_NAME) || NAMELESS;
  return legal.test(replaced) ? replaced : `_${replaced}`.slice(0, LONGEST_NAME);
}

function hasName({ name }: BaseMessage): boolean {
  return name !== undefined && name !== null;
}

/** The name of an agent or a user. Some providers check it too. */
function withLegalName(message: BaseMessage): BaseMessage {
  if (!hasName(message) || PLAIN_NAME.test(String(message.name))) return message;
  return copyMessage(message, { name: toLegalName(String(message.name), PLAIN_NAME) });
}

function namesOf(message: BaseMessage | undefined): readonly (string | undefined)[] {
  if (message === undefined) return [];
  return [message.name, ...(isAIMessage(message) ? (message.tool_calls ?? []).map(({ name }) => name) : [])];
}

/*
 * Makes call ids unique in the whole input and valid for the provider. A call and its result are renamed together.
 *
 * Providers repeat ids within a thread, some by design, and other providers reject a repeated id. A valid id that was
 * not used before is kept. Any other id is derived from the call and its place, so it is the same in each request.
 */

/** The longest id that all providers accept. Mistral demands exactly this length. */
const ID_LENGTH = 9;

const NONE: readonly string[] = [];

export const renameCalls: Step = {
  make: ({ dialect }) => {
    const used = new Set<string>();
    const deriveCallId = callIdDeriver(used);
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
        const isKept = dialect.callId.test(id) && !used.has(id);
        const sent = isKept ? id : deriveCallId([id, placeOf(message, index), String(place)].join("\n"));
        used.add(sent);
        return sent;
      });
      if (calls.every(({ id }, place) => id === ids[place])) return message;
      const renamed = calls.map((call, place) => ({ ...call, id: ids[place] ?? "" }));
      return copyMessage(message, { tool_calls: renamed });
    };
  },
  why: ({ before, after, target }) => {
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
  },
};

/** A message's own id stays the same when messages before it change. Its index does not. */
function placeOf({ id }: AIMessage, index: number): string {
  return id === undefined || id === "" ? `#${index}` : id;
}

function callIdDeriver(used: ReadonlySet<string>): (place: string) => string {
  /** For each place, the first salt that was not tried. Messages of a list can have the same id. */
  const salts = new Map<string, number>();
  return (place) => {
    for (let salt = salts.get(place) ?? 0; ; salt += 1) {
      const id = hashText(`${place}\n${salt}`, ID_LENGTH);
      if (used.has(id)) continue;
      salts.set(place, salt + 1);
      return id;
    }
  };
}

function callIdsOf(message: BaseMessage | undefined): readonly string[] {
  if (message === undefined) return [];
  if (isResult(message)) return [callIdOf(message)];
  return isAIMessage(message) ? (message.tool_calls ?? []).map(({ id = "" }) => id) : [];
}

/*
 * Drops calls of tools that the provider runs if their result is missing. A result without its call becomes text.
 *
 * Both are blocks of one message, and Anthropic refuses one without the other. A result is missing if the response ended
 * before it.
 */

export const pairServerTools: Step = {
  make: () => (message) => {
    const { content } = message;
    if (!isAIMessage(message) || !Array.isArray(content)) return message;
    const called = new Set(content.flatMap((block) => serverCallId(block) ?? []));
    const answered = new Set(content.flatMap((block) => serverResultId(block) ?? []));
    if (called.size === 0 && answered.size === 0) return message;
    const paired = withTextFor(content, (block) => {
      const call = serverCallId(block);
      const answer = serverResultId(block);
      return (call === undefined || answered.has(call)) && (answer === undefined || called.has(answer));
    });
    if (paired.length === content.length && paired.every((block, index) => block === content[index]))
      return message;
    return copyMessage(message, { content: paired.length === 0 ? "" : paired });
  },
  why: () => UNPAIRED_SERVER_TOOL,
};
