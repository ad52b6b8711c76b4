import { expect, it } from "vitest";
import { createCurrentTimeTool } from "../../../server/tools/create-tools.js";

const currentTime = createCurrentTimeTool({ now: () => new Date("2026-03-01T22:30:00Z") });

it.each([
  [undefined, "Sunday", "1 March 2026", "22:30:00", "(UTC)"],
  ["Asia/Tokyo", "Monday", "2 March 2026", "07:30:00", "(Asia/Tokyo)"],
  ["America/New_York", "Sunday", "1 March 2026", "17:30:00", "(America/New_York)"],
])("tells the time in %s", async (timezone, ...parts) => {
  const text = await currentTime.invoke({ timezone });
  for (const part of parts) expect(text).toContain(part);
});

it("names an unknown time zone in its error", async () => {
  await expect(currentTime.invoke({ timezone: "Gotham" })).rejects.toThrow(
    'Unknown time zone "Gotham". Expected an IANA name such as "Europe/Paris" or "UTC".',
  );
});

it("reads the clock in each call", async () => {
  const moments = [new Date("2026-01-01T00:00:00Z"), new Date("2026-01-01T00:00:01Z")];
  const ticking = createCurrentTimeTool({ now: () => moments.shift() ?? new Date(0) });
  expect(await ticking.invoke({})).not.toBe(await ticking.invoke({}));
});
