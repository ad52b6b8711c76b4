/** The schemas that a user of the library can give for own keys, and the types of the values. */

import type { InferInteropZodInput, InteropZodObject } from "@langchain/core/utils/types";
import type { AnyStateSchema, ExtractStateType, ExtractUpdateType } from "@langchain/langgraph";

/** A zod object, or LangGraph's `StateSchema`. */
export type OwnStateSchema = InteropZodObject | AnyStateSchema;
/** A zod object. */
export type OwnContextSchema = InteropZodObject;

/** The own keys of the state, as a schema describes them. Empty without a schema. */
export type StateOf<Schema> = Schema extends OwnStateSchema ? ExtractStateType<Schema> : NoKeys;
/** What can be written to the own keys of the state. */
export type StateUpdateOf<Schema> = Schema extends OwnStateSchema
  ? Partial<ExtractUpdateType<Schema>>
  : NoKeys;
/** The own keys of the context as a caller passes them. */
export type ContextOf<Schema> = Schema extends OwnContextSchema ? InferInteropZodInput<Schema> : NoKeys;
/** No own keys. */
// biome-ignore lint/complexity/noBannedTypes: An intersection with this type changes nothing, unlike a record.
export type NoKeys = {};
