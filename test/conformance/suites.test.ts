/** Each suite of the kit is described where a reader looks for it. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { COLUMNS } from "../../conformance/report/results.js";
import { SUITES } from "../../conformance/suites.js";

const names = SUITES.map(({ name }) => name);

it("The table has a column for each suite, in the order of the suites.", () => {
  expect(Object.keys(COLUMNS)).toEqual(names);
});

it("The kit's page says when a case of each suite passes, in the same order.", () => {
  const page = readFileSync(new URL("../../conformance/README.md", import.meta.url), "utf8");
  const [, table = ""] = page.split(/^\| suite \| .*$/m);
  const [rows = ""] = table.split("\n\n");
  expect([...rows.matchAll(/^\| `(\w+)` \| /gm)].map(([, name]) => name)).toEqual(names);
});
