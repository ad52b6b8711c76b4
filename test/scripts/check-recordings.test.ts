import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { protocolOf } from "../../scripts/recordings/protocols.js";
import { exchangesIn } from "../../scripts/recordings/read-exchanges.js";
import { runScript } from "./run-script.js";

const said = "It is dry in the valley.";
const chatAnswer = {
  id: "chatcmpl-valley",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 },
};
const asked = { model: "gpt-4o-mini", messages: [{ role: "user", content: "How is the valley?" }] };
const answered = {
  ...asked,
  messages: [
    ...asked.messages,
    { role: "assistant", content: said },
    { role: "user", content: "And the hill?" },
  ],
};
const chatUrl = "https://api.openai.com/v1/chat/completions";
const chunk = (delta: object, finish_reason: string | null) => ({
  ...chatAnswer,
  object: "chat.completion.chunk",
  usage: undefined,
  choices: [{ index: 0, delta, finish_reason }],
});
const text = JSON.stringify;
const quoted = (value: object) => `'${text(value).replaceAll("'", "''")}'`;
const cassette = (request: object, response: string, status = 200) => `
interactions:
- request:
    body: ${quoted(request)}
    method: POST
    uri: ${chatUrl}
  response:
    body:
      ${response}
    headers:
      content-type: [application/json]
    status:
      code: ${status}
      message: whatever
version: 1
`;
const binary = gzipSync(text(chatAnswer)).toString("base64");
const ruby = `
---
http_interactions:
- request:
    method: post
    uri: ${chatUrl}
    body:
      encoding: UTF-8
      string: ${quoted(asked)}
  response:
    status:
      code: 200
      message: OK
    headers:
      Content-Type: [application/json]
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        ${Buffer.from(text(chatAnswer)).toString("base64")}
`;
const lists = `
requests:
- method: POST
  uri: ${chatUrl}
  body: !!binary ${Buffer.from(text(asked)).toString("base64")}
responses:
- status: {code: 200, message: OK}
  headers: {content-type: [application/json]}
  body: {string: ${quoted(chatAnswer)}}
`;
const claudeEvents = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content: [],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 7 } },
  { type: "message_stop" },
];
const novaEvents = [
  { messageStart: { role: "assistant" } },
  { contentBlockDelta: { contentBlockIndex: 0, delta: { text: said } } },
  { contentBlockStop: { contentBlockIndex: 0 } },
  { messageStop: { stopReason: "end_turn" } },
  { metadata: { usage: { inputTokens: 9, outputTokens: 7, totalTokens: 16 }, metrics: { latencyMs: 1 } } },
];
const lines = (events: readonly object[]) => events.map((event) => text(event)).join("\n");
const key = { error: { message: "No such key.", type: "authentication_error", code: "invalid_api_key" } };

/** A file of each format. */
const FORMATS: Readonly<Record<string, string | Buffer>> = {
  "python.yaml": cassette(asked, `string: ${quoted(chatAnswer)}`),
  "compressed.yaml": cassette(asked, `string: !!binary ${binary}`),
  "ruby.yml": ruby,
  "lists.yaml.gz": gzipSync(lists),
  "one.json": text({
    request: { method: "POST", url: chatUrl, body: text(asked) },
    response: {
      status: { code: 200 },
      headers: { "content-type": "application/json" },
      body: text(chatAnswer),
    },
  }),
  "parsed.yaml": `interactions: [{request: {method: POST, uri: "${chatUrl}", parsed_body: ${text(answered)}}, response: {status: {code: 200}, parsed_body: ${text(chatAnswer)}}}]`,
  "rust.yaml": `when: {path: /v1/chat/completions, method: POST, body: ${quoted(asked)}}\nthen: {status: 200, header: [{name: content-type, value: application/json}], body: ${quoted(chatAnswer)}}`,
  "plain.json": text(chatAnswer),
  "claude.chunks.txt": lines(claudeEvents),
  "nova.chunks.txt": lines(novaEvents),
  "stream.txt": `data: ${text(chunk({ role: "assistant", content: said }, null))}\n\ndata: ${text(chunk({}, "stop"))}\n\ndata: [DONE]\n\n`,
  "key.yaml": cassette(answered, `string: ${quoted(key)}`, 401),
};

const folders: string[] = [];

async function folderOf(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "recordings-"));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true });
});

async function check(files: Readonly<Record<string, string | Buffer>>, ...args: string[]) {
  const script = runScript("check-recordings.ts", [await folderOf(files), ...args]);
  const code = await script.ended;
  return { code, output: script.output(), errors: script.errors() };
}

describe("exchangesIn", () => {
  it.each([
    ["python.yaml", "chat"],
    ["compressed.yaml", "chat"],
    ["ruby.yml", "chat"],
    ["lists.yaml.gz", "chat"],
    ["one.json", "chat"],
    ["parsed.yaml", "chat"],
    ["rust.yaml", "chat"],
    ["plain.json", "chat"],
    ["claude.chunks.txt", "anthropic"],
    ["nova.chunks.txt", "converse"],
    ["stream.txt", "chat"],
    ["key.yaml", "chat"],
  ] as const)("reads %s", (file, protocol) => {
    const [exchange, ...others] = exchangesIn(file, Buffer.from(FORMATS[file] ?? ""));
    expect(others).toEqual([]);
    expect(exchange && protocolOf(exchange)).toBe(protocol);
    expect(exchange?.body.toString("utf8")).toContain(file === "key.yaml" ? "No such key." : said);
  });

  it("finds nothing in other files", () => {
    expect(exchangesIn("package.json", Buffer.from('{"name": "x", "version": "1"}')).map(protocolOf)).toEqual(
      [undefined],
    );
    expect(exchangesIn("notes.txt", Buffer.from("It was dry.\nIt rained."))).toEqual([]);
  });
});

describe.concurrent("npm run check:recordings", () => {
  it("plays each format, and ends with 0 if each difference has a reason", async () => {
    const { code, output, errors } = await check(FORMATS, "--json");
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const differences = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(differences.length).toBeGreaterThan(0);
    for (const difference of differences) expect(difference).toHaveProperty("explained");
  });

  it("counts what it played", async () => {
    const { output } = await check(FORMATS);
    // Eleven recorded responses, one accepted history and one refusal, each over the middleware and over the graph.
    expect(output).toMatch(/responses\W+22\W+22\W+22\W+22\b/);
    expect(output).toMatch(/requests\W+2\W+2\W+2\W+2\b/);
    expect(output).toMatch(/refusals\W+2\W+2\W+2\W+2\b/);
    expect(output).not.toMatch(/Not explained:\n\s*\d/);
  });

  it("ends with 1 at a difference without a reason, and shows it", async () => {
    const cut = `data: ${text(chunk({ role: "assistant", content: "It is" }, null))}\n\n`;
    const { code, output } = await check({ "deep/cut.txt": cut });
    expect(code).toBe(1);
    expect(output).toMatch(
      /requests count\n\s+deep\/cut\.txt \(tetherMiddleware\)\n\s+alone: 1\n\s+ours: {2}2\n/,
    );
  });

  it("ends with 1 if there is nothing to play", async () => {
    expect(await check({ "notes.txt": "It was dry." })).toEqual({
      code: 1,
      output: "Nothing was played.\n",
      errors: "",
    });
  });

  it("lists what it would play, of one part or of some files", async () => {
    expect((await check(FORMATS, "--list", "--only", "requests")).output).toBe(
      "requests parsed.yaml#1 ChatOpenAI\n",
    );
    expect((await check(FORMATS, "--list", "--only", "nova")).output).toBe(
      "responses nova.chunks.txt ChatBedrockConverse\n",
    );
  });
});
