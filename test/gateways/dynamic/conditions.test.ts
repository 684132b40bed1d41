import { describe, expect, it } from "vitest";
import { testerOf, valueAt } from "../../../src/gateways/dynamic/conditions.ts";

const FACTS = {
	metadata: { plan: "pro", seats: 12, beta: true },
	body: { model: "dynamic/support", messages: [{ role: "user", content: "hi" }], max_tokens: 100 },
	headers: { "x-country": "DE" },
};

describe("conditions", () => {
	it.each<[object, boolean]>([
		[{}, true],
		[{ "metadata.plan": "pro" }, true],
		[{ "metadata.plan": { $eq: "free" } }, false],
		[{ "metadata.plan": { $ne: "free" } }, true],
		[{ "metadata.plan": { $in: ["pro", "team"] } }, true],
		[{ "metadata.plan": { $nin: ["pro", "team"] } }, false],
		[{ "metadata.seats": { $gt: 12 } }, false],
		[{ "metadata.seats": { $gte: 12, $lt: 13 } }, true],
		[{ "metadata.missing": { $exists: false } }, true],
		[{ "metadata.missing": "pro" }, false],
		[{ $and: [{ "metadata.plan": "pro" }, { "headers.x-country": "DE" }] }, true],
		[{ $or: [{ "metadata.plan": "free" }, { "metadata.beta": true }] }, true],
		[{ $nor: [{ "metadata.plan": "pro" }] }, false],
		[{ "metadata.plan": { $not: { $eq: "free" } } }, true],
		[{ "body.max_tokens": { $lte: 100 } }, true],
		[{ "metadata.plan": "free", "metadata.beta": true }, false],
	])("%j: %s", (conditions, matches) => {
		const tester = testerOf({ ...conditions });
		expect(tester.problem).toBeUndefined();
		expect(tester.test(FACTS)).toBe(matches);
	});

	it.each([
		[{ "metadata.plan": { $regex: "(a+)+$" } }, "unknown operator $regex"],
		[{ $where: "process.exit()" }, "unknown operator $where"],
		[{ $and: [{ "metadata.plan": { $type: "string" } }] }, "unknown operator $type"],
		[{ $or: { "metadata.plan": "pro" } }, "expected a list as the value of $or"],
		[{ "metadata.plan": { $in: "pro" } }, "expected a list as the value of $in"],
		[{ $and: [] }, "$and/$or/$nor must be a nonempty array"],
		[{ "metadata.plan": { $or: [{}] } }, "Malformed query. $or cannot be matched against property."],
		[{ "metadata.plan": { $in: [{ $eq: "pro" }] } }, "cannot nest $ under $in"],
	])("refuses %j", (conditions, problem) => {
		expect(testerOf(conditions).problem).toBe(problem);
		expect(testerOf(conditions).test(FACTS)).toBe(false);
	});
});

it("a value that cannot be compared does not match", () => {
	const tester = testerOf({ "body.n": { $gt: 1 } });
	const body = (n: unknown) => ({ ...FACTS, body: { n } });
	expect([body(2), body({ toString: 1, valueOf: 2 })].map((facts) => tester.test(facts))).toEqual([
		true,
		false,
	]);
});

describe("the value at a path", () => {
	it.each([
		["metadata.plan", "pro"],
		["metadata.seats", "12"],
		["metadata.beta", "true"],
		["headers.x-country", "DE"],
		["body.max_tokens", "100"],
		["metadata.missing", undefined],
		["metadata", undefined],
		["metadata.plan.length", undefined],
		["metadata.__proto__", undefined],
		["", undefined],
	])("%s: %s", (path, value) => expect(valueAt(path, FACTS)).toBe(value));
});
