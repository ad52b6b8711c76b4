/** A model that a graph of one's own asks. */

import { ChatBedrockConverse } from "@langchain/aws";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { askModel, InvalidSettingError } from "../../src/index.js";
import { FunctionModel, OpenAILike } from "../support/models.js";

const refused = (text: string) => Object.assign(new Error(`400 ${text}`), { status: 400 });
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,cGljdHVyZQ==" } };
const history: readonly BaseMessage[] = [
  new HumanMessage({ content: [{ type: "text", text: "Look." }, picture] }),
  new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "look", args: {} }] }),
  new HumanMessage("And?"),
];
const hasPicture = (messages: readonly BaseMessage[]) => JSON.stringify(messages).includes("cGljdHVyZQ==");

describe("askModel", () => {
  it("closes calls, describes a picture that is refused, and remembers that in the response", async () => {
    const model = new OpenAILike(({ messages }) =>
      hasPicture(messages) ? refused("You uploaded an unsupported image.") : "I see.",
    );
    const response = await askModel(model, history, { systemPrompt: "Be brief." });
    expect(response.text).toBe("I see.");
    expect(model.requests.map(({ messages }) => messages.map(({ type }) => type))).toEqual(
      Array(2).fill(["system", "human", "ai", "tool", "human"]),
    );
    expect(hasPicture(history)).toBe(true);
    const next = [...history, response, new HumanMessage("Thanks.")];
    await askModel(model, next);
    expect(model.requests).toHaveLength(3);
    // What is stored and loaded again is remembered too.
    const loaded = new AIMessage({ ...response.lc_kwargs });
    await askModel(model, [...history, loaded, new HumanMessage("Thanks.")]);
    expect(model.requests).toHaveLength(4);
    // Another model gets the picture.
    const other = new FunctionModel(() => "A cat.");
    await askModel(other, next);
    expect(hasPicture(other.requests[0]?.messages ?? [])).toBe(true);
    // A new picture is sent.
    const more = { type: "image_url", image_url: { url: "data:image/png;base64,bW9yZQ==" } };
    await askModel(model, [...next, new AIMessage("Yes."), new HumanMessage({ content: [more] })]);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("bW9yZQ==");
  });

  it("tells earlier turns as one text at last, with the results that the model has seen", async () => {
    const model = new FunctionModel(({ messages }) =>
      messages.some(({ type }) => type === "tool") ? refused("Rule 17.") : "Fine.",
    );
    const answered = [...history.slice(0, 2), new ToolMessage({ content: "a cat", tool_call_id: "call_1" })];
    expect((await askModel(model, [...answered, new HumanMessage("And?")])).text).toBe("Fine.");
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([4, 5, 1]);
    expect(model.requests.at(-1)?.text).toMatch(/as a text[\s\S]*User: Look[\s\S]*a cat[\s\S]*And\?/);
  });

  it.each([
    // The request with too many bytes is not shortened.
    [413, "Request Entity Too Large", 2],
    // A shorter request is too long too, and nobody says by how much.
    [400, "Input is too long for requested model.", 3],
  ])("describes pictures after %i %s", async (status, words, requests) => {
    const turns = Array.from({ length: 40 }, (_, turn) => [
      new HumanMessage(`Question ${turn}. ${"More of it. ".repeat(40)}`),
      new AIMessage(`Answer ${turn}.`),
    ]);
    const model = new OpenAILike(({ messages }) =>
      hasPicture(messages) ? Object.assign(new Error(`${status} ${words}`), { status }) : "Fine.",
    );
    const asked = [
      ...turns.flat(),
      new HumanMessage({ content: [{ type: "text", text: "Look." }, picture] }),
    ];
    expect((await askModel(model, asked)).text).toBe("Fine.");
    expect(model.requests).toHaveLength(requests);
    expect(model.requests.at(-1)?.text).toMatch(/Look\.[\s\S]*is not shown/);
  });

  it("throws the first error, after four requests at most", async () => {
    const model = new FunctionModel(({ index }) => refused(`Rule ${index}.`));
    await expect(askModel(model, history)).rejects.toThrow("Rule 0.");
    expect(model.requests.length).toBeLessThanOrEqual(4);
    const wrong = new FunctionModel(() => Object.assign(new Error("401 key"), { status: 401 }));
    await expect(askModel(wrong, history)).rejects.toThrow("401");
    expect(wrong.requests).toHaveLength(1);
  });

  it("cuts marks of prompt caches, messages and calls to the number that a refusal names", async () => {
    const marked = { type: "text", text: "x", cache_control: { type: "ephemeral" } };
    const marks = (messages: readonly BaseMessage[]) =>
      JSON.stringify(messages).split("cache_control").length - 1;
    const model = new FunctionModel(({ messages }) => {
      const found = messages.reduce((sum, { content }) => sum + marks([{ content } as BaseMessage]), 0);
      return found > 4
        ? refused(`A maximum of 4 blocks with cache_control may be provided. Found ${found}.`)
        : String(found);
    });
    const texts = Array.from({ length: 8 }, () => new HumanMessage({ content: [marked] as never }));
    expect((await askModel(model, texts)).text).toBe("4");
    expect(model.requests).toHaveLength(2);
    const few = new FunctionModel(({ messages }) =>
      messages.length > 5
        ? refused(
            `Invalid 'messages': array too long. Expected an array with maximum length 5, but got an array with length ${messages.length} instead.`,
          )
        : "Fine.",
    );
    const long = Array.from({ length: 21 }, (_, index) =>
      index % 2 === 0 ? new HumanMessage(`q${index}`) : new AIMessage(`a${index}`),
    );
    expect((await askModel(few, long)).text).toBe("Fine.");
    expect(few.requests).toHaveLength(2);
    expect(few.requests[1]?.messages.at(-1)?.text).toBe("q20");
  });

  it("refuses what is no model, and options that it does not have", async () => {
    await expect(askModel({}, history)).rejects.toThrow(InvalidSettingError);
    await expect(askModel(new FunctionModel(() => "x"), history, { maxTokns: 1 } as object)).rejects.toThrow(
      "maxTokns",
    );
  });
});

it("The client of Bedrock would throw for a picture by its address, so the address is told", async () => {
  const model = new ChatBedrockConverse({
    model: "anthropic.claude-3",
    region: "us-east-1",
    credentials: { accessKeyId: "x", secretAccessKey: "y" },
  });
  const sent: unknown[] = [];
  const client = {
    config: {},
    send: (command: { readonly input: unknown }) => {
      sent.push(command.input);
      const output = { message: { role: "assistant", content: [{ text: "Fine." }] } };
      async function* stream() {
        yield { messageStart: { role: "assistant" } };
        yield {
          contentBlockDelta: { contentBlockIndex: 0, delta: { text: output.message.content[0]?.text } },
        };
        yield { messageStop: { stopReason: "end_turn" } };
      }
      return Promise.resolve({ output, stopReason: "end_turn", stream: stream() });
    },
  };
  Reflect.set(model, "client", client);
  const address = { type: "image_url", image_url: { url: "https://example.com/dog.png" } };
  const response = await askModel(model, [
    new HumanMessage({ content: [{ type: "text", text: "Look." }, address] }),
    new AIMessage("I look."),
    new HumanMessage("And?"),
  ]);
  expect(response.text).toBe("Fine.");
  expect(sent).toHaveLength(1);
  expect(JSON.stringify(sent)).toContain("[image_url: https://example.com/dog.png]");
});
