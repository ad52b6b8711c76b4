/** The parts of a chat in a terminal: what is typed, what is shown meanwhile, and where lines break. */

import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TerminalReader } from "../../scripts/chat/terminal-reader.js";
import { Screen } from "../../scripts/terminal/screen.js";
import { textWidth } from "../../scripts/terminal/text-width.js";
import { WordWrap } from "../../scripts/terminal/word-wrap.js";
import { turns } from "../support/async.js";
import { squeeze } from "../support/long-histories.js";
import { runs } from "../support/test-tools.js";

const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";

function createReader() {
  const input = new PassThrough();
  const output = new PassThrough({ encoding: "utf8" });
  let interrupts = 0;
  const reader = new TerminalReader({
    input,
    output,
    prompt: "you ",
    continuation: "  · ",
    onInterrupt: () => {
      interrupts += 1;
    },
  });
  const type = async (keys: string) => {
    input.write(keys);
    await turns();
  };
  /** The output since the last call. */
  const take = () => stripVTControlCharacters(output.read() ?? "").replaceAll("\r", "");
  return { reader, type, take, interrupts: () => interrupts };
}

describe("a reader of a terminal", () => {
  it("returns typed text line by line", async () => {
    const { reader, type, take } = createReader();
    const first = reader.next();
    await type("hello\r");
    expect(await first).toBe("hello");
    expect(take()).toMatch(/^you hello\n$/);
  });

  it.each(["\r", "\n", "\r\n"])("returns pasted lines as one message if they end with %j", async (end) => {
    const { reader, type, take } = createReader();
    const message = reader.next();
    await type(`see: ${PASTE_START}one${end}two${end}three${PASTE_END}`);
    expect(take()).toMatch(/^you see: one\n {2}· two\n {2}· three$/);
    await type(" four\r");
    expect(await message).toBe("see: one\ntwo\nthree four");
    const next = reader.next();
    await type("five\r");
    expect(await next).toBe("five");
  });

  it("hides text that is typed during a run, and shows it afterwards", async () => {
    const { reader, type, take } = createReader();
    const first = reader.next();
    await type("one\r");
    await first;
    take();
    await type("two\rthr");
    expect(take()).toBe("");
    expect(reader.readDraft()).toBe("two ⏎ thr");
    expect(await reader.next()).toBe("two");
    expect(take()).toBe("you two\n");
    const third = reader.next();
    await turns();
    expect(take()).toMatch(/^you thr$/);
    await type("ee\r");
    expect(await third).toBe("three");
  });

  it("shows the lines of a paste that came during a run", async () => {
    const { reader, type, take } = createReader();
    await type(`${PASTE_START}one\rtwo${PASTE_END}`);
    take();
    const message = reader.next();
    await turns();
    expect(take()).toMatch(/^you one\n {2}· two$/);
    await type("\r");
    expect(await message).toBe("one\ntwo");
  });

  it("discards a draft, even one of several lines", async () => {
    const { reader, type } = createReader();
    const message = reader.next();
    await type(`${PASTE_START}one\rtwo${PASTE_END}`);
    expect(reader.discardDraft()).toBe(true);
    expect(reader.discardDraft()).toBe(false);
    await type("three\r");
    expect(await message).toBe("three");
  });

  it("reports Ctrl-C, and ends with Ctrl-D", async () => {
    const { reader, type, interrupts } = createReader();
    const message = reader.next();
    await type("\u0003");
    expect(interrupts()).toBe(1);
    await type("\u0004");
    expect(await message).toBeUndefined();
    expect(await reader.next()).toBeUndefined();
  });
});

const CLEAR = "\r\u001b[2K";
/** Clears the line below the text, and goes back to this column. */
const clearBelow = (column: number) => `${CLEAR}\u001b[1A\u001b[${column}G`;

function createScreen(isTTY: boolean, readDraft = () => "") {
  const written: string[] = [];
  const stream = { isTTY, columns: 20, write: (text: string) => written.push(text) };
  const screen = new Screen({ stream, style: (_format, text) => text, readDraft });
  /** The output since the last call. */
  return { screen, take: () => written.splice(0).join("") };
}

const never = () => new Promise<void>(() => {});

describe("a screen", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("shows the seconds of silence, and clears them when text comes", () => {
    const { screen, take } = createScreen(true);
    void screen.whileWaiting(never);
    vi.advanceTimersByTime(900);
    expect(take()).toBe("");
    vi.advanceTimersByTime(100);
    expect(take()).toMatch(/^\S 1 s$/);
    vi.advanceTimersByTime(2000);
    expect(take()).toMatch(/\S 3 s$/);
    screen.write("hello\n");
    expect(take()).toBe(`${CLEAR}hello\n`);
    vi.advanceTimersByTime(900);
    expect(take()).toBe("");
  });

  it("keeps what the user types on a line below the text, and goes back to the text", () => {
    let draft = "";
    const { screen, take } = createScreen(true, () => draft);
    void screen.whileWaiting(never);
    screen.write("one two ");
    expect(take()).toBe("one two");
    draft = "typed in the meantime";
    vi.advanceTimersByTime(100);
    expect(take()).toMatch(/^\n\S 0 s… the meantime$/);
    screen.write("three\n");
    expect(take()).toBe(`${clearBelow(8)} three\n`);
  });

  it("clears that line when the work has ended", async () => {
    const { screen, take } = createScreen(true);
    let end = () => {};
    const waiting = screen.whileWaiting(() => new Promise<void>((resolve) => (end = resolve)));
    vi.advanceTimersByTime(1500);
    take();
    end();
    await waiting;
    expect(take()).toBe(CLEAR);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("writes only the plain text if the output is not a terminal", () => {
    const { screen, take } = createScreen(false, () => "typed");
    void screen.whileWaiting(never);
    vi.advanceTimersByTime(5000);
    screen.write("a line that is longer than a terminal is wide");
    expect(take()).toBe("a line that is longer than a terminal is wide");
  });
});

/** The complete text of these pieces. */
function wrapped(width: number | undefined, ...pieces: string[]): string {
  const wrap = new WordWrap(() => width);
  return [...pieces, "\n"].map((piece) => wrap.push(piece)).join("");
}

describe("WordWrap", () => {
  it.each<[title: string, pieces: string[], lines: string[]]>([
    ["a short line as it is", ["one two"], ["one two"]],
    ["a line between words", ["one two three"], ["one two", "three"]],
    ["a line that fits to the last column", ["123456789 next"], ["123456789", "next"]],
    ["a word that comes in pieces", ["one t", "wo th", "ree"], ["one two", "three"]],
    ["the line ends of the text", ["one\n\n two"], ["one", "", " two"]],
    ["a list item below its words", ["- one two three"], ["- one two", "  three"]],
    ["a numbered item", ["1. one two three"], ["1. one", "   two", "   three"]],
    ["an indented line", ["  one two three"], ["  one two", "  three"]],
    ["a word that is longer than a line", ["a 12345678901 b"], ["a", "12345678901 b"]],
    ["a script without spaces", ["天气很好，很热"], ["天气很好", "，很热"]],
    [
      "a coloured line",
      ["\u001b[36m  → one two\u001b[39m three"],
      ["\u001b[36m  → one", "    two\u001b[39m", "    three"],
    ],
  ])("breaks %s", (_title, pieces, lines) => {
    expect(wrapped(9, ...pieces)).toBe(`${lines.join("\n")}\n`);
  });

  it("changes nothing without a width", () => {
    const wrap = new WordWrap(() => undefined);
    expect(wrap.push("one two three")).toBe("one two three");
  });

  it("breaks a text at the same places whatever pieces it arrives in, and loses no word", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "-", "é", "天", "😀"), maxLength: 8 });
    const pieces = fc.array(fc.oneof(word, fc.constantFrom(" ", "  ", "\n")), { maxLength: 40 });
    const law = fc.property(pieces, fc.integer({ min: 8, max: 30 }), (parts, width) => {
      const text = wrapped(width, ...parts);
      expect(text).toBe(wrapped(width, parts.join("")));
      expect(squeeze(text)).toBe(squeeze(parts.join("")));
      for (const line of text.split("\n")) {
        // The terminal itself breaks a word that is longer than a line.
        const isBreakable = textWidth(/^\s*\S*/u.exec(line)?.[0] ?? "") <= width;
        if (isBreakable) expect(textWidth(line)).toBeLessThanOrEqual(width);
      }
    });
    fc.assert(law, runs(200));
  });
});

describe("textWidth", () => {
  it.each([
    ["abc", 3],
    ["天气", 4],
    ["é", 1],
    ["😀", 2],
    ["→ ▸ ✗", 5],
    ["\u001b[31mred\u001b[39m", 3],
  ])("of %j is %j", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});
