/** The hours in which lines start. */
import { expect, it } from "vitest";
import { untilHours } from "../../../src/jobs/batches/hours.ts";

const HOUR_MS = 3_600_000;
const at = (time: string): number => Date.parse(`2026-11-27T${time}Z`);
const night = { hours: { from: 22 * 60, to: 6 * 60 } };
const day = { hours: { from: 9 * 60, to: 17 * 60 } };

it("lines start at any time without a window", () => {
	expect(untilHours({}, at("03:00:00"))).toBe(0);
});

it("a window may go over midnight", () => {
	for (const open of ["22:00:00", "23:59:59", "00:00:00", "05:59:59"])
		expect([open, untilHours(night, at(open))]).toEqual([open, 0]);
	expect(untilHours(night, at("06:00:00"))).toBe(16 * HOUR_MS);
	expect(untilHours(night, at("21:30:00"))).toBe(HOUR_MS / 2);
});

it("a window within a day opens on the next day after its end", () => {
	expect(untilHours(day, at("09:00:00"))).toBe(0);
	expect(untilHours(day, at("08:00:00"))).toBe(HOUR_MS);
	expect(untilHours(day, at("17:00:00"))).toBe(16 * HOUR_MS);
});
