/** When a case of the kit's suite `kills` passes. */

import { expect, it } from "vitest";
import { judge } from "../../conformance/suites/kills.js";
import type { Entry, Moment } from "../crash/job.js";

const killAt: Moment = { operation: "model", count: 1 };
const jobs = [
  { boot: 1, killAt },
  { boot: 2, killAt: undefined },
];
const boot = (number: number): Entry => ({ boot: number, kind: "boot", text: "hello" });
const kill: Entry = { boot: 1, kind: "kill" };
const resultOf = (number: number): Entry => ({ boot: number, kind: "result", messages: [], faults: [] });
const whole = [boot(1), kill, boot(2), resultOf(2)];

it("A process is killed at its moment, and the next one has its result.", () => {
  expect(judge(whole, jobs)).toEqual({ kind: "pass" });
});

it("A moment that never comes is no case.", () => {
  expect(judge([boot(1), resultOf(1), boot(2), resultOf(2)], jobs)).toEqual({ kind: "dash" });
});

it.each<readonly [title: string, ledger: readonly Entry[], reason: string]>([
  ["a process ends before its moment", [boot(1), boot(2), resultOf(2)], "process 1 ended with `boot`"],
  ["the next process crashes", [boot(1), kill, boot(2)], "process 2 ended with `boot`"],
  ["the next process writes nothing", [boot(1), kill], "process 2 ended with `nothing`"],
  [
    "the next process refuses",
    [boot(1), kill, boot(2), { boot: 2, kind: "error", name: "InvalidMessageError", message: "Nothing." }],
    "process 2 ended with `error`",
  ],
])("It is a fault if %s.", (_title, ledger, reason) => {
  expect(judge(ledger, jobs)).toMatchObject({ kind: "fault", reason: expect.stringContaining(reason) });
});
