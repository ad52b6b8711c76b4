/** Compares random onions of random layers with a model that predicts their outcome in a few lines. */

import fc from "fast-check";
import { expect } from "vitest";
import {
  type Handler,
  type Layer,
  MiddlewareTermination,
  runOnion,
} from "../../src/agent/middleware/run-onion.js";
import { law } from "../support/test-tools.js";

interface Context {
  result: unknown;
  readonly lines: string[];
}

/** The outcome of an onion: how it ended (`returned`, `terminated`, or the error), and its result. */
interface Left {
  readonly end: string;
  readonly result: unknown;
  /** The value of a termination. It becomes the result when the termination leaves the onion. */
  readonly carried?: string;
}

type Inner = (left: unknown) => Left;

/** How a layer named `name` behaves, and the outcome that the model predicts. `result` is the result so far. */
interface Behaviour {
  readonly mayRetry?: boolean;
  readonly handle: (name: string) => Handler<Context>;
  readonly model: (name: string, result: unknown, inner: Inner, lines: string[]) => Left;
}

const ended = (result: unknown): Left => ({ end: "returned", result });
const threw = (end: string, result: unknown): Left => ({ end, result });
const terminated = (result: unknown, carried?: string): Left => ({
  end: "terminated",
  result,
  ...(carried !== undefined && { carried }),
});

function raise(error: unknown): never {
  throw error;
}

/** What a layer can do, and what the model makes of it if the result was `result`. */
type Act = readonly [
  run: (context: Context, name: string) => unknown,
  model: (name: string, result: unknown) => Left,
];
const ACTS: Readonly<Record<string, Act>> = {
  leave: [() => {}, (_name, result) => ended(result)],
  change: [(context, name) => Object.assign(context, { result: name }), (name) => ended(name)],
  throw: [(_context, name) => raise(new Error(name)), threw],
  terminate: [() => raise(new MiddlewareTermination()), (_name, result) => terminated(result)],
  terminateWith: [
    (_context, name) => raise(new MiddlewareTermination(name)),
    (name, result) => terminated(result, name),
  ],
};

/** Acts after `next()`, which happens only if the inner layers returned, or in place of `next()`. */
const acting = Object.entries(ACTS).flatMap(([what, [act, outcomeOf]]): [string, Behaviour][] => [
  [
    `${what}After`,
    {
      handle: (name) =>
        async function layer(context, next) {
          context.lines.push(`>${name}`);
          await next();
          context.lines.push(`<${name}`);
          act(context, name);
        },
      model: (name, result, inner, lines) => {
        lines.push(`>${name}`);
        const left = inner(result);
        if (left.end !== "returned") return left;
        lines.push(`<${name}`);
        return outcomeOf(name, left.result);
      },
    },
  ],
  [
    `${what}Instead`,
    {
      handle: (name) =>
        async function layer(context) {
          context.lines.push(`>${name}`);
          act(context, name);
        },
      model: (name, result, _inner, lines) => {
        lines.push(`>${name}`);
        const left = outcomeOf(name, result);
        return left.end === "returned" && left.result === undefined ? threw(`misuse ${name}`, result) : left;
      },
    },
  ],
]);

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  ...Object.fromEntries(acting),
  catches: {
    handle: (name) =>
      async function layer(context, next) {
        context.lines.push(`>${name}`);
        await next().catch(() => {
          context.result = name;
        });
        context.lines.push(`<${name}`);
      },
    model: (name, result, inner, lines) => {
      lines.push(`>${name}`);
      const left = inner(result);
      lines.push(`<${name}`);
      return left.end === "returned" ? left : ended(name);
    },
  },
  forgets: {
    handle: (name) =>
      async function layer(context, next) {
        context.lines.push(`>${name}`);
        void next();
      },
    model: (name, result, inner, lines) => {
      lines.push(`>${name}`);
      return threw(`misuse ${name}`, inner(result).result);
    },
  },
  repeats: {
    mayRetry: true,
    handle: (name) =>
      async function layer({ lines }, next) {
        lines.push(`>${name}`);
        await next().catch(() => lines.push(`again ${name}`));
        await next();
        lines.push(`<${name}`);
      },
    model: (name, result, inner, lines) => {
      lines.push(`>${name}`);
      const first = inner(result);
      if (first.end !== "returned") lines.push(`again ${name}`);
      const second = inner(first.result);
      if (second.end === "returned") lines.push(`<${name}`);
      return second;
    },
  },
};

const names = Object.keys(BEHAVIOURS);
const onions = fc.record({
  layers: fc.array(fc.constantFrom(...names), { maxLength: 6 }),
  coreThrows: fc.boolean(),
});

function expected(layers: readonly string[], coreThrows: boolean) {
  const lines: string[] = [];
  const from = (depth: number, result: unknown): Left => {
    const behaviour = BEHAVIOURS[layers[depth] ?? ""];
    if (behaviour !== undefined)
      return behaviour.model(`${layers[depth]}${depth}`, result, (inner) => from(depth + 1, inner), lines);
    lines.push("core");
    return coreThrows ? threw("core", result) : ended("core");
  };
  const { end, result, carried } = from(0, undefined);
  return { end, result: carried ?? result, lines };
}

async function actual(names: readonly string[], coreThrows: boolean) {
  const context: Context = { result: undefined, lines: [] };
  const layers = names.flatMap((name, depth): Layer<Context>[] => {
    const behaviour = BEHAVIOURS[name];
    if (behaviour === undefined) return [];
    const own = `${name}${depth}`;
    return [{ name: own, handle: behaviour.handle(own), mayRetry: behaviour.mayRetry ?? false }];
  });
  const core = async (own: Context): Promise<void> => {
    own.lines.push("core");
    if (coreThrows) throw new Error("core");
    own.result = "core";
  };
  const exit = await runOnion({ layers, core }, context);
  const end = exit.kind === "threw" ? nameOfError(exit.error) : exit.kind;
  return { end, result: context.result, lines: context.lines };
}

function nameOfError(error: unknown): string {
  const { message } = error as Error;
  const misused = /^The middleware `(\w+)`/.exec(message)?.[1];
  return misused === undefined ? message : `misuse ${misused}`;
}

law(
  "An onion has the lines, the error and the result that its layers make",
  1_000,
  [onions],
  async ({ layers, coreThrows }) => {
    expect(await actual(layers, coreThrows)).toEqual(expected(layers, coreThrows));
  },
);
