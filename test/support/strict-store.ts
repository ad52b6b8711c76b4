import { InMemoryStore, type Item, type Operation, type OperationResults } from "@langchain/langgraph";

/**
 * A store with the limits of `PostgresStore`, without a database: it finds namespaces by the beginning of their text, and
 * refuses labels and texts that PostgreSQL does not take. One refused operation fails its whole batch.
 */
export class StrictStore extends InMemoryStore {
  readonly #items = new Map<string, Item>();

  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    for (const operation of operations) assertTaken(operation);
    return operations.map((operation) => this.#run(operation)) as OperationResults<Op>;
  }

  #run(operation: Operation): unknown {
    if ("namespacePrefix" in operation) {
      const { namespacePrefix, limit = 10, offset = 0 } = operation;
      return this.#from(namespacePrefix).slice(offset, offset + limit);
    }
    if (!("namespace" in operation)) {
      const { matchConditions = [], limit = 100, offset = 0 } = operation;
      const start = matchConditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
      const paths = this.#from(start.map(String)).map(({ namespace }) => namespace.join(":"));
      return [...new Set(paths)].slice(offset, offset + limit).map((path) => path.split(":"));
    }
    const { namespace, key } = operation;
    const place = JSON.stringify([namespace.join(":"), key]);
    const former = this.#items.get(place);
    if (!("value" in operation)) return former ?? null;
    this.#items.delete(place);
    const { value } = operation;
    if (value === null) return null;
    const now = new Date();
    const createdAt = former?.createdAt ?? now;
    this.#items.set(place, { namespace, key, value: structuredClone(value), createdAt, updatedAt: now });
    return null;
  }

  #from(prefix: readonly string[]): Item[] {
    const items = [...this.#items.values()];
    return items.filter(({ namespace }) => namespace.join(":").startsWith(prefix.join(":"))).toReversed();
  }
}

function assertTaken(operation: Operation): void {
  const labels =
    "namespacePrefix" in operation
      ? operation.namespacePrefix
      : "namespace" in operation
        ? operation.namespace
        : [];
  if (labels.some((label) => label === "" || /[.:%_\\\0\p{Surrogate}]/u.test(label)))
    throw new Error(`Invalid namespace label in ${JSON.stringify(labels)}.`);
  const texts =
    "namespace" in operation ? textsIn([operation.key, "value" in operation && operation.value]) : [];
  if (texts.some((text) => /[\0\p{Surrogate}]/u.test(text)))
    throw new Error("unsupported Unicode escape sequence");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => [key, ...textsIn(field)]);
}
