import { expect, it } from "vitest";
import { serve } from "../e2e/served.js";
import { libraryHost } from "./library-host.js";
import { runSoak } from "./run-soak.js";
import { servedHost } from "./served-host.js";

const served = serve();
const turns = process.env["SLOW_TESTS"] === "1" ? 300 : 45;

// How the heap develops is only to be seen over more turns: `npm run soak`.
it.concurrent("Turns in which everything goes wrong leave a library's threads whole", async () => {
  const { faults, failed } = await runSoak({ host: libraryHost(), turns, threadsAtOnce: 3 });
  expect(faults).toEqual([]);
  expect(failed).toBeGreaterThan(turns / 10);
});

it.concurrent("Turns in which everything goes wrong leave a server's threads whole", async () => {
  const { faults, failed } = await runSoak({ host: servedHost(served.client), turns, threadsAtOnce: 5 });
  expect(faults).toEqual([]);
  expect(failed).toBeGreaterThan(turns / 10);
});
