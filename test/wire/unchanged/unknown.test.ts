/**
 * What nobody knows is sent as the client alone sends it: blocks, fields, items and roles that are newer than the library, in each
 * place of a thread. Nothing is excepted here but the known rules of a provider that hold for every history of its clients.
 * One client: `npx vitest run test/wire/unchanged/unknown.test.ts -t "ChatGroq "`.
 */

import { describe, expect, it } from "vitest";
import { expectWarnings, leadRequests, stopAtEnd, titled } from "../../support/test-tools.js";
import { exceptionOf } from "./exceptions.js";
import { measure } from "./measure.js";
import { startRecorder } from "./start-recorder.js";
import { isPutBack, UNKNOWN_CLIENTS, unknownHistoriesOf } from "./unknown.js";

const recorder = stopAtEnd(await startRecorder());
// No request may leave this machine.
leadRequests(recorder.fetch);
// Of the clients themselves.
expectWarnings(/^Unknown message role: /, /^Unsupported role found/);

describe.each(UNKNOWN_CLIENTS.map((client) => [client.name, client] as const))("%s sends", (_, client) => {
  it.each(titled(unknownHistoriesOf(client)))("%s as it is stored.", async (title, history) => {
    const outcome = await measure(client, history, recorder);
    const differences = outcome.kind === "differs" ? outcome.differences : [];
    const unexplained = differences.filter(
      (difference) =>
        exceptionOf(client.name, title, difference) === undefined && !isPutBack(client, difference),
    );
    expect(unexplained).toEqual([]);
  });
});
