import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import { SharedCount } from "../../src/core/shared-count.ts";

const count = (max: number): SharedCount => new SharedCount({ name: "sockets", title: "websockets", max });

/** How many one account takes until it is refused. */
function takeAll(counted: SharedCount, account: string): number {
	let taken = 0;
	while (counted.tryTake(account)) taken++;
	return taken;
}

describe("a shared count", () => {
	it("gives one account a half, and another one a half of the others", () => {
		const counted = count(12);
		expect(takeAll(counted, "busy")).toBe(6);
		expect(takeAll(counted, "other")).toBe(3);
		expect(counted.tryTake("calm")).toBe(true);
		expect(counted.report()).toEqual({ name: "sockets", used: 10, limit: 12, refused: 2 });
	});

	it("counts one refusal for a caller that tries several times", () => {
		const counted = count(2);
		counted.take("busy");
		for (let time = 0; time < 5; time++) expect(counted.takeIfFree("busy")).toBe(false);
		expect(counted.report().refused).toBe(0);
		counted.refuse();
		expect(counted.report()).toMatchObject({ used: 1, refused: 1 });
		counted.release("busy");
		expect(counted.takeIfFree("busy")).toBe(true);
	});

	it("is free again after a release", () => {
		const counted = count(2);
		counted.take("busy");
		expect(counted.tryTake("busy")).toBe(false);
		counted.release("busy");
		expect(counted.tryTake("busy")).toBe(true);
		counted.release("busy");
		expect(counted.report().used).toBe(0);
	});

	it("says what is full, and when to try again", () => {
		const counted = count(2);
		counted.take("busy");
		const refused = (): void => counted.take("busy");
		expect(refused).toThrow(AiError);
		expect(refused).toThrow(
			"3040: Capacity temporarily exceeded, please try again: the gateway's websockets are in use",
		);
	});

	it("accepts everything without a limit, and amounts up to a limit that is set later", () => {
		const counted = count(Number.POSITIVE_INFINITY);
		counted.take("acme", 1e9);
		counted.release("acme", 1e9);
		counted.limitTo(1_000);
		expect(counted.tryTake("acme", 1_001)).toBe(false);
		expect(counted.tryTake("acme", 500)).toBe(true);
	});
});
