/**
 * Reads the messages of a recorded request into those of LangChain. What the model wrote goes through its client, as if it
 * had just been received, so each message holds what this client would have stored.
 */

import {
  type BaseMessage,
  type ContentBlock,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { PROTOCOLS, type Protocol } from "./protocols.js";
import { type Fields, isFields, listOf, textOf } from "./values.js";

/** A message, or the whole response whose message the client makes. */
export type Entry = BaseMessage | { readonly response: Fields };

/** Undefined: a part of the history is not in the request, or the protocol has no reader. */
export function historyIn(protocol: Protocol, request: Fields, model: string): readonly Entry[] | undefined {
  switch (protocol) {
    case "chat":
    case "ollama":
      return listOf(request["messages"]).map((message) => ofChat(message, protocol, model));
    case "anthropic":
      return [
        ...systemOf(request["system"]),
        ...joined(listOf(request["messages"]), "assistant", "content").flatMap((message) =>
          ofClaude(message, model),
        ),
      ];
    case "gemini":
      return ofGemini(request);
    case "converse":
      return [
        ...systemOf(request["system"]),
        ...joined(listOf(request["messages"]), "assistant", "content").flatMap(ofConverse),
      ];
    case "responses":
      return ofResponses(request, model);
    case "cohere":
      return undefined;
  }
}

type Content = string | ContentBlock[];

const contentOf = (value: unknown): Content =>
  Array.isArray(value) ? (value as ContentBlock[]) : textOf(value);

const systemOf = (value: unknown): Entry[] => {
  const content = Array.isArray(value) ? value.map(asTextBlock) : textOf(value);
  return content.length === 0 ? [] : [new SystemMessage({ content: content as Content })];
};

/** Bedrock's blocks have no type. */
const asTextBlock = (block: unknown) =>
  isFields(block) && block["type"] === undefined && typeof block["text"] === "string"
    ? { type: "text", ...block }
    : block;

/** @param request The response around what a model wrote. */
function ofModel(protocol: Protocol, model: string, change: Fields): Entry {
  const whole = PROTOCOLS[protocol].whole;
  return { response: { ...whole, ...("model" in whole && { model }), ...change } };
}

function ofChat(message: Fields, protocol: "chat" | "ollama", model: string): Entry {
  const { role, content } = message;
  const name = message["name"] ?? message["tool_name"];
  const named = typeof name === "string" ? { name } : {};
  switch (role) {
    case "assistant":
      if (protocol === "ollama") return ofModel(protocol, model, { message });
      return ofModel(protocol, model, {
        choices: [
          {
            index: 0,
            message,
            finish_reason: listOf(message["tool_calls"]).length > 0 ? "tool_calls" : "stop",
          },
        ],
      });
    case "tool":
      return new ToolMessage({
        content: contentOf(content),
        tool_call_id: textOf(message["tool_call_id"]),
        ...named,
      });
    case "user":
      return new HumanMessage({ content: contentOf(content), ...named });
    default: {
      const kwargs = role === "developer" ? { additional_kwargs: { __openai_role__: "developer" } } : {};
      return new SystemMessage({ content: contentOf(content), ...named, ...kwargs });
    }
  }
}

function ofClaude({ role, content }: Fields, model: string): Entry[] {
  if (role === "system") return systemOf(content);
  if (role === "assistant") {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
    const stop_reason = blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
    return [ofModel("anthropic", model, { content: blocks, stop_reason })];
  }
  if (!Array.isArray(content)) return [new HumanMessage(textOf(content))];
  return inRuns(listOf(content), ({ type }) => type === "tool_result").flatMap((blocks): Entry[] =>
    blocks[0]?.["type"] === "tool_result"
      ? blocks.map(
          (block) =>
            new ToolMessage({
              content: contentOf(block["content"]),
              tool_call_id: textOf(block["tool_use_id"]),
              ...(block["is_error"] === true && { status: "error" as const }),
            }),
        )
      : [new HumanMessage({ content: blocks as unknown as ContentBlock[] })],
  );
}

/** A model's functions have no ids at Google, so results belong to calls by name and order. */
function ofGemini(request: Fields): Entry[] {
  const system = request["systemInstruction"] ?? request["system_instruction"];
  const texts = isFields(system) ? listOf(system["parts"]).map(({ text }) => ({ type: "text", text })) : [];
  const entries: Entry[] =
    texts.length === 0 ? [] : [new SystemMessage({ content: texts as ContentBlock[] })];
  for (const content of joined(listOf(request["contents"]), "model", "parts")) {
    const parts = listOf(content["parts"]).map(inCamelCase);
    if (content["role"] === "model") {
      entries.push({
        response: {
          ...PROTOCOLS.gemini.whole,
          candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
        },
      });
      continue;
    }
    for (const run of inRuns(parts, (part) => part["functionResponse"] !== undefined)) {
      if (run[0]?.["functionResponse"] === undefined)
        entries.push(new HumanMessage({ content: run.map(ofPart) as unknown as ContentBlock[] }));
      else for (const { functionResponse } of run) entries.push(ofFunctionResponse(functionResponse));
    }
  }
  return entries;
}

function ofFunctionResponse(value: unknown): ToolMessage {
  const { id, name, response } = isFields(value) ? value : {};
  const known = isFields(response)
    ? (response["result"] ?? response["output"] ?? response["return_value"])
    : response;
  const content = typeof known === "string" ? known : JSON.stringify(known ?? response ?? {});
  // The caller fills in the id of a call without one.
  return new ToolMessage({ content, name: textOf(name), tool_call_id: textOf(id) });
}

function ofPart(part: Fields): Fields {
  const { text, inlineData, fileData } = part;
  if (typeof text === "string") return { type: "text", text };
  if (isFields(inlineData))
    return { type: "media", mimeType: inlineData["mimeType"], data: inlineData["data"] };
  if (isFields(fileData))
    return { type: "media", mimeType: fileData["mimeType"], fileUri: fileData["fileUri"] };
  return part;
}

/** Google reads both spellings. */
function inCamelCase(part: Fields): Fields {
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      isFields(value) && /^(?:inline|file)_?[dD]ata$/.test(name) ? inCamelCase(value) : value,
    ]),
  );
}

function ofConverse({ role, content }: Fields): Entry[] {
  const blocks = listOf(content);
  if (role === "assistant") {
    const stopReason = blocks.some(({ toolUse }) => toolUse !== undefined) ? "tool_use" : "end_turn";
    return [
      {
        response: { ...PROTOCOLS.converse.whole, output: { message: { role, content: blocks } }, stopReason },
      },
    ];
  }
  return inRuns(blocks, ({ toolResult }) => toolResult !== undefined).flatMap((run): Entry[] =>
    run[0]?.["toolResult"] === undefined
      ? [new HumanMessage({ content: run.map(ofConverseBlock) as unknown as ContentBlock[] })]
      : run.map(({ toolResult }) => {
          const { toolUseId, content, status } = isFields(toolResult) ? toolResult : {};
          return new ToolMessage({
            content: listOf(content).map(ofConverseBlock) as unknown as ContentBlock[],
            tool_call_id: textOf(toolUseId),
            ...(status === "error" && { status }),
          });
        }),
  );
}

function ofConverseBlock(block: Fields): Fields {
  const { text, image, document, json } = block;
  if (typeof text === "string") return { type: "text", text };
  if (image !== undefined) return { type: "image", image };
  if (document !== undefined) return { type: "document", document };
  return json === undefined ? block : { type: "text", text: JSON.stringify(json) };
}

const MODEL_ITEMS = /^(?:reasoning|compaction|.*_call|.*_search_output|mcp_.*|program|code_interpreter.*)$/;

/** The items of a response stand beside each other until the user or a tool speaks. */
function ofResponses(request: Fields, model: string): Entry[] | undefined {
  const { input, instructions } = request;
  if (request["previous_response_id"] || request["conversation"]) return undefined;
  const entries: Entry[] = systemOf(instructions);
  if (typeof input === "string") return [...entries, new HumanMessage(input)];
  let output: Fields[] = [];
  const endResponse = () => {
    if (output.length > 0)
      entries.push(ofModel("responses", model, { id: `resp_${entries.length}`, output }));
    output = [];
  };
  for (const item of listOf(input)) {
    const { type, role, content } = item;
    if (type === "item_reference") return undefined;
    if (role === "assistant") output.push(assistantItem(item, output.length + entries.length));
    else if (MODEL_ITEMS.test(textOf(type))) output.push(modelItem(item, output.length + entries.length));
    else {
      endResponse();
      if (role === "user") entries.push(new HumanMessage({ content: contentOf(content) }));
      else if (typeof role === "string" && (type === undefined || type === "message"))
        entries.push(new SystemMessage({ content: contentOf(content) }));
      else if (/_output$/.test(textOf(type))) entries.push(ofOutput(item));
      else return undefined;
    }
  }
  endResponse();
  return entries;
}

/** A response has an id for each call, which a request may leave out. */
function modelItem(item: Fields, place: number): Fields {
  const prefix = { function_call: "fc", custom_tool_call: "ctc" }[textOf(item["type"])];
  return prefix === undefined ? item : { id: `${prefix}_made_${place}`, status: "completed", ...item };
}

/** A short form of the request is no item of a response. */
function assistantItem(item: Fields, place: number): Fields {
  const { content } = item;
  const blocks =
    typeof content === "string"
      ? [{ type: "output_text", text: content, annotations: [] }]
      : listOf(content).map((block) => ({ annotations: [], ...block }));
  return {
    id: `msg_${place}`,
    type: "message",
    role: "assistant",
    status: "completed",
    ...item,
    content: blocks,
  };
}

function ofOutput({ type, call_id, output }: Fields): ToolMessage {
  return new ToolMessage({
    content: contentOf(output),
    tool_call_id: textOf(call_id),
    ...(type === "custom_tool_call_output" && { additional_kwargs: { customTool: true } }),
  });
}

/** Providers whose roles alternate read neighbouring messages of the model as one. */
function joined(messages: readonly Fields[], role: string, field: string): Fields[] {
  const isModel = (message: Fields) => message["role"] === role;
  return inRuns(messages, isModel).flatMap((run) => {
    const [first] = run;
    if (first === undefined || run.length === 1 || !isModel(first)) return run;
    const blocks = run.flatMap((message) =>
      typeof message[field] === "string" ? [{ type: "text", text: message[field] }] : listOf(message[field]),
    );
    return [{ ...first, [field]: blocks }];
  });
}

/** Splits a list where the answer of a question changes. */
function inRuns<Item>(items: readonly Item[], isOf: (item: Item) => boolean): Item[][] {
  const runs: Item[][] = [];
  for (const [index, item] of items.entries()) {
    const before = items[index - 1];
    if (before !== undefined && isOf(before) === isOf(item)) runs.at(-1)?.push(item);
    else runs.push([item]);
  }
  return runs;
}
