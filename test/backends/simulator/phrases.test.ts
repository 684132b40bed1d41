import { describe, expect, it } from "vitest";
import {
	after,
	dates,
	emails,
	enumeration,
	identifiers,
	names,
	numbers,
	phones,
	quoted,
	times,
	urls,
} from "../../../src/backends/simulator/phrases.ts";
import { NOW } from "./fixture.ts";

const values = (found: { value: string }[]) => found.map(({ value }) => value);
const PLACES = "in|for|at|of|near|to";

it.each<[string, string[]]>([
	["the weather in Paris, France and in London", ["Paris, France", "London"]],
	["weather in San Francisco, CA and New York, NY today", ["San Francisco, CA", "New York, NY"]],
	["Paris weather, or in paris today", ["paris"]],
	["like in Paris, London and Rome", ["Paris", "London", "Rome"]],
	["In Rio de Janeiro?", ["Rio de Janeiro"]],
	["lives in Paris. Extract it", ["Paris"]],
	["forecast for tomorrow at 5", []],
	["", []],
])("places: %s", (text, places) => expect(values(after(text, PLACES))).toEqual(places));

it("names are runs of capitals that no sentence begins with", () => {
	expect(
		values(names("Ask Alice Smith. Bob's dog Rex lives in New York. Please Wait! I saw Dr. Who on Monday")),
	).toEqual(["Alice Smith", "Bob", "Rex", "New York", "Wait", "Dr. Who"]);
	expect(values(names("What is it? It is"))).toEqual([]);
});

it("numbers are digits and words, but not dates, times and addresses", () => {
	expect(
		numbers("two cats, 3.5 dogs, -4 of 1,234 at 10:30 on 2024-05-01, forty-two, a1 http://x.y/7").map(
			({ number }) => number,
		),
	).toEqual([2, 3.5, -4, 1234, 42]);
});

describe("dates", () => {
	it.each([
		["on March 3, 2027", "March 3, 2027", "2027-03-03"],
		["the 3rd of May", "3rd of May", "2026-05-03"],
		["on 2026-12-24T10:00:00Z", "2026-12-24T10:00:00Z", "2026-12-24"],
		["today", "today", "2026-01-02"],
		["tomorrow", "tomorrow", "2026-01-03"],
		["the day after tomorrow", "day after tomorrow", "2026-01-04"],
		["on Friday", "Friday", "2026-01-09"],
		["next Monday", "next Monday", "2026-01-05"],
		["last Thursday", "last Thursday", "2026-01-01"],
	])("%s", (text, value, iso) => expect(dates(text, NOW)).toMatchObject([{ value, iso }]));

	it("that do not exist are none", () => expect(dates("February 30, 2026", NOW)).toEqual([]));
});

it("times of the day", () => {
	expect(times("at 5pm, 17:30, 9:05 a.m. or noon").map(({ clock }) => clock)).toEqual([
		"17:00:00",
		"17:30:00",
		"09:05:00",
		"12:00:00",
	]);
});

it("quotations, addresses, numbers to call and marks", () => {
	expect(values(quoted(`Say "hello there" and 'bye now', don't “stop”, it's`))).toEqual([
		"hello there",
		"bye now",
		"stop",
	]);
	expect(values(emails("mail a.b@c.com, or <d@e.org>."))).toEqual(["a.b@c.com", "d@e.org"]);
	expect(values(urls("see https://a.b/c?d=e. Or (http://x.y)"))).toEqual(["https://a.b/c?d=e", "http://x.y"]);
	expect(values(phones("call +1 (555) 123-4567 or 42"))).toEqual(["+1 (555) 123-4567"]);
	expect(values(identifiers("order ORD-1234 and #42 for user_17, not 2024"))).toEqual([
		"ORD-1234",
		"42",
		"user_17",
	]);
	expect(enumeration("an egg, some milk, and flour.")).toEqual(["egg", "milk", "flour"]);
});
