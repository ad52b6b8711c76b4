/** Each entry imports this file first, so that an old Node gets a sentence instead of its first missing feature. */

/** @throws Error for a Node without what this library uses. Runtimes without a version of Node pass. */
export function assertNode(version: string | undefined): void {
  if (version !== undefined && Number.parseInt(version, 10) < 20)
    throw new Error(
      `langgraph-tether needs Node.js 20.19 or a later version, but this is Node.js ${version}.`,
    );
}

assertNode(globalThis.process?.versions?.node);
