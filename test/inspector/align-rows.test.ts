import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { alignRows } from "../../src/inspector/view/rows.js";

const sent = (...inputIndexes: number[]) => ({ inputIndexes, reasons: [] });
const moved = (...inputIndexes: number[]) => ({ inputIndexes, reasons: [{ code: "moved" }] });
const lines = (...given: Parameters<typeof alignRows>) =>
  alignRows(...given).map(
    ({ stored, sent: places, sentElsewhere, storedElsewhere }) =>
      `${stored ?? "-"} | ${places.join(" ") || "-"}${sentElsewhere.length > 0 ? ` to ${sentElsewhere}` : ""}${storedElsewhere.length > 0 ? ` from ${storedElsewhere}` : ""}`,
  );

describe("alignRows", () => {
  it("puts what is stored and sent on one row, and everything else on its own", () => {
    expect(lines([sent(1), sent(), sent(2), sent(4)], 5)).toEqual([
      "- | 0",
      "0 | 1",
      "1 | -",
      "2 | 2",
      "- | 3",
      "3 | 4",
    ]);
  });

  it("gives a moved message two rows, and leaves the others in order", () => {
    expect(lines([sent(0), sent(2), moved(1)], 3)).toEqual(["0 | 0", "- | 1 from 2", "1 | 2", "2 | - to 1"]);
  });

  it("takes as few messages as possible out of order, if none is said to be moved", () => {
    expect(lines([sent(3), sent(0), sent(1), sent(2)], 4)).toEqual([
      "0 | - to 3",
      "1 | 0",
      "2 | 1",
      "3 | 2",
      "- | 3 from 0",
    ]);
  });

  it("joins messages that are sent as one, and parts of one message", () => {
    expect(lines([sent(0), sent(0), sent(1, 2)], 3)).toEqual(["0 | 0 from 1", "1 | - to 0", "2 | 1 2"]);
  });

  it("shows each stored and each sent message once, each column in its order", () => {
    const cases = fc.integer({ min: 0, max: 8 }).chain((length) => {
      const place = fc.nat({ max: Math.max(0, length - 1) });
      const inputIndexes = length === 0 ? fc.constant([]) : fc.uniqueArray(place, { maxLength: 3 });
      const reasons = fc.constantFrom([], [{ code: "moved" }]);
      return fc.tuple(fc.array(fc.record({ inputIndexes, reasons }), { maxLength: 8 }), fc.constant(length));
    });
    fc.assert(
      fc.property(cases, ([stored, length]) => {
        const rows = alignRows(stored, length);
        expect(rows.flatMap((row) => row.stored ?? [])).toEqual(stored.map((_, index) => index));
        expect(rows.flatMap((row) => row.sent)).toEqual(Array.from({ length }, (_, index) => index));
        for (const { stored: index, sent: here, sentElsewhere } of rows)
          if (index !== undefined)
            expect([...here, ...sentElsewhere].toSorted()).toEqual(stored[index]?.inputIndexes.toSorted());
      }),
    );
  });
});
