/**
 * The door: reads the messages that a client sends, as the input of a run or as an update of a thread's state. What a
 * parent graph passes to a subgraph does not come here, and neither do messages of middleware and tools.
 */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { InvalidMessageError } from "../../errors.js";
import { isTrusted, MARKS, withoutMarks } from "../../history/messages/marks.js";
import { createRepair, type Repair } from "../../history/messages/repair.js";
import { causeInText } from "../../history/messages/result.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { convertMessage } from "../../history/reading/coerce-message.js";
import { messageExpectation } from "../../history/reading/message-expectation.js";
import { issueOfShape } from "../../history/reading/message-issue.js";
import { isSmallAndSound } from "../../history/reading/message-shape.js";
import { isRecord } from "../../shared/is-record.js";
import { safely } from "../../shared/safely.js";
import { toJson } from "../../shared/to-json.js";

export interface ClientMessages {
  readonly messages: readonly BaseMessage[];
  /** The system messages that became the user's words. */
  readonly repairs: readonly RoleChanged[];
}

/** What the messages of clients may be. */
export interface MessageRules {
  /** Whether a system message stays one. Otherwise it becomes a message of the user. */
  readonly acceptSystemMessages: boolean;
  /** How many characters a message may have as JSON. */
  readonly maxMessageLength: number;
}

type RoleChanged = Extract<Repair, { readonly kind: "role-changed" }>;

/**
 * Reads what a client sends as `messages`: one message-like or several. Marks of this library are taken off, unless the
 * library itself has returned the message in this process.
 *
 * @throws InvalidMessageError for a value that is not a message, has a field of another shape, or is too long. It names
 * the path.
 */
export function readClientMessages(given: unknown, rules: MessageRules): ClientMessages {
  const isList = Array.isArray(given);
  const repairs: RoleChanged[] = [];
  const messages = [given].flat().map((value: unknown, index) => {
    const place = isList ? `messages[${index}]` : "messages";
    const { message, repair } = readClientMessage(value, place, rules);
    if (repair !== undefined) repairs.push(repair);
    return message;
  });
  return { messages, repairs };
}

export interface ClientRead {
  readonly message: BaseMessage;
  /** If the message was a system message and became the user's words. */
  readonly repair?: RoleChanged;
}

/**
 * Reads one message in the same way.
 *
 * @param place What errors call the value.
 * @throws InvalidMessageError like {@link readClientMessages}.
 */
export function readClientMessage(value: unknown, place: string, rules: MessageRules): ClientRead {
  const message = readSound(value, place);
  if (isTrusted(value)) return { message };
  assertLength(message, place, rules);
  const unmarked = withoutForeignMarks(message);
  if (rules.acceptSystemMessages || !speaksAsSystem(unmarked)) return { message: unmarked };
  const by = asUser(unmarked);
  return { message: by, repair: createRepair({ kind: "role-changed", message: unmarked, by }) };
}

function readSound(value: unknown, place: string): BaseMessage {
  const message = convertMessage(value);
  if (message === undefined) throw refusal(value, place);
  const issue = isSmallAndSound(message) ? undefined : issueOfShape(message);
  if (issue === undefined) return message;
  throw new InvalidMessageError(`${place}.${issue.path}`, issue.value, issue.expectation);
}

function assertLength(message: BaseMessage, place: string, { maxMessageLength }: MessageRules): void {
  if (maxMessageLength === Number.POSITIVE_INFINITY) return;
  const length = toJson(toPlain(message))?.length ?? Number.POSITIVE_INFINITY;
  if (length <= maxMessageLength) return;
  const expectation = `a message of at most ${maxMessageLength} characters`;
  throw new InvalidMessageError(place, `a message of ${length} characters`, expectation);
}

/** Even a value that cannot be read is refused by its place. */
function refusal(value: unknown, place: string): InvalidMessageError {
  return safely(
    () => describedRefusal(value, place),
    new InvalidMessageError(place, value, "a message that can be read"),
  );
}

/** A value with a known role is a message with a wrong field. */
function describedRefusal(value: unknown, place: string): InvalidMessageError {
  const issue = isRecord(value) ? missingField(value) : undefined;
  if (issue !== undefined)
    return new InvalidMessageError(`${place}.${issue.path}`, issue.value, issue.expectation);
  const { expectation, hint } = messageExpectation(value) ?? {};
  return new InvalidMessageError(place, value, expectation, hint);
}

function missingField(value: Record<string, unknown>) {
  const type = value["role"] ?? value["type"];
  return type === "tool" || type === "ai"
    ? issueOfShape({ content: "", additional_kwargs: {}, response_metadata: {}, ...value, type })
    : undefined;
}

/** The text of a placeholder says the same as its mark, so the mark stays. Thus a thread can be sent back over HTTP. */
function withoutForeignMarks(message: BaseMessage): BaseMessage {
  const isPlaceholder =
    message.additional_kwargs[MARKS.placeholder] !== undefined && causeInText(message) !== undefined;
  return isPlaceholder ? message : withoutMarks(message);
}

export function speaksAsSystem(message: BaseMessage): boolean {
  if (message.type === "system") return true;
  return "role" in message && (message.role === "system" || message.role === "developer");
}

function asUser({ id, content, name }: BaseMessage): HumanMessage {
  return new HumanMessage({ content, ...(id !== undefined && { id }), ...(name !== undefined && { name }) });
}
