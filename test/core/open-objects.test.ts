import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OpenObjects } from "../../src/core/open-objects.ts";

describe("OpenObjects", () => {
	it("refuses a further object while the maximum is open", () => {
		let time = 1_000_000;
		const openObjects = new OpenObjects({ max: 2, now: () => time });
		const mayCall = (account: string) => openObjects.mayCall(`ACCOUNT/${account}`, account);
		expect(mayCall("a")).toBe(true);
		time += 6_000;
		expect(mayCall("b")).toBe(true);
		expect(mayCall("c")).toBe(false);
		expect(mayCall("a")).toBe(true);
		// Twelve seconds after its latest call the runtime has closed an object.
		time += 11_999;
		expect(mayCall("c")).toBe(false);
		time += 1;
		expect(mayCall("c")).toBe(true);
		expect(mayCall("d")).toBe(true);
		expect(mayCall("a")).toBe(false);
	});

	it("counts a call that is made beyond the maximum", () => {
		const openObjects = new OpenObjects({ max: 1, now: () => 0 });
		openObjects.recordCall("ACCOUNT/a", "a");
		openObjects.recordCall("ACCOUNT/b", "b");
		expect(openObjects.mayCall("ACCOUNT/b", "b")).toBe(true);
		expect(openObjects.mayCall("ACCOUNT/c", "c")).toBe(false);
	});

	it("throws 429 with the time to wait", () => {
		const openObjects = new OpenObjects({ max: 1, now: () => 0 });
		openObjects.requireCall("GATEWAY/a/main", "a");
		expect(() => openObjects.requireCall("GATEWAY/b/main", "b")).toThrow(
			expect.objectContaining({ key: "outOfCapacity", status: 429, retryAfter: 5 }),
		);
	});

	it("gives one account a half, and then eight busy accounts the same", () => {
		const openObjects = new OpenObjects({ max: 90, now: () => 0 });
		const opened = (account: string, count: number): number =>
			Array.from({ length: count }, (_, i) => i).filter((i) =>
				openObjects.mayCall(`GATEWAY/${account}/${i}`, account),
			).length;
		expect(opened("a", 100)).toBe(45);
		expect(opened("b", 100)).toBe(23);
		// A ninth account still finds room.
		for (const account of ["c", "d", "e", "f"]) expect(opened(account, 100)).toBeGreaterThan(0);
		expect(opened("newcomer", 1)).toBe(1);
	});

	it("reports about many accounts only while half of the objects are free", () => {
		const openObjects = new OpenObjects({ max: 4, now: () => 0 });
		openObjects.recordCall("ACCOUNT/a", "a");
		expect(openObjects.mayReport("ACCOUNT/b")).toBe(true);
		openObjects.recordCall("ACCOUNT/b", "b");
		expect(openObjects.mayReport("ACCOUNT/c")).toBe(false);
		expect(openObjects.mayReport("ACCOUNT/a")).toBe(true);
	});

	it("never admits more than the maximum, and refuses no account without an object while one is free", () => {
		const call = fc.record({
			account: fc.constantFrom("a", "b", "c"),
			object: fc.nat({ max: 9 }),
			wait: fc.constantFrom(0, 0, 0, 1_000, 12_000),
		});
		fc.assert(
			fc.property(fc.array(call, { maxLength: 200 }), fc.integer({ min: 1, max: 12 }), (calls, max) => {
				let time = 1_000_000;
				const openObjects = new OpenObjects({ max, now: () => time });
				/** The last call of each object. */
				const model = new Map<string, number>();
				for (const { account, object, wait } of calls) {
					time += wait;
					const name = `${account}/${object}`;
					for (const [other, at] of model) if (at <= time - 12_000) model.delete(other);
					const own = [...model.keys()].filter((other) => other.startsWith(account)).length;
					const free = max - model.size;
					const admitted = openObjects.mayCall(name, account);
					if (model.has(name) || (own === 0 && free > 0)) expect(admitted).toBe(true);
					if (!admitted) continue;
					model.delete(name);
					model.set(name, time);
					expect(model.size).toBeLessThanOrEqual(max);
				}
			}),
		);
	});
});
