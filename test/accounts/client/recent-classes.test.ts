import { expect, it } from "vitest";
import { RecentClasses } from "../../../src/accounts/client/recent-classes.ts";

it("a class of requests is recent for the given time after its latest request", () => {
	let time = 5_000;
	const recent = new RecentClasses({ now: () => time });
	expect([recent.record("a", 4_000), recent.record("b", 4_000)]).toEqual([false, false]);
	time = 8_999;
	expect(recent.record("a", 4_000)).toBe(true);
	time = 9_000;
	expect(recent.record("b", 4_000)).toBe(false);
	time = 12_998;
	expect(recent.record("a", 4_000)).toBe(true);
	// A clock that was set back.
	time = 1;
	expect(recent.record("a", 4_000)).toBe(false);
});
