import { schemaMetaRegistry } from "@langchain/langgraph/zod";

type StateSchema = Parameters<typeof schemaMetaRegistry.getExtendedChannelSchemas>[0];

/**
 * LangGraph checks the input of a run, and what each node writes, with a partial copy of the state's schema. It makes the
 * copy afresh each time, and zod compiles it afresh. This lets it make the copy once.
 *
 * LangGraph keeps one extended schema for each schema of a state, and does nothing with it but copy it in this way.
 */
export function keepPartialSchema<Schema extends StateSchema>(schema: Schema): Schema {
  const extended: object = schemaMetaRegistry.getExtendedChannelSchemas(schema, { withReducerSchema: true });
  const internals: unknown = Reflect.get(extended, "_zod");
  if (typeof internals !== "object" || internals === null || known.has(extended)) return schema;
  const make: unknown = Reflect.get(internals, "constr");
  if (typeof make !== "function") return schema;
  known.add(extended);
  let copy: object | undefined;
  // Zod copies an object schema with `new schema._zod.constr(definition)`.
  Reflect.set(internals, "constr", function partialCopy(definition: unknown): object {
    copy ??= Reflect.construct(make, [definition]) as object;
    return copy;
  });
  return schema;
}

const known = new WeakSet<object>();
