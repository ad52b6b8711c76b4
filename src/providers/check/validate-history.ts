/** Checks a history against the rules of a dialect: pairs, names, content, order and state. */

import type { BaseMessage } from "@langchain/core/messages";
import {
  argumentsIn,
  callBlockOf,
  flatEntry,
  indexesById,
  isAIMessage,
  readCall,
} from "../../history/call.js";
import { isWritable } from "../../history/change-calls.js";
import { withWellFormedTexts } from "../../history/message.js";
import { listOf, soundMessages } from "../../history/read-messages.js";
import { callIdOf, isResult } from "../../history/result.js";
import { hasOpenServerCall, serverCallId, serverResultId } from "../../history/server-tools.js";
import { asText, parseJson } from "../../shared/json.js";
import { isRecord, recordsIn } from "../../shared/values.js";
import type { DialectName } from "../contract/dialect-name.js";
import {
  askedFor,
  type CallPlace,
  type Dialect,
  type Fields,
  type Grade,
  isOf,
  type MediaForm,
  misplacedSystem,
  PLAIN_NAME,
  type RuleName,
  readMaker,
} from "../contract/rule.js";
import { cacheMarksIn, unsentFields } from "../contract/text-fields.js";
import { hasReasoningField, reasoningOf } from "../host-fields/fields.js";
import {
  answeredIds,
  askedItems,
  callOfItem,
  callsBeforeText,
  kindOfResult,
  type OutputKind,
  outputKinds,
  storedItemIds,
  storedOutput,
  trailingReasoning,
  waitingCalls,
} from "../makers/openai/stored-items.js";
import { isSendable, readMedia } from "../media/media.js";
import { dialectNamed, isForeignBlock, isLeftOut } from "../table/dialects.js";

/*
 * Checks that each tool call has one result, directly after its message. A provider-run tool's result may come in the
 * next response.
 */

const checkPairing: Check = (messages, { callPlaces }, report) => {
  // OpenAI's Responses API has two kinds of calls, and takes only a result of the same kind.
  const hasKinds = callPlaces.includes("output");
  let head: SentMessage | undefined;
  let results: SentMessage[] = [];
  for (const sent of messages) {
    if (sent.role === "tool") {
      results.push(sent);
      continue;
    }
    checkGroup(head, results, hasKinds, report);
    head = sent;
    results = [];
  }
  checkGroup(head, results, hasKinds, report);
  checkServerTools(messages, report);
  if (hasKinds) checkWaitingCalls(messages, report);
};

/** Calls that the client does not list. Those of the last response can still wait for the caller. */
function checkWaitingCalls(messages: readonly SentMessage[], report: ReportFault): void {
  let open: { readonly index: number; readonly ids: readonly string[] } = { index: -1, ids: [] };
  const close = (): void => {
    if (open.ids.length > 0) report("missing-result", open.index, { ids: open.ids });
  };
  for (const { message, index } of messages) {
    if (open.ids.length > 0) {
      const answered = new Set(answeredIds(message));
      open = { ...open, ids: open.ids.filter((id) => !answered.has(id)) };
    }
    if (!isAIMessage(message)) continue;
    close();
    open = { index, ids: waitingCalls(message).map(({ call }) => call.id) };
  }
  if (open.index < messages.length - 1) close();
}

const NONE: ReadonlyMap<string, OutputKind> = new Map();
const NO_IDS: ReadonlySet<string> = new Set();

/** @param head Undefined if the results are the first messages. */
function checkGroup(
  head: SentMessage | undefined,
  results: readonly SentMessage[],
  hasKinds: boolean,
  report: ReportFault,
): void {
  const calls = head?.calls ?? [];
  const kinds =
    hasKinds && head !== undefined && isAIMessage(head.message) ? outputKinds(head.message) : NONE;
  /** For each id, the places of its calls without a result. */
  const waiting = indexesById(calls);
  const isAnswered: boolean[] = [];
  const answered = new Map<string, number>();
  let first = 0;
  for (const { message, index } of results) {
    const id = isResult(message) ? callIdOf(message) : "";
    const former = answered.get(id);
    const isOfKind = !hasKinds || kindOfResult(message) === kinds.get(id);
    const place = isOfKind ? waiting.get(id)?.pop() : undefined;
    if (place !== undefined) {
      while (isAnswered[first]) first += 1;
      isAnswered[place] = true;
      if (place !== first) report("result-order", index, { id });
    } else if (head !== undefined && former !== undefined) {
      report("duplicate-result", former, { next: index, id });
    } else {
      report("orphan-result", index, { id, name: head?.role ?? "system" });
    }
    if (former === undefined) answered.set(id, index);
  }
  const run =
    hasKinds && head !== undefined && isAIMessage(head.message) ? callsBeforeText(head.message) : NO_IDS;
  const left = calls.filter(({ id }, place) => !isAnswered[place] && !run.has(id)).map(({ id }) => id);
  if (head === undefined || left[0] === undefined) return;
  const next = head.index + results.length + 1;
  report("missing-result", head.index, { ids: left, id: left[0], next });
}

/**
 * A provider-run tool's call is open until the provider's next response. If the response also has calls of the caller,
 * or if the provider paused it, the next one begins with the result.
 */
function checkServerTools(messages: readonly SentMessage[], report: ReportFault): void {
  const open = new Map<string, { readonly index: number; readonly name: string }>();
  const close = (ids: Iterable<string>): void => {
    for (const id of [...ids]) {
      const { index, name } = open.get(id) ?? { index: -1, name: "" };
      if (open.delete(id)) report("server-call-without-result", index, { id, name });
    }
  };
  for (const { content, role, index } of messages) {
    if (role === "tool" || role === "system") continue;
    const before = [...open.keys()];
    for (const block of role === "assistant" ? listOf(content) : []) {
      const call = serverCallId(block);
      const answered = serverResultId(block);
      if (call !== undefined) open.set(call, { index, name: asText(Reflect.get(Object(block), "name")) });
      if (answered !== undefined && !open.delete(answered))
        report("server-result-without-call", index, { id: answered, name: blockType(block) });
    }
    close(before);
  }
}

/*
 * Checks ids, names and arguments of tool calls.
 */

const checkNames: Check = (messages, { callId, toolName, callPlaces }, report) => {
  const used = new Set<string>();
  for (const { message, index, calls, role } of messages) {
    if (isResult(message) && !callId.test(callIdOf(message)))
      report("call-id", index, { id: callIdOf(message) });
    const own = new Set<string>();
    for (const { id, name, args } of calls) {
      if (!callId.test(id)) report("call-id", index, { id });
      if (own.has(id)) report("duplicate-call-id", index, { id });
      else if (used.has(id)) report("repeated-call-id", index, { id });
      own.add(id);
      if (!toolName.test(name)) report("tool-name", index, { name });
      if (!isWritable(args)) report("arguments", index, { id });
    }
    for (const id of own) used.add(id);
    const raw: unknown = message.additional_kwargs?.["tool_calls"];
    const isEmpty = calls.length === 0 && Array.isArray(raw) && raw.length === 0;
    if (isEmpty && role === "assistant" && callPlaces.includes("raw")) report("empty-calls", index);
    const name: unknown = message.name;
    if (name !== undefined && name !== null && !PLAIN_NAME.test(String(name)))
      report("message-name", index, { name: String(name) });
  }
};

/*
 * Checks the content of messages.
 */

const checkContent: Check = (messages, dialect, report) => {
  for (const sent of messages) {
    if (withWellFormedTexts(sent.message) !== sent.message) report("unpaired-surrogate", sent.index);
    checkForm(sent, dialect, report);
    checkFields(sent, dialect, report);
    checkBlanks(sent, dialect, report);
    checkBlockOrder(sent, report);
  }
  checkMarks(messages, dialect, report);
};

function checkForm({ content, index, message, role }: SentMessage, dialect: Dialect, report: ReportFault) {
  const takesBlocks = role === "system" || dialect.blocksIn.some((type) => type === message.type);
  if (typeof content !== "string" && !(Array.isArray(content) && takesBlocks)) report("content-form", index);
  if (!Array.isArray(content)) return;
  // What a model wrote is not a fault for the one that was asked. Who is asked now is not known here.
  if (askedFor(message) !== undefined) return;
  const { media } = dialect;
  const forms: Readonly<Record<string, MediaForm | undefined>> = {
    user: media,
    tool: media.results,
    assistant: media.responses,
  };
  const form = forms[role];
  const foreign = content.find((block) => {
    if (!isRecord(block) || block["type"] === "text") return !isRecord(block);
    if (role !== "assistant" && isOfResponse(block)) return true;
    return readMedia(block) !== undefined
      ? form === undefined || !isSendable(block, form)
      : isForeignBlock(block, dialect);
  });
  if (foreign !== undefined) report("foreign-block", index, { name: blockType(foreign) });
}

function checkFields({ content, index, message }: SentMessage, dialect: Dialect, report: ReportFault): void {
  const target = { dialect, modelId: undefined };
  const name = listOf(content)
    .flatMap((block) => unsentFields(block, message, target))
    .at(0);
  if (name !== undefined) report("foreign-field", index, { name });
}

/** Providers also count the tools' marks, which are not in a history. */
function checkMarks(messages: readonly SentMessage[], { most }: Dialect, report: ReportFault): void {
  const marks = messages.flatMap(({ message, index }) => cacheMarksIn(message).map(() => index));
  const index = marks[most?.marks ?? marks.length];
  if (index !== undefined) report("cache-marks", index, { name: String(marks.length) });
}

function checkBlanks(
  { content, calls, index, role }: SentMessage,
  dialect: Dialect,
  report: ReportFault,
): void {
  const blank = isBlank(content, dialect);
  if (role === "user" && blank) report("blank-user", index);
  else if (role === "tool" && blank) report("blank-result", index);
  else if (role === "assistant" && blank && calls.length === 0) report("empty-assistant", index);
  else if (role === "system" && blank) report("blank-text", index);
  // Beside tool calls, an empty string is not a text, but a blank one is.
  else if (content !== "" && listOf(content).some((block) => isBlankText(block, dialect)))
    report("blank-text", index);
}

function checkBlockOrder({ content, calls, index }: SentMessage, report: ReportFault): void {
  if (!Array.isArray(content)) return;
  const types = content.map(blockType);
  const firstCall = types.indexOf("tool_use");
  if (firstCall >= 0 && types.lastIndexOf("text") > firstCall)
    report("text-after-call", index, { ids: calls.map(({ id }) => id) });
}

/*
 * Checks which role follows which.
 */

const checkOrder: Check = (messages, dialect, report) => {
  const talk = messages.filter(({ role }) => role !== "system");
  const [first] = talk;
  const last = talk.at(-1);
  if (first === undefined || last === undefined) {
    report("empty-history", 0);
    return;
  }
  if (first.role !== "user" && KNOWN_ROLES.has(first.role)) report("first-user", first.index);
  if (last.role === "assistant" && !hasOpenServerCall(last)) report("assistant-last", last.index);
  const misplaced = misplacedSystem(
    messages.map(({ message }) => message),
    dialect,
  );
  for (const sent of messages) {
    const before = messages[sent.index - 1];
    if (sent.index === misplaced) report("system-position", sent.index, { name: before?.role ?? "" });
    checkStep(before, sent, dialect, report);
  }
};

function checkStep(
  before: SentMessage | undefined,
  sent: SentMessage,
  { otherRoles }: Dialect,
  report: ReportFault,
): void {
  const { role, index, message, calls } = sent;
  const isCommon = KNOWN_ROLES.has(role) && message.type !== "generic";
  if (!isCommon && !otherRoles?.test(role)) report("role", index, { name: role });
  if (before === undefined) return;
  if (role === "user" && before.role === "tool") report("user-after-tool", index);
  if (role === before.role && (role === "user" || role === "assistant")) report("alternation", index);
  if (calls.length > 0 && before.role === "assistant") report("call-position", index);
}

/*
 * Checks state that only the model that wrote it can read.
 */

/** Blocks of a response that everybody can read. A cache point has no type. */
const READ_BLOCKS: ReadonlySet<string> = new Set([
  "text",
  "output_text",
  "refusal",
  "tool_use",
  "object",
  "string",
]);

/** Whether somebody knows the block, and it is no picture or file. */
function isStateOf(block: Fields, dialect: Dialect): boolean {
  return readMedia(block) === undefined && (isReasoning(block) || isForeignBlock(block, dialect));
}

const checkState: Check = (messages, dialect, report) => {
  const { stateFields, makers } = dialect;
  const items = new Set<string>();
  // Without reasoning anywhere, the model may not have thought.
  const thinks = messages.some(({ message }) => reasoningOf(message));
  for (const { message, index, content } of messages) {
    for (const id of storedItemIds(message)) {
      if (items.has(id) || message.type === "tool") report("item-id", index, { id });
      items.add(id);
    }
    if (!isAIMessage(message)) continue;
    const reasoning = trailingReasoning(storedOutput(message));
    if (reasoning !== undefined) report("reasoning-alone", index, { id: reasoning });
    const { provider } = readMaker(message);
    const isForeign = makers.length === 0 || (provider !== undefined && !makers.includes(provider));
    const field = stateFields.find(({ place, name }) => message[place]?.[name] !== undefined);
    const block = listOf(content).find(
      (each) => isRecord(each) && !READ_BLOCKS.has(blockType(each)) && isStateOf(each, dialect),
    );
    const carried = field?.name ?? (block === undefined ? undefined : blockType(block));
    if (isForeign && carried !== undefined) report("foreign-state", index, { id: carried });
    const id = String(message.id);
    if (isForeign && id.startsWith("msg_")) report("item-id", index, { id });
    if (thinks && !hasReasoningField(message)) report("missing-reasoning", index);
  }
};

/** A rule of a provider that a message breaks. */
export interface Violation {
  readonly rule: RuleName;
  /** The index in the message list. A provider may count differently: without the system message, or after merging. */
  readonly index: number;
  /** The provider's error, in its own words if they are known. */
  readonly message: string;
  /** How well it is known that the provider rejects this. */
  readonly grade: Grade;
}

const CHECKS: readonly Check[] = [checkPairing, checkNames, checkContent, checkOrder, checkState];

/**
 * Tells why a provider would reject these messages as its LangChain client sends them: the broken rules, their places
 * and the provider's error messages. Empty if the provider would accept them.
 *
 * @param dialect The provider family, such as `"openai"`; see {@link dialectOf}.
 * @throws InvalidSettingError for an unknown dialect.
 * @throws InvalidMessageError if `messages` is not a list of messages.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { validateHistory } from "langgraph-tether";
 *
 * const violations = validateHistory(
 *   [
 *     new HumanMessage("What is the weather?"),
 *     new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *     new HumanMessage("Are you there?"),
 *   ],
 *   "openai",
 * );
 * console.log(violations.map(({ rule, index }) => `${rule} at ${index}`)); // [ 'missing-result at 1' ]
 * ```
 */
export function validateHistory(messages: readonly BaseMessage[], dialect: DialectName): Violation[] {
  return violationsIn(messages, dialect).map(({ ids: _, ...violation }) => violation);
}

/** The same, with the ids that each violation is about. */
export function violationsIn(
  messages: readonly BaseMessage[],
  dialect: DialectName,
): (Violation & { readonly ids: readonly string[] })[] {
  const entry = dialectNamed(dialect);
  const sent = toSentMessages(soundMessages(messages), entry);
  const violations: ReturnType<typeof violationsIn> = [];
  for (const check of CHECKS)
    check(sent, entry, (name, index, values) => {
      const rule = entry.rules[name];
      if (rule === undefined) return;
      const message = fill(rule.text, { ...values, index });
      const { ids = [], id } = values ?? {};
      const told = ids.length === 0 && id !== undefined ? [id] : ids;
      violations.push({ rule: name, index, message, grade: rule.grade, ids: told });
    });
  return violations.sort((one, other) => one.index - other.index);
}

function fill(text: string, values: FaultValues & { readonly index: number }): string {
  return text.replace(/\{(ids|id|name|index|next)\}/g, (_, place: keyof typeof values) =>
    [values[place] ?? ""].flat().join(", "),
  );
}

/** The values for the places in a rule's text. */
interface FaultValues {
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly next?: number;
}

/** Notes that the message at the index breaks a rule. */
type ReportFault = (rule: RuleName, index: number, values?: FaultValues) => void;

/** Contract: changes nothing. Reports every fault of its kind, even if the dialect does not have the rule. */
type Check = (messages: readonly SentMessage[], dialect: Dialect, report: ReportFault) => void;

/*
 * A message as a provider's client would send it.
 */

interface SentCall {
  readonly id: string;
  readonly name: string;
  /** Undefined if they cannot be read as JSON. */
  readonly args: unknown;
}

interface SentMessage {
  /** The index in the message list. */
  readonly index: number;
  readonly message: BaseMessage;
  /** `system`, `user`, `assistant`, `tool`, or the message's own name for its role. */
  readonly role: string;
  readonly calls: readonly SentCall[];
  /** The sent content, without the blocks that the client leaves out. */
  readonly content: unknown;
}

const ROLES: Readonly<Record<string, string>> = {
  system: "system",
  human: "user",
  ai: "assistant",
  tool: "tool",
};
const KNOWN_ROLES: ReadonlySet<string> = new Set(Object.values(ROLES));

export function toSentMessages(messages: readonly BaseMessage[], dialect: Dialect): SentMessage[] {
  return messages.map((message, index) => ({
    index,
    message,
    role: ROLES[message.type] ?? ("role" in message ? String(message.role) : message.type),
    calls: sentCallsOf(message, dialect.callPlaces),
    content: sentContentOf(message, dialect),
  }));
}

/** The text of a string or of a text block. Undefined for anything else. */
export function textOf(block: unknown): string | undefined {
  if (typeof block === "string") return block;
  if (!isRecord(block) || block["type"] !== "text") return undefined;
  return typeof block["text"] === "string" ? block["text"] : "";
}

const isReasoning = isOf("thinking", "redacted_thinking", "reasoning");

/** Whether only a response can have the block: a call, or a model's thoughts. */
export function isOfResponse(block: Fields): boolean {
  return isReasoning(block) || callBlockOf(block) !== undefined;
}

/** Whether a block is a text that says nothing. A signature in it is something. */
export function isBlankText(block: unknown, { blank, media: { responses } }: Dialect): boolean {
  const text = textOf(block);
  if (text === undefined || !blank.test(text)) return false;
  return !isRecord(block) || !responses?.keeps?.some((name) => name in block);
}

/** Whether the content says nothing: it is blank text, or has no blocks. */
export function isBlank(content: unknown, dialect: Dialect): boolean {
  const blocks = typeof content === "string" ? [content] : content;
  return Array.isArray(blocks) && blocks.every((block) => isBlankText(block, dialect));
}

function blockType(block: unknown): string {
  return isRecord(block) && typeof block["type"] === "string" ? block["type"] : typeof block;
}

function sentContentOf(message: BaseMessage, dialect: Dialect): unknown {
  const { content } = message;
  const { ignoredBlocks } = dialect;
  if (!Array.isArray(content) || !isAIMessage(message)) return content;
  return content.filter(
    (block) =>
      !isRecord(block) ||
      (!isLeftOut(block, dialect) &&
        (!isForeignBlock(block, dialect) ||
          (ignoredBlocks !== "all" && !ignoredBlocks.includes(blockType(block))))),
  );
}

function sentCallsOf(message: BaseMessage, places: readonly CallPlace[]): SentCall[] {
  if (!isAIMessage(message)) return [];
  const { tool_calls, additional_kwargs, response_metadata, content } = message;
  const output = recordsIn(response_metadata?.["output"]);
  if (places.includes("output") && output.length > 0)
    return [...askedItems(message)].flatMap((item) => callOfItem(item) ?? []);
  const listed = recordsIn(tool_calls).map(readSentCall);
  const raw = listed.length === 0 ? recordsIn(additional_kwargs?.["tool_calls"]) : [];
  if (places.includes("raw") && raw.length > 0) return raw.map(readSentCall);
  if (!places.includes("block")) return listed;
  const blocks = recordsIn(content).filter((block) => block["type"] === "tool_use");
  const listedIds = new Set(listed.map(({ id }) => id));
  return [...listed, ...blocks.map(readSentCall).filter(({ id }) => !listedIds.has(id))];
}

function readSentCall(entry: Readonly<Record<string, unknown>>): SentCall {
  const fields = flatEntry(entry);
  const args = argumentsIn(fields);
  return { ...readCall(fields), args: typeof args === "string" ? parseJson(args) : args };
}
