/** What of pictures, files and counts is known to be refused is changed before it is sent. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type DialectName, toModelInput, validateHistory } from "../../../src/index.js";

const base64 = (...bytes: readonly (number | string)[]) =>
  Buffer.concat(
    bytes.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from([part]))),
  ).toString("base64");

const u32 = (value: number) =>
  String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
const u16 = (value: number) => String.fromCharCode(value >>> 8, value & 255);
const le16 = (value: number) => String.fromCharCode(value & 255, value >>> 8);
const png = (width: number, height: number, more = "") =>
  base64(`\x89PNG\r\n\x1a\n${u32(13)}IHDR${u32(width)}${u32(height)}\x08\x02\0\0\0${more}`);
const jpeg = (width: number, height: number) =>
  base64(
    `\xff\xd8\xff\xe0${u16(16)}JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0${u16(11)}\x08${u16(height)}${u16(width)}\x01\x01\x11\0`,
  );
const gif = (width: number, height: number) => base64(`GIF89a${le16(width)}${le16(height)}\0\0\0`);
const webp = (width: number, height: number) =>
  base64(`RIFF${u32(0)}WEBPVP8 ${u32(0)}\0\0\0\x9d\x01\x2a${le16(width)}${le16(height)}`);

const image = (mimeType: string, data: string, name?: string) => ({
  type: "image",
  mimeType,
  data,
  ...(name !== undefined && { metadata: { name } }),
});
const shown = (...blocks: readonly object[]) =>
  new HumanMessage({ content: [{ type: "text", text: "What is this?" }, ...blocks] as never });
const inputOf = (dialect: DialectName, ...messages: readonly BaseMessage[]) => {
  const input = toModelInput(messages, { dialect });
  expect(validateHistory(input, dialect)).toEqual([]);
  return input;
};
const said = (dialect: DialectName, block: object) =>
  JSON.stringify(inputOf(dialect, shown(block))[0]?.content);

const SVG = base64("<svg xmlns='http://www.w3.org/2000/svg'/>");
const HEIC = base64(`${u32(24)}ftypheic${u32(0)}mif1heic`);
const TIFF = base64("II*\0\x08\0\0\0");
const BMP = base64(`BM${"\0".repeat(12)}\x28\0\0\0`);
const ICO = base64("\0\0\x01\0\x01\0\x10\x10");
const AVIF = base64(`${u32(24)}ftypavif${u32(0)}`);

const NOT_READ = "is not shown, because the provider of the model does not read this type.]";

describe("a type that the provider does not read is described", () => {
  it.each<readonly [DialectName, string, string]>([
    ...(["openai", "openai-responses", "anthropic", "gemini", "mistral", "strict"] as const).flatMap(
      (dialect) =>
        (
          [
            ["image/svg+xml", SVG],
            ["image/tiff", TIFF],
            ["image/bmp", BMP],
            ["image/x-icon", ICO],
          ] as const
        ).map(([type, data]) => [dialect, type, data] as const),
    ),
    ...(["openai", "openai-responses", "anthropic", "mistral", "strict"] as const).flatMap((dialect) => [
      [dialect, "image/avif", AVIF] as const,
      [dialect, "image/heic", HEIC] as const,
    ]),
  ])("%s: %s", (dialect, type, data) => {
    expect(said(dialect, image(type, data))).toContain(NOT_READ);
    // What is said of it does not matter.
    expect(said(dialect, image("image/png", data))).toContain(`(${type}, `);
  });

  it.each([
    `\xef\xbb\xbf <?xml version="1.0"?>\n<!-- by a --> <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN">\n<svg>`,
    `${"<!---->".repeat(100)}<SVG/>`,
    '<?xml version="1.0"?><?xml-stylesheet href="a.css"?><svg>',
  ])("as what it is, whatever precedes the tag of an SVG: %s", (text) => {
    expect(said("openai", image("image/png", base64(text)))).toContain(
      `(image/svg+xml, ${text.length} bytes)`,
    );
  });

  it.each(["<!-- <svg>", "<p><svg>", "<!---->".repeat(140)])("but not %s, which is no SVG", (text) => {
    expect(said("openai-compatible", image("image/png", base64(text)))).not.toContain("svg");
  });

  it("with its name, type, size and the reason", () => {
    expect(said("openai", image("image/svg+xml", SVG, "logo.svg"))).toContain(
      `[The picture logo.svg (image/svg+xml, 41 bytes) ${NOT_READ}`,
    );
  });

  it("but not where it is read, and not where nobody knows", () => {
    for (const [type, data] of [
      ["image/heic", HEIC],
      ["image/avif", AVIF],
      ["image/gif", gif(4, 4)],
    ] as const)
      expect(said("gemini", image(type, data))).toContain(data);
    expect(said("openai-compatible", image("image/bmp", BMP))).toContain(BMP);
    for (const dialect of ["openai", "anthropic", "gemini", "mistral", "strict"] as const)
      for (const [type, data] of [
        ["image/png", png(9, 9)],
        ["image/jpeg", jpeg(9, 9)],
        ["image/webp", webp(9, 9)],
      ] as const)
        expect(said(dialect, image(type, data)), `${dialect} ${type}`).toContain(data);
  });

  it("also in the result of a tool", () => {
    const call = new AIMessage({ content: "", tool_calls: [{ id: "call1", name: "draw", args: {} }] });
    const result = new ToolMessage({
      content: [image("image/svg+xml", SVG)] as never,
      tool_call_id: "call1",
      name: "draw",
    });
    const input = inputOf("anthropic", new HumanMessage("Draw."), call, result);
    expect(JSON.stringify(input[2]?.content)).toContain(NOT_READ);
  });
});

it.each([
  ["image/png", jpeg(9, 9), "image/jpeg"],
  ["image/jpeg", png(9, 9), "image/png"],
  ["image/jpg", jpeg(9, 9), "image/jpeg"],
  ["image/png", webp(9, 9), "image/webp"],
] as const)("A picture that is called %s is sent under the type of its bytes", (type, data, real) => {
  expect(said("openai", image(type, data))).toContain(`data:${real};base64,${data}`);
  expect(said("anthropic", image(type, data))).toContain(real);
  expect(said("openai-compatible", image(type, data))).toContain(`data:${real};base64,${data}`);
});

it("Empty data is described for every provider", () => {
  for (const dialect of ["openai", "anthropic", "gemini", "openai-compatible", "as-stored"] as const)
    expect(said(dialect, image("image/png", "")), dialect).toContain("is not shown, because it is empty.]");
});

describe("a picture that is too large", () => {
  it.each<readonly [DialectName, string, string]>([
    ["anthropic", png(8_001, 10), "at most 8000 pixels on a side"],
    ["anthropic", jpeg(10, 9_000), "at most 8000 pixels on a side"],
    ["anthropic", gif(9_000, 10), "at most 8000 pixels on a side"],
    ["anthropic", webp(9_000, 10), "at most 8000 pixels on a side"],
    ["anthropic", png(10, 10, "x".repeat(6_000_000)), "accepts at most 3.8 MB"],
    ["dashscope", png(1, 100), "at least 11 pixels on a side"],
  ])("%s is described", (dialect, data, why) => {
    expect(said(dialect, image("image/png", data))).toContain(why);
  });

  it("is described if there are many of them", () => {
    const many = (count: number) =>
      JSON.stringify(
        inputOf(
          "anthropic",
          shown(...Array.from({ length: count }, (_, index) => image("image/png", png(2_001, 20 + index)))),
        ),
      );
    expect(many(20)).not.toContain("is not shown");
    expect(many(21).split("is not shown").length - 1).toBe(5);
  });
});

it("Of too many pictures the oldest are described, in blocks", () => {
  const pictures = Array.from({ length: 9 }, (_, index) => shown(image("image/png", png(20, 20 + index))));
  const messages = pictures.flatMap((message) => [message, new AIMessage("I see.")]);
  const input = inputOf("mistral", ...messages, new HumanMessage("So?"));
  const described = input.map(({ content }) => JSON.stringify(content).includes("too many pictures"));
  expect(described.filter(Boolean)).toHaveLength(2);
  expect(described.slice(0, 3)).toEqual([true, false, true]);
});

describe("counts", () => {
  it("a message with more calls than the provider takes becomes messages with their results", () => {
    const ids = Array.from({ length: 300 }, (_, index) => `call${index}`);
    const history = [
      new HumanMessage("Count."),
      new AIMessage({
        id: "a",
        content: "I count.",
        tool_calls: ids.map((id) => ({ id, name: "count", args: { id } })),
      }),
      ...ids.map((id) => new ToolMessage({ content: `counted ${id}`, tool_call_id: id, name: "count" })),
      new HumanMessage("So?"),
    ];
    const input = inputOf("openai", ...history);
    const heads = input.filter((message): message is AIMessage => message.type === "ai");
    expect(heads.map(({ tool_calls = [] }) => tool_calls.length)).toEqual([128, 128, 44]);
    expect(heads.map(({ text }) => text)).toEqual(["I count.", "", ""]);
    expect(input.filter(({ type }) => type === "tool").map(({ text }) => text)).toEqual(
      ids.map((id) => `counted ${id}`),
    );
    // The same again, so that a prompt cache stays valid.
    expect(inputOf("openai", ...history)[130]).toBe(input[130]);
    expect(inputOf("anthropic", ...history).filter(({ type }) => type === "ai")).toHaveLength(1);
  });

  it("a request with more messages than the provider takes begins with a note", () => {
    const history = Array.from({ length: 3_001 }, (_, index) =>
      index % 2 === 0 ? new HumanMessage(`question ${index}`) : new AIMessage(`answer ${index}`),
    );
    const input = inputOf("openai", ...history);
    expect(input.length).toBeLessThanOrEqual(2_048);
    expect(input.length).toBeGreaterThan(1_024);
    expect(input[0]?.text).toMatch(/^\[\d+ earlier messages are left out here/);
    expect(input.at(-1)?.text).toBe("question 3000");
    expect(inputOf("openai-compatible", ...history)).toHaveLength(3_001);
  });
});
