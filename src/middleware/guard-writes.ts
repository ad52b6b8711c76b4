import { MiddlewareError } from "../errors.js";
import { didYouMean } from "../shared/did-you-mean.js";
import type { Layer } from "./run-onion.js";

/**
 * The layers with a context that refuses writes to fields that cannot be changed, and to fields that do not exist. The
 * core of the onion has the context itself.
 */
export function withGuardedContext<Context extends object>(
  layers: readonly Layer<Context>[],
  context: Context,
  kind: string,
): Layer<Context>[] {
  const guarded = guardWrites(context, kind);
  return layers.map((layer) => ({ ...layer, handle: (_context, next) => layer.handle(guarded, next) }));
}

/** A field can be changed if its class has a setter for it. */
function guardWrites<Context extends object>(context: Context, kind: string): Context {
  const changeable = settersOf(context);
  const refuse = (name: string | symbol): never => {
    const question = name in context ? "" : didYouMean(String(name), changeable);
    throw new MiddlewareError(
      `\`context.${String(name)}\` cannot be changed.${question} A middleware of the kind \`${kind}\` can change: ${changeable.join(", ")}.`,
    );
  };
  return new Proxy(context, {
    // The context itself is the receiver, because its class has private fields.
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" &&
        name in Object.getPrototypeOf(target) &&
        !changeable.includes(String(name))
        ? value.bind(target)
        : value;
    },
    set: (target, name, value) =>
      changeable.includes(String(name)) ? Reflect.set(target, name, value, target) : refuse(name),
    defineProperty: (_target, name) => refuse(name),
    deleteProperty: (_target, name) => refuse(name),
  });
}

function settersOf(context: object): string[] {
  const names = new Set<string>();
  let prototype: object | null = Object.getPrototypeOf(context);
  // The last prototype is that of every object.
  for (
    ;
    prototype !== null && Object.getPrototypeOf(prototype) !== null;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    for (const [name, { set }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (set !== undefined) names.add(name);
  }
  return [...names].sort();
}
