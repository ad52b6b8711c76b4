import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Screen } from "../../scripts/terminal/screen.js";

const CLEAR = "\r\u001b[2K";
/** Clears the line below the text, and goes back to this column. */
const clearBelow = (column: number) => `${CLEAR}\u001b[1A\u001b[${column}G`;

function createScreen(isTTY: boolean, readDraft = () => "") {
  const written: string[] = [];
  const stream = { isTTY, columns: 20, write: (text: string) => written.push(text) };
  const screen = new Screen({ stream, style: (_format, text) => text, readDraft });
  /** What was written since the last time. */
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

  it("leaves nothing of it when the work has ended", async () => {
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
