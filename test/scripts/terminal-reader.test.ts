import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { TerminalReader } from "../../scripts/chat/terminal-reader.js";
import { turns } from "../support/turns.js";

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
