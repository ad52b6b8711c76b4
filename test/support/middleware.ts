/** Middleware that does one thing: before `next()`, after it, or in its place. */

import {
  type AgentContext,
  agentMiddleware,
  type ChatContext,
  chatMiddleware,
  type FunctionContext,
  functionMiddleware,
  type Middleware,
  type Next,
} from "../../src/index.js";

interface Contexts {
  readonly agent: AgentContext;
  readonly chat: ChatContext;
  readonly function: FunctionContext;
}
type Kind = keyof Contexts;
export type Change<Of extends Kind> = (context: Contexts[Of]) => unknown;
export type Handle<Of extends Kind> = (context: Contexts[Of], next: Next) => Promise<void>;
interface Options {
  readonly name?: string;
  readonly readOnly?: boolean;
  readonly retry?: boolean;
}

const FACTORIES = { agent: agentMiddleware, chat: chatMiddleware, function: functionMiddleware };

const make = <Of extends Kind>(kind: Of, handle: Handle<Of>, options: Options = {}): Middleware =>
  FACTORIES[kind](handle as Handle<Kind>, options);

export const beforeNext = <Of extends Kind>(kind: Of, change: Change<Of>, options?: Options) =>
  make(
    kind,
    async (context, next) => {
      await change(context);
      await next();
    },
    options,
  );

export const afterNext = <Of extends Kind>(kind: Of, change: Change<Of>, options?: Options) =>
  make(
    kind,
    async (context, next) => {
      await next();
      await change(context);
    },
    options,
  );

export const insteadOfNext = <Of extends Kind>(kind: Of, change: Change<Of>, options?: Options) =>
  make(kind, async (context) => void (await change(context)), options);

/** A change that sets fields of the context, such as its result. */
export const set = (fields: object) => (context: object) => void Object.assign(context, fields);

/** A change that throws. */
export const throwing = (error: unknown) => () => {
  throw error;
};

export const twice = async (_context: object, next: Next) => {
  await next();
  await next();
};
