/**
 * What a user may do, as handlers of LangGraph's `Auth`. Everything belongs to the user who made it: the metadata
 * `owner` of threads, assistants and crons, and the first label of a store namespace.
 *
 * The server compares a handler's filter with the metadata of what is requested. A handler changes the value to set the
 * owner. What no handler allows is refused.
 */

import type { Auth } from "@langchain/langgraph-sdk/auth";
import { forbidden, HEALTH_CHECK, STUDIO_USER } from "./authenticate.js";
import { userLabel } from "./owned-store.js";

const OWNER = "owner";
/** The server marks the assistants that it makes for its graphs. */
const MADE_BY = "created_by";
const SYSTEM = "system";
/** The server derives its own assistants' ids from the graphs' names (UUID version 5). */
const DERIVED_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-5/i;

const THREAD_CHANGES = ["threads:create", "threads:create_run", "threads:update"] as const;

interface User {
  readonly identity: string;
}

interface WithMetadata {
  metadata?: Record<string, unknown> | null | undefined;
}

/** Adds the handlers to an `Auth`. */
export function addRights(auth: Auth, acceptsStudio: boolean): void {
  const admit = ({ identity }: User): string => {
    if (identity === HEALTH_CHECK) throw forbidden("A health check may do nothing else.");
    if (identity === STUDIO_USER && !acceptsStudio)
      throw forbidden("LangGraph Studio needs an API key or a token. Send it as a header.");
    return identity;
  };
  const own = ({ user }: { user: User }) => ({ [OWNER]: admit(user) });
  const give = ({ value, user }: { value: WithMetadata; user: User }) => {
    const { [MADE_BY]: _, ...metadata } = value.metadata ?? {};
    value.metadata = { ...metadata, [OWNER]: admit(user) };
    return own({ user });
  };

  auth.on("*", () => false);
  auth.on(["threads", "assistants", "crons"], own);
  auth.on([...THREAD_CHANGES, "assistants:create", "assistants:update"], give);
  auth.on("assistants:read", ({ value, user }) => {
    const filter = own({ user });
    return DERIVED_ID.test(value.assistant_id) ? { [MADE_BY]: SYSTEM } : filter;
  });
  auth.on("assistants:search", ({ value, user }) => {
    const filter = own({ user });
    return value.metadata?.[MADE_BY] === SYSTEM ? { [MADE_BY]: SYSTEM } : filter;
  });
  auth.on("crons:create", ({ value, user }) => {
    value.user_id = admit(user);
    return give({ value: value as WithMetadata, user });
  });
  auth.on("store", ({ value, user }) => {
    const label = userLabel(admit(user));
    const first = value.namespace?.[0];
    if (first === label) return true;
    throw forbidden(`Your namespaces in the store begin with \`${label}\`.`);
  });
}
