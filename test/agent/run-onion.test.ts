import { describe, expect, it } from "vitest";
import { type Handler, type Layer, type Next, runOnion } from "../../src/agent/middleware/run-onion.js";
import { MiddlewareError } from "../../src/index.js";
import { turns } from "../support/async.js";

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
async function run(layers: readonly Layer<Context>[], core?: (context: Context) => Promise<void>) {
  const context: Context = { result: undefined, lines: [] };
  let retries = 0;
  const onion = {
    layers,
    core:
      core ??
      (async (own: Context) => {
        await turns();
        own.lines.push("core");
        own.result = "core";
      }),
    onRetry: () => {
      retries += 1;
    },
  };
  const exit = await runOnion(onion, context);
  return { ...context, error: exit.kind === "threw" ? exit.error : undefined, retries };
}

describe("runOnion", () => {
  it("lets a layer with retries run the inner layers again, one run at a time, and counts", async () => {
    const retrying = layer("again", (_context, next) => twice(next), true);
    const { lines, retries, error } = await run([retrying, passing("b")]);
    expect(lines).toEqual(["before b", "core", "after b", "before b", "core", "after b"]);
    expect([retries, error]).toEqual([1, undefined]);
  });
});

interface Misuse {
  readonly title: string;
  readonly handle: Handler<Context>;
  readonly mayRetry?: boolean;
  readonly message: RegExp;
}

const ignore = (next: Next) => void next();

async function twice(next: Next): Promise<void> {
  await next();
  await next();
}

const MISUSES: readonly Misuse[] = [
  {
    title: "does not await next()",
    handle: async (_context, next) => ignore(next),
    message: /returned before `next\(\)` had. Write `await next\(\)`/,
  },
  {
    title: "returns before next() has settled",
    handle: async (_context, next) => void (await Promise.race([next(), undefined])),
    message: /returned before `next\(\)` had/,
  },
  {
    title: "calls next() twice",
    handle: (_context, next) => twice(next),
    message:
      /called `next\(\)` twice. Only a chat or function middleware made with `\{ retry: true \}` can do so/,
  },
  {
    title: "calls next() twice and catches the error",
    handle: (_context, next) => twice(next).catch(() => {}),
    message: /called `next\(\)` twice/,
  },
  {
    title: "calls next() twice and does not await the second",
    handle: (_context, next) => next().then(() => ignore(next)),
    message: /called `next\(\)` twice/,
  },
  {
    title: "calls next() twice at once",
    handle: async (_context, next) => void (await Promise.all([next(), next()])),
    message: /again before it had returned/,
  },
  {
    title: "retries before the first attempt has ended",
    handle: async (_context, next) => void (await Promise.allSettled([next(), next()])),
    mayRetry: true,
    message: /again before it had returned/,
  },
  {
    title: "neither calls next() nor sets a result",
    handle: async () => {},
    message: /neither called `next\(\)` nor set `context.result`/,
  },
];

describe("an error names a middleware that", () => {
  it.each(MISUSES)("$title", async ({ handle, mayRetry, message }) => {
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
