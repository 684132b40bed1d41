import { describe, expect, it } from "vitest";
import { retryAfterSeconds } from "../../src/outbound/retry-after.ts";

const NOW = Date.parse("2026-11-27T12:00:00Z");
const secondsOf = (headers: Record<string, string>) => retryAfterSeconds(new Headers(headers), NOW);

describe("Retry-After", () => {
	it.each([
		["seconds", "7", 7],
		["seconds with a fraction, as some services send", "1.5", 1.5],
		["IMF-fixdate", "Fri, 27 Nov 2026 12:00:30 GMT", 30],
		["the date of RFC 850", "Friday, 27-Nov-26 12:01:00 GMT", 60],
		["the date of asctime()", "Fri Nov 27 12:02:00 2026", 120],
		["the same with a day of one digit", "Tue Dec  1 12:00:00 2026", 4 * 86_400],
		["a year of two digits that has passed", "Monday, 27-Nov-95 12:01:00 GMT", 0],
		["another case, and no day of the week", "27 nov 2026 12:00:10 gmt", 10],
		["a date that has passed", "Sun, 06 Nov 1994 08:49:37 GMT", 0],
		["no number", "-5", undefined],
		["a word", "soon", undefined],
		["a date of another standard", "2026-11-27T12:00:30Z", undefined],
		["a month that does not exist", "Fri, 27 Nov. 2026 12:00:30 GMT", undefined],
		["a day that does not exist", "Tue, 31 Nov 2026 12:00:30 GMT", undefined],
		["an hour that does not exist", "Fri, 27 Nov 2026 24:00:30 GMT", undefined],
		["nothing", "", undefined],
	])("has %s: %s", (_, header, seconds) => {
		expect(secondsOf({ "retry-after": header })).toBe(seconds);
	});

	it("comes after retry-after-ms, if that is a number", () => {
		expect(secondsOf({ "retry-after-ms": "250", "retry-after": "7" })).toBe(0.25);
		expect(secondsOf({ "retry-after-ms": "soon", "retry-after": "7" })).toBe(7);
		expect(secondsOf({})).toBeUndefined();
	});
});
