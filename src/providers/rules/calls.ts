/** The rules about calls: where they stand, their arguments, their ids and their names. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { argumentsIn, callBlockOf, isAIMessage, readCall } from "../../history/call.js";
import { isWritable, withListedCalls } from "../../history/change-calls.js";
import { copyMessage } from "../../history/message.js";
import { callIdOf, isResult } from "../../history/result.js";
import { callerIdOf, serverCallId } from "../../history/server-tools.js";
import { hashText, parseJson, toJson } from "../../shared/json.js";
import { recordsIn } from "../../shared/values.js";
import { isOwn, type Target } from "../contract/author.js";
import { type Dialect, PLAIN_NAME } from "../contract/dialect.js";
import { isForeignBlock } from "../table/dialects.js";
import {
  BROKEN,
  blockType,
  type Fault,
  type HistoryRule,
  type InputStep,
  inEach,
  type SentMessage,
} from "./rule.js";
import { isOwnMessage } from "./state.js";

/*
 * All calls are sent in `tool_calls` and nowhere else. The result of a call with bad arguments says what was wrong.
 *
 * The target's own blocks of the same calls stay in their places. Also a call that the provider's code made stays a
 * block, because only the block names the code that waits for it.
 */

const listCalls: InputStep = (target) => (message) => {
  if (!isAIMessage(message)) return message;
  const isKept = isOwn(message, target) || isCalledByCode(message, target);
  return isKept && hasBlocksOfCalls(message, target) ? message : withListedCalls(message);
};

/** Whether code that the message called made its calls. */
function isCalledByCode(message: AIMessage, target: Target): boolean {
  if (!target.dialect.callPlaces.includes("block")) return false;
  const blocks = recordsIn(message.content);
  const running = new Set(blocks.map(serverCallId).filter((id) => id !== undefined));
  if (running.size === 0 || !isOwnMessage(message, target)) return false;
  return blocks.some(({ type, ...block }) => type === "tool_use" && running.has(callerIdOf(block) ?? ""));
}

/** Whether the content has a block in the target's form for each listed call, with the same arguments and a caller that is there. */
function hasBlocksOfCalls(
  { content, tool_calls, invalid_tool_calls }: AIMessage,
  { dialect }: Target,
): boolean {
  const blocks = recordsIn(content).filter(
    (block) => callBlockOf(block) !== undefined || block["type"] === "tool_call",
  );
  const listed = recordsIn(tool_calls);
  const callers = blocks.flatMap((block) => callerIdOf(block) ?? []);
  const running = new Set(recordsIn(content).map(serverCallId));
  return (
    blocks.length > 0 &&
    callers.every((id) => running.has(id)) &&
    blocks.length === listed.length &&
    recordsIn(invalid_tool_calls).length === 0 &&
    !blocks.some((block) => isForeignBlock(block, dialect)) &&
    blocks.every((block, place) => {
      const { id, name, args } = listed[place] ?? {};
      const input = argumentsIn(block);
      const given = typeof input === "string" ? parseJson(input) : input;
      // A stream's block can have its arguments in pieces. The client takes them from the list.
      const isSame = input === "" || toJson(given) === toJson(args);
      return readCall(block).id === id && block["name"] === name && isSame;
    })
  );
}

export const LISTED_CALLS: readonly HistoryRule[] = [
  {
    name: "arguments",
    about: "content",
    meaning: "The arguments of a call are not a JSON object.",
    find: inCalls(({ args }) => !isWritable(args)),
    step: listCalls,
  },
  {
    name: "empty-calls",
    about: "content",
    meaning: "The client would send an empty list of calls.",
    find: inEach(({ message, calls, role }, { callPlaces }) => {
      const raw: unknown = message.additional_kwargs?.["tool_calls"];
      const isEmpty = calls.length === 0 && Array.isArray(raw) && raw.length === 0;
      return isEmpty && role === "assistant" && callPlaces.includes("raw") && BROKEN;
    }),
    step: listCalls,
  },
  {
    name: "text-after-call",
    about: "order",
    meaning: "Within one message, text follows a call.",
    find: inEach(({ content, calls }) => {
      const types = Array.isArray(content) ? content.map(blockType) : [];
      const firstCall = types.indexOf("tool_use");
      return firstCall >= 0 && types.lastIndexOf("text") > firstCall && { ids: calls.map(({ id }) => id) };
    }),
    step: listCalls,
  },
];

type SentCall = SentMessage["calls"][number];

/** The `find` of a rule about the calls of each message, one by one. */
function inCalls(
  isBroken: (call: SentCall, dialect: Dialect) => boolean,
  placeOfValue: "id" | "name" = "id",
): HistoryRule["find"] {
  return (messages, dialect) =>
    messages.flatMap(({ calls, index }) =>
      calls.flatMap((call): Fault[] =>
        isBroken(call, dialect) ? [{ index, [placeOfValue]: call[placeOfValue] }] : [],
      ),
    );
}

/*
 * Gives calls names and ids that the provider accepts, and each result its call's name and id.
 *
 * A model may call a nonexistent tool, with spaces or dots in its name, and the history keeps this call. Some providers
 * match results to calls by name. Two calls in one message never share an id. Providers repeat ids within a thread,
 * some by design, and a few other providers reject a repeated id. Where that matters, a valid id is kept only if it is
 * new. Any other id is derived from the call and its place, so it is the same in each request.
 */

const nameCalls: InputStep = ({ dialect }) => {
  const { rules } = dialect;
  const isThreadWide = rules["repeated-call-id"] !== undefined;
  let idFor = uniqueIds(dialect.callId);
  let calls: readonly ToolCall[] = [];
  let answered = 0;
  return (message, index) => {
    if (isResult(message)) {
      const call = calls[answered];
      answered += 1;
      if (call === undefined) return message;
      const { id: tool_call_id = "", name } = call;
      const isNamed = !hasName(message) || message.name === name;
      if (isNamed && callIdOf(message) === tool_call_id) return message;
      return copyMessage(message, { tool_call_id, ...(!isNamed && { name }) });
    }
    const named = rules["message-name"] === undefined ? message : withLegalName(message);
    if (!isAIMessage(named)) return named;
    answered = 0;
    if (!isThreadWide) idFor = uniqueIds(dialect.callId);
    const given = named.tool_calls ?? [];
    calls = given.map((call, place) => ({
      ...call,
      name: toLegalName(call.name, dialect.toolName),
      id: idFor(call.id ?? "", `${placeOf(named, index)}\n${place}`),
    }));
    const isSame = calls.every(
      ({ id, name }, place) => id === given[place]?.id && name === given[place]?.name,
    );
    // A block would still have the call's own name.
    return isSame ? named : copyMessage(withListedCalls(named), { tool_calls: [...calls] });
  };
};

const LONGEST_NAME = 64;
const NAMELESS = "unnamed_tool";

function toLegalName(name: string, legal: RegExp): string {
  if (legal.test(name)) return name;
  const replaced = name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, LONGEST_NAME) || NAMELESS;
  return legal.test(replaced) ? replaced : `_${replaced}`.slice(0, LONGEST_NAME);
}

function hasName({ name }: BaseMessage): boolean {
  return name !== undefined && name !== null;
}

/** An agent's or a user's name, which some providers also check. */
function withLegalName(message: BaseMessage): BaseMessage {
  if (!hasName(message) || PLAIN_NAME.test(String(message.name))) return message;
  return copyMessage(message, { name: toLegalName(String(message.name), PLAIN_NAME) });
}

/** What all providers accept: the only length of one, and none forbids it. */
const ID_LENGTH = 9;

/** Ids of models that count their calls: `functions.bash:0`. After ids in another form, they write no more calls. */
const COUNTED = /^(.{1,100}:)\d{1,9}$/s;

function uniqueIds(legal: RegExp): (id: string, place: string) => string {
  const used = new Set<string>();
  /** The first salt that was not tried. A list's messages can share an id. */
  const salts = new Map<string, number>();
  const firstFree = (key: string, idFor: (salt: number) => string, first: string) => {
    let id = first;
    for (let salt = salts.get(key) ?? 0; used.has(id) || !legal.test(id); salt += 1) {
      id = idFor(salt);
      salts.set(key, salt + 1);
    }
    used.add(id);
    return id;
  };
  return (given, place) => {
    const name = legal.test(given) ? COUNTED.exec(given)?.[1] : undefined;
    if (name !== undefined && legal.test(`${name}1000000000`))
      return firstFree(name, (salt) => `${name}${salt}`, given);
    const key = `${given}\n${place}`;
    return firstFree(key, (salt) => hashText(`${key}\n${salt}`, ID_LENGTH), given);
  };
}

/** A message's own id stays the same when earlier messages change. Its index does not. */
function placeOf({ id }: AIMessage, index: number): string {
  return id === undefined || id === "" ? `#${index}` : id;
}

export const NAMED_CALLS: readonly HistoryRule[] = [
  {
    name: "call-id",
    about: "content",
    meaning: "The id of a call or of its result has the wrong form.",
    find: (messages, dialect) =>
      messages.flatMap(({ message, calls, index }) => {
        const ids = [...(isResult(message) ? [callIdOf(message)] : []), ...calls.map(({ id }) => id)];
        return ids.flatMap((id): Fault[] => (dialect.callId.test(id) ? [] : [{ index, id }]));
      }),
    step: nameCalls,
  },
  {
    name: "repeated-call-id",
    about: "pairing",
    meaning: "A call has the id of a call of an earlier response.",
    find: (messages) => {
      const used = new Set<string>();
      return messages.flatMap(({ calls, index }) => {
        const own = [...new Map(calls.map((call) => [call.id, call])).values()];
        return againIn(own, used, index);
      });
    },
    step: nameCalls,
  },
  {
    name: "duplicate-call-id",
    about: "pairing",
    meaning: "Two calls of one response have the same id.",
    find: (messages) => messages.flatMap(({ calls, index }) => againIn(calls, new Set(), index)),
    step: nameCalls,
  },
  {
    name: "tool-name",
    about: "content",
    meaning: "The name of a called tool has the wrong form.",
    find: inCalls(({ name }, { toolName }) => !toolName.test(name), "name"),
    step: nameCalls,
  },
  {
    name: "message-name",
    about: "content",
    meaning: "The name of a message has the wrong form.",
    find: inEach(
      ({ message }) =>
        hasName(message) && !PLAIN_NAME.test(String(message.name)) && { name: String(message.name) },
    ),
    step: nameCalls,
  },
];

/** The calls whose id is used, and notes all ids as used. */
function againIn(calls: readonly SentCall[], used: Set<string>, index: number): readonly Fault[] {
  return calls.flatMap(({ id }) => {
    const isUsed = used.has(id);
    used.add(id);
    return isUsed ? [{ index, id }] : [];
  });
}
