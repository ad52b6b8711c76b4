/** A view of a value that can be read and not changed. A change is an error that says what cannot be changed. */

import { isBaseMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../errors.js";
import { isPlainObject } from "../shared/is-plain-object.js";

export interface ViewOptions {
  /** What to do instead, as a sentence. */
  readonly advice?: string;
  /** Whether only the value itself is a view, and not what it contains. @default false */
  readonly isShallow?: boolean;
}

/**
 * Objects, lists and messages in the value are views too. Other values, such as dates, are the values themselves.
 *
 * @param place The name of the value in errors.
 */
export function readOnlyView<Value>(value: Value, place: string, options: ViewOptions = {}): Value {
  return viewOf(value, place, options, new WeakMap()) as Value;
}

function viewOf(
  value: unknown,
  place: string,
  options: ViewOptions,
  known: WeakMap<object, object>,
): unknown {
  if (!isViewable(value)) return value;
  const seen = known.get(value);
  if (seen !== undefined) return seen;
  const refuse = (name: string | symbol): never => {
    throw new MiddlewareError(
      `\`${pathOf(place, value, name)}\` cannot be changed.${options.advice ? ` ${options.advice}` : ""}`,
    );
  };
  const view = new Proxy(value, {
    get: (target, name, receiver) => {
      const field: unknown = Reflect.get(target, name, receiver);
      if (options.isShallow || typeof field === "function" || isFixed(target, name)) return field;
      return viewOf(field, pathOf(place, value, name), options, known);
    },
    set: (_target, name) => refuse(name),
    defineProperty: (_target, name) => refuse(name),
    deleteProperty: (_target, name) => refuse(name),
    setPrototypeOf: () => refuse("prototype"),
  });
  known.set(value, view);
  return view;
}

function isViewable(value: unknown): value is object {
  return Array.isArray(value) || isPlainObject(value) || isBaseMessage(value);
}

/** A proxy must return the value itself of a field that is frozen. */
function isFixed(target: object, name: string | symbol): boolean {
  const field = Reflect.getOwnPropertyDescriptor(target, name);
  return field !== undefined && field.configurable === false && field.writable === false;
}

function pathOf(place: string, holder: object, name: string | symbol): string {
  return Array.isArray(holder) && /^\d+$/.test(String(name))
    ? `${place}[${String(name)}]`
    : `${place}.${String(name)}`;
}
