/**
 * Removes private data from the streams of a run. LangGraph leaves private channels out of states, but not out of
 * tasks: the modes `tasks`, `debug`, `checkpoints` and `events` contain the input of each node.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import { Command, isCommand, Send } from "@langchain/langgraph";
import { fieldsOfCommand, isSend } from "../langgraph/own-command.js";
import { mapParentStream } from "../langgraph/parent-stream.js";
import { isApprovalTask } from "../nodes/approval/approval-request.js";
import { isPrivateChannel } from "../nodes/run/agent-state.js";
import { withoutRunHandle } from "../nodes/run/run-handle.js";
import { isToolTask, type ToolTask } from "../nodes/tools/tool-task.js";
import { isPlainObject } from "../shared/is-plain-object.js";
import { isRecord } from "../shared/is-record.js";

/** The stream modes whose chunks describe tasks and checkpoints. */
const TASK_MODES: ReadonlySet<unknown> = new Set(["tasks", "debug", "checkpoints"]);

/**
 * A chunk of a run's stream, without private data. A chunk is a payload, or a tuple that ends with the payload. If a
 * stream has several modes, or is encoded for HTTP, the mode comes before the payload.
 *
 * @param onlyMode The mode of a stream with one mode; undefined if the stream has several.
 */
export function publicChunk<Chunk>(chunk: Chunk, onlyMode: string | undefined): Chunk {
  const isTuple = Array.isArray(chunk);
  const mode: unknown = isTuple && (onlyMode === undefined || chunk.length === 3) ? chunk.at(-2) : onlyMode;
  if (!TASK_MODES.has(mode)) return chunk;
  return (isTuple ? chunk.with(-1, publicPayload(chunk.at(-1))) : publicPayload(chunk)) as Chunk;
}

/** The options of a run whose parent graph sees only what clients see. */
export function withPublicParentStream<Options extends RunnableConfig>(options: Options): Options {
  return mapParentStream(options, (chunk) => publicChunk(chunk, undefined));
}

/** A task, a checkpoint, or either of them inside a chunk of the `debug` mode. */
function publicPayload(payload: unknown): unknown {
  if (!isRecord(payload)) return payload;
  const { input, payload: inner, config, parentConfig } = payload;
  return {
    ...payload,
    ...(input !== undefined && { input: publicValue(input) }),
    ...(inner !== undefined && { payload: publicPayload(inner) }),
    ...(config !== undefined && { config: withoutRunHandle(config) }),
    ...(parentConfig !== undefined && { parentConfig: withoutRunHandle(parentConfig) }),
  };
}

/** An event of a run, without private data. The same event if it has none, as most have. */
export function publicEvent(event: StreamEvent): StreamEvent {
  // A piece of a response, which is most events.
  if (event.event === "on_chat_model_stream") return event;
  const shown: [string, unknown][] = [];
  for (const [name, value] of Object.entries(event.data)) {
    const visible = publicValue(value);
    if (visible !== value) shown.push([name, visible]);
  }
  return shown.length === 0 ? event : { ...event, data: { ...event.data, ...Object.fromEntries(shown) } };
}

/** The input or the output of a node, without private data. */
function publicValue(value: unknown): unknown {
  if (isToolTask(value)) return toolCallOf(value);
  if (isApprovalTask(value)) return { tool_calls: value.tasks.map(toolCallOf) };
  if (isCommand(value)) return publicCommand(value);
  if (Array.isArray(value) && value.some((written) => isCommand(written))) return value.map(publicValue);
  if (!isPlainObject(value)) return value;
  const fields = Object.entries(value);
  return fields.some(isPrivate) ? Object.fromEntries(fields.filter((field) => !isPrivate(field))) : value;
}

/** A tool call in LangChain's form. */
function toolCallOf({ call, args }: ToolTask) {
  return { type: "tool_call", id: call.id, name: call.name, args: args ?? {} };
}

function publicCommand(command: Command): Command {
  const { update, goto } = command;
  return new Command({
    ...fieldsOfCommand(command),
    ...(update !== undefined && { update: publicValue(update) as Record<string, unknown> }),
    ...(goto !== undefined && { goto: [goto].flat().map(publicTarget) }),
  });
}

function publicTarget<Target>(target: Target | Send): Target | Send {
  return isSend(target) ? new Send(target.node, publicValue(target.args)) : target;
}

function isPrivate([name, value]: readonly [string, unknown]): boolean {
  return isPrivateChannel(name, value);
}
