/** LangGraph's form of stored values, read and written in less time. */

import { MemorySaver, Send } from "@langchain/langgraph";
import { InvalidSettingError } from "../../errors.js";
import { safely } from "../../shared/json.js";
import { hasMethods } from "../../shared/values.js";
import { learnClasses, type MessageClasses, SAMPLE_MESSAGES, UNDEFINED } from "./message-classes.js";
import { createMessageBytes, type Piece, readValue, type Unread, type Writer, writeValue } from "./values.js";

/** Turns values into bytes and back: what LangGraph's savers and caches take as their serializer. */
export interface MessageSerializer {
  /** The type of the bytes, `"json"` or `"bytes"`, and the bytes. */
  dumpsTyped(data: unknown): Promise<[string, Uint8Array]>;
  /** The value. `type` is what `dumpsTyped` returned with the bytes. */
  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown>;
}

/**
 * A serializer for savers and caches that reads and writes messages several times faster than LangGraph's own. It works
 * with every graph. The bytes are the same and each reads what the other wrote, so you can switch at any time.
 *
 * Messages become objects of the same classes directly, and an unchanged message's JSON is made only once. LangChain
 * messages, plain values, `undefined`, `Send`s and delta snapshots are handled here. LangGraph's serializer gets every
 * other value. Errors are LangGraph's.
 *
 * @param base - The serializer for everything else. It also decides which copy of LangChain the messages come from, so
 *   pass your copy's serializer if a program has two. Default: LangGraph's `JsonPlusSerializer`. A serializer that
 *   stores messages in another form gets everything.
 * @throws InvalidSettingError for a value that is not a serializer.
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph, messageSerializer } from "langgraph-tether";
 *
 * const checkpointer = new MemorySaver(messageSerializer());
 * const agent = createAgentGraph({ model: "offline:", checkpointer });
 * const thread = { configurable: { thread_id: "1" } };
 * await agent.invoke({ messages: [{ role: "user", content: "Hello" }] }, thread);
 * const { values } = await agent.getState(thread);
 * console.log(values.messages.length); // 2
 * ```
 */
export function messageSerializer(base: MessageSerializer = new MemorySaver().serde): MessageSerializer {
  if (!hasMethods(base, "dumpsTyped", "loadsTyped"))
    throw InvalidSettingError.expected("base", "a serializer of LangGraph", base);
  let writer: Writer | undefined;
  const learned = prepareWriter(base).then((prepared) => {
    writer = prepared;
    return prepared?.classes;
  });
  return {
    async dumpsTyped(data) {
      const own = writer;
      const pieces =
        own === undefined || isForBase(data) ? undefined : safely(() => writeValue(data, own), undefined);
      const bytes = pieces && join(areReady(pieces) ? pieces : await Promise.all(pieces));
      // If LangGraph cannot write a part of a value, it writes one text for the whole value.
      return bytes === undefined ? base.dumpsTyped(data) : ["json", bytes];
    },
    async loadsTyped(type, data) {
      const classes = type === "json" ? await learned : undefined;
      if (classes === undefined) return base.loadsTyped(type, data);
      try {
        return await readDirectly(data, classes, base);
      } catch {
        // The error is LangGraph's, if it fails too.
        return base.loadsTyped(type, data);
      }
    },
  };
}

/** Bytes are stored as they are, and JSON has no functions or symbols. */
function isForBase(data: unknown): boolean {
  return typeof data === "function" || typeof data === "symbol" || ArrayBuffer.isView(data);
}

/** Most values need nothing of LangGraph's serializer. */
function areReady(pieces: readonly Piece[]): pieces is readonly Exclude<Piece, Promise<unknown>>[] {
  return pieces.every((piece) => typeof piece === "string" || ArrayBuffer.isView(piece));
}

/** Undefined if any piece is. */
function join(pieces: readonly Awaited<Piece>[]): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (piece === undefined) return undefined;
    const part = typeof piece === "string" ? Buffer.from(piece) : piece;
    parts.push(part);
    length += part.length;
  }
  // `Buffer.concat` makes a part of a larger buffer.
  const whole = new Uint8Array(length);
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

async function readDirectly(
  data: Uint8Array | string,
  classes: MessageClasses,
  base: MessageSerializer,
): Promise<unknown> {
  const root = { value: JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data)) };
  const unread = readValue(root, "value", classes);
  if (unread.length > 0) await Promise.all(unread.map((place) => readWith(base, place)));
  return root.value;
}

async function readWith(base: MessageSerializer, { holder, key }: Unread): Promise<void> {
  const value = holder[key];
  if (hasOddNumber(value)) throw new RangeError("Expected numbers that JSON writes as it reads them.");
  holder[key] = await base.loadsTyped("json", JSON.stringify(value));
}

/** `JSON.parse` makes -0 and Infinity from texts that `JSON.stringify` never writes. */
function hasOddNumber(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value) || Object.is(value, -0);
  return typeof value === "object" && value !== null && Object.values(value).some(hasOddNumber);
}

/**
 * Undefined if the base stores messages in another form than this library knows: a later LangGraph, or another kind of
 * serializer. Both then write and read samples, and the results are compared.
 */
async function prepareWriter(base: MessageSerializer): Promise<Writer | undefined> {
  try {
    const stored = JSON.stringify([SAMPLE_MESSAGES, { lc: 2, type: "delta_snapshot", value: [UNDEFINED] }]);
    const [messages, snapshot] = Object(await base.loadsTyped("json", stored));
    const classes = learnClasses(messages, snapshot);
    const writeMember = async (key: string, value: unknown) => {
      try {
        return textOfMember(key, await base.dumpsTyped({ [key]: value }));
      } catch {
        return undefined;
      }
    };
    const writer = { classes, messageBytes: createMessageBytes(), writeMember };
    const read = await readDirectly(stored, classes, base);
    const sends = [new Send("node", { missing: undefined }), new Send("node", [], { timeout: 5 })];
    const expected = decode(await base.dumpsTyped([[messages, snapshot], sends, fieldsGiven(messages)]));
    const written = join(await Promise.all(writeValue([read, sends, fieldsGiven(Object(read)[0])], writer)));
    return written && decode(["json", written]) === expected ? writer : undefined;
  } catch {
    return undefined;
  }
}

function fieldsGiven(messages: readonly unknown[]): unknown[] {
  return messages.map((message) => Object(message).lc_kwargs);
}

function textOfMember(key: string, dumped: readonly [string, Uint8Array]): string | undefined {
  const head = `{${JSON.stringify(key)}:`;
  const text = decode(dumped);
  return text?.startsWith(head) ? text.slice(head.length, -1) : undefined;
}

function decode([type, bytes]: readonly [string, Uint8Array]): string | undefined {
  return type === "json" ? new TextDecoder().decode(bytes) : undefined;
}
