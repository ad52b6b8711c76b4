import { describe, expect, it } from "vitest";
import { type Handler, type Layer, runOnion } from "../../src/agent/middleware/run-onion.js";
import { MiddlewareError, type Next } from "../../src/index.js";
import { turns } from "../support/async.js";
import { rowsOf } from "../support/test-tools.js";

interface Context {
  result: unknown;
  readonly lines: string[];
}

function layer(name: string, handle: Handler<Context>, mayRetry = false): Layer<Context> {
  return { name, handle, mayRetry };
}

const passing = (name: string) =>
  layer(name, async ({ lines }, next) => {
    lines.push(`before ${name}`);
    await next();
    lines.push(`after ${name}`);
  });

/** Runs layers around a core that takes many turns of the event loop and has the result `"core"`. */
async function run(layers: readonly Layer<Context>[]) {
  const context: Context = { result: undefined, lines: [] };
  const core = async (own: Context) => {
    await turns();
    own.lines.push("core");
    own.result = "core";
  };
  const exit = await runOnion({ layers, core }, context);
  const error = exit.kind === "threw" ? exit.error : undefined;
  return { ...context, error };
}

const ignore = (next: Next) => void next();

async function twice(next: Next): Promise<void> {
  await next();
  await next();
}

type Handle = Handler<Context>;
const MISUSES = rowsOf<[handle: Handle, message: RegExp, mayRetry: boolean]>({
  "does not await next()": [
    async (_context, next) => ignore(next),
    /returned before `next\(\)` had. Write `await next\(\)`/,
    false,
  ],
  "returns before next() has settled": [
    async (_context, next) => void (await Promise.race([next(), undefined])),
    /returned before `next\(\)` had/,
    false,
  ],
  "calls next() twice": [
    (_context, next) => twice(next),
    /called `next\(\)` twice. Only a chat or function middleware made with `\{ retry: true \}` can do so/,
    false,
  ],
  "calls next() twice and catches the error": [
    (_context, next) => twice(next).catch(() => {}),
    /called `next\(\)` twice/,
    false,
  ],
  "calls next() twice and does not await the second": [
    (_context, next) => next().then(() => ignore(next)),
    /called `next\(\)` twice/,
    false,
  ],
  "calls next() twice at once": [
    async (_context, next) => void (await Promise.all([next(), next()])),
    /again before it had returned/,
    false,
  ],
  "retries before the first attempt has ended": [
    async (_context, next) => void (await Promise.allSettled([next(), next()])),
    /again before it had returned/,
    true,
  ],
  "neither calls next() nor sets a result": [
    async () => {},
    /neither called `next\(\)` nor set `context.result`/,
    false,
  ],
});

describe("an error names a middleware that", () => {
  it.each(MISUSES)("%s", async (_title, handle, message, mayRetry) => {
    const { error, lines } = await run([passing("outer"), layer("culprit", handle, mayRetry)]);
    expect(error).toBeInstanceOf(MiddlewareError);
    expect(String(error)).toMatch(message);
    expect(String(error)).toContain("`culprit`");
    expect(lines).not.toContain("after outer");
  });

  it("calls next() after it has returned, and the process goes on", async () => {
    let callLate: Next | undefined;
    const culprit = layer("culprit", async (context, next) => {
      context.result = "mine";
      callLate = next;
    });
    const { lines, result, error } = await run([culprit]);
    expect([result, error]).toEqual(["mine", undefined]);
    const late = callLate?.();
    // A rejection that nobody has handled by now would end the process.
    await turns();
    await expect(late).rejects.toThrow("`culprit` called `next()` after it had returned");
    expect(lines).toEqual([]);
  });
});

describe("the work that a middleware leaves running", () => {
  it("has ended when the run has ended", async () => {
    const { lines } = await run([layer("culprit", async (_context, next) => ignore(next))]);
    expect(lines).toEqual(["core"]);
  });

  it("does not hide the error of the middleware", async () => {
    const failure = new Error("mine");
    const culprit = layer("culprit", async (_context, next) => {
      ignore(next);
      throw failure;
    });
    expect((await run([culprit])).error).toBe(failure);
  });
});
