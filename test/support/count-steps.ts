/**
 * Measures work in steps that are the same on every machine: reads of messages and of all that is in them, and what
 * arrays, texts and maps do inside the engine, by element.
 */

import { MOST_STEPS, searchFrom } from "./patterns/count-matching.js";

/** Methods that call a function for each element. */
const CALLBACK_METHODS =
  "every filter find findIndex findLast findLastIndex flatMap forEach map reduce some".split(" ");
type StepsOf = (list: readonly unknown[], result: unknown, wanted: unknown) => number;

/** The patterns whose search was given up. */
const endless: string[] = [];

/** The engine's own, which is not counted. */
const indexIn = Array.prototype.indexOf;
const indexInText = String.prototype.indexOf;

/** How many characters a method of texts reads or copies. */
const TEXT_METHODS: Readonly<Record<string, (text: string, result: unknown, wanted: unknown) => number>> = {
  indexOf: (text, index) => (Number(index) < 0 ? text.length : Number(index) + 1),
  lastIndexOf: (text, index) => text.length - Math.max(Number(index), 0),
  split: (text) => text.length,
  replace: (text) => text.length,
  replaceAll: (text) => text.length,
  startsWith: (_, __, wanted) => String(wanted).length,
  endsWith: (_, __, wanted) => String(wanted).length,
  codePointAt: () => 1,
  at: () => 1,
  charAt: () => 1,
  ...Object.fromEntries(
    "slice substring trim trimStart trimEnd toLowerCase toUpperCase normalize repeat padStart padEnd"
      .split(" ")
      .map((name) => [name, (_: string, result: unknown) => String(result).length]),
  ),
};

/** How many elements a method reads or moves, by what it returned. */
const ARRAY_METHODS: Readonly<Record<string, StepsOf>> = {
  indexOf: searched,
  includes: (list, _, wanted) => searched(list, Reflect.apply(indexIn, list, [wanted])),
  lastIndexOf: (list, index) => list.length - Math.max(Number(index), 0),
  concat: resultLength,
  slice: resultLength,
  toReversed: resultLength,
  toSpliced: resultLength,
  with: resultLength,
  shift: (list) => list.length,
  splice: (list) => list.length,
  unshift: (list) => list.length,
};

/**
 * The number of steps that `run` takes.
 *
 * @param values What `run` works on. Reads of its messages are counted.
 * @throws if one search for a pattern has no end in sight, whatever `run` makes of it.
 */
export function countSteps<T>(values: T, run: (values: T) => void): number {
  const count = startCount(values);
  try {
    run(count.watched);
  } finally {
    count.stop();
  }
  return count.total();
}

/** The same for work that waits. Nothing else may work meanwhile. */
export async function countStepsOf<T>(values: T, run: (values: T) => Promise<unknown>): Promise<number> {
  const count = startCount(values);
  try {
    await run(count.watched);
  } finally {
    count.stop();
  }
  return count.total();
}

/** A second one would put back the counting methods of the first, and leave them behind. */
let isUnderWay = false;

function startCount<T>(values: T) {
  if (isUnderWay)
    throw new Error("Expected one count at a time. A test that ran out of time may still count.");
  isUnderWay = true;
  let steps = 0;
  const counted = new WeakMap<object, object>();
  const watch = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const known = counted.get(value);
    if (known !== undefined) return known;
    const proxy = new Proxy(value, {
      get(target, key) {
        steps += 1;
        const field: unknown = Reflect.get(target, key);
        const isFixed = Reflect.getOwnPropertyDescriptor(target, key)?.configurable === false;
        return isFixed ? field : watch(field);
      },
    });
    counted.set(value, proxy);
    counted.set(proxy, proxy);
    return proxy;
  };
  const watched = (Array.isArray(values) ? values.map(watchList) : watchList(values)) as T;
  function watchList(value: unknown): unknown {
    return Array.isArray(value) ? value.map(watch) : watch(value);
  }
  const restore = countInEngine((count) => {
    steps += count;
  });
  const stop = (): void => {
    restore();
    isUnderWay = false;
  };
  const total = (): number => {
    if (endless.length > 0) throw new Error(`Endless: ${endless.splice(0).join(", ")}`);
    return steps;
  };
  return { watched, stop, total };
}

function searched(list: readonly unknown[], index: unknown): number {
  return Number(index) < 0 ? list.length : Number(index) + 1;
}

function resultLength(_: readonly unknown[], result: unknown): number {
  return Array.isArray(result) ? result.length : 0;
}

/** Replaces methods of the engine by ones that count, and returns a function that takes this back. */
function countInEngine(note: (steps: number) => void): () => void {
  let isCounting = false;
  const count = (steps: number): void => {
    if (!isCounting) note(steps);
  };
  const undo: (() => void)[] = [];
  const replace = (prototype: object, name: PropertyKey, make: (method: Method) => Method): void => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    if (descriptor === undefined) throw new Error(`There is no method ${String(name)}.`);
    Object.defineProperty(prototype, name, { ...descriptor, value: make(descriptor.value) });
    undo[undo.length] = () => Object.defineProperty(prototype, name, descriptor);
  };
  for (const [name, stepsOf] of Object.entries(ARRAY_METHODS)) {
    replace(
      Array.prototype,
      name,
      (method) =>
        function (this: unknown[], ...args: unknown[]) {
          const before = this.length;
          const result = Reflect.apply(method, this, args);
          count(name === "splice" || name === "shift" ? before : stepsOf(this, result, args[0]));
          return result;
        },
    );
  }
  for (const name of CALLBACK_METHODS) {
    replace(
      Array.prototype,
      name,
      (method) =>
        function (this: unknown[], callback: unknown, ...rest: unknown[]) {
          if (typeof callback !== "function") return Reflect.apply(method, this, [callback, ...rest]);
          const counting = (...args: unknown[]): unknown => {
            count(1);
            return Reflect.apply(callback, rest[0], args);
          };
          return Reflect.apply(method, this, [counting, ...rest]);
        },
    );
  }
  for (const name of [Symbol.iterator, "entries"] as const) {
    replace(
      Array.prototype,
      name,
      (method) =>
        function (this: unknown[]) {
          const iterator = Reflect.apply(method, this, []) as Iterator<unknown>;
          const counting = {
            next: () => {
              count(1);
              return iterator.next();
            },
            [Symbol.iterator]: () => counting,
            toArray: () => Array.from(counting),
          };
          return counting;
        },
    );
  }
  for (const prototype of [Map.prototype, Set.prototype, WeakMap.prototype]) {
    replace(prototype, "has", counted1);
  }
  for (const prototype of [Map.prototype, WeakMap.prototype]) replace(prototype, "get", counted1);
  for (const prototype of [Map.prototype, Set.prototype])
    for (const name of ["entries", "forEach", "keys", "values", Symbol.iterator])
      replace(
        prototype,
        name,
        (method) =>
          function (this: { readonly size: number }, ...args: unknown[]) {
            count(this.size);
            return Reflect.apply(method, this, args);
          },
      );
  replace(String.prototype, "charCodeAt", counted1);
  replace(
    String.prototype,
    "includes",
    () =>
      function (this: string, ...args: unknown[]) {
        const index = Number(Reflect.apply(indexInText, this, args));
        count(index < 0 ? this.length : index + 1);
        return index >= 0;
      },
  );
  for (const [name, stepsOf] of Object.entries(TEXT_METHODS)) {
    replace(
      String.prototype,
      name,
      (method) =>
        function (this: string, ...args: unknown[]) {
          const result = Reflect.apply(method, this, args);
          count(stepsOf(this, result, args[0]));
          return result;
        },
    );
  }
  replace(
    String.prototype,
    Symbol.iterator,
    (method) =>
      function (this: string) {
        count(this.length);
        return Reflect.apply(method, this, []);
      },
  );
  replace(JSON, "parse", (method) => (text: unknown, ...rest: unknown[]) => {
    count(String(text).length);
    return Reflect.apply(method, JSON, [text, ...rest]);
  });
  replace(JSON, "stringify", (method) => (...args: unknown[]) => {
    const text: unknown = Reflect.apply(method, JSON, args);
    count(typeof text === "string" ? text.length : 1);
    return text;
  });
  // All that the engine does with patterns comes here, once somebody has replaced this method.
  replace(
    RegExp.prototype,
    "exec",
    (method) =>
      function (this: RegExp, text: unknown) {
        // The counter is made of the same methods.
        if (isCounting) return Reflect.apply(method, this, [text]);
        isCounting = true;
        try {
          const from = this.global || this.sticky ? this.lastIndex : 0;
          const { steps } = searchFrom(this, `${text}`, from);
          note(steps);
          // The engine would go on for as long as the pattern says, perhaps for ever.
          if (steps > MOST_STEPS) {
            endless.push(String(this));
            throw new Error(`${this} takes too many steps.`);
          }
          return Reflect.apply(method, this, [text]);
        } finally {
          isCounting = false;
        }
      },
  );
  function counted1(method: Method): Method {
    return function (this: unknown, ...args: unknown[]) {
      count(1);
      return Reflect.apply(method, this, args);
    };
  }
  return () => {
    for (const take of undo) take();
  };
}

type Method = (this: never, ...args: unknown[]) => unknown;
