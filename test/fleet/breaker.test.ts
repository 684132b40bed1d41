import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Breaker } from "../../src/fleet/breaker.ts";

/** Opened at 1000 by calls that started then. */
function opened(): Breaker {
	const breaker = new Breaker();
	for (let i = 0; i < 5; i++) breaker.fail(1000, 1000);
	return breaker;
}
const RESTED = 6_000;

describe("Breaker", () => {
	it("opens after so many failures in a row, and not after fewer or with an answer between them", () => {
		const breaker = new Breaker();
		for (let i = 1; i < 5; i++) breaker.fail(i, i);
		expect(breaker.state(10)).toBe("closed");
		breaker.succeed(11, 10);
		for (let i = 1; i < 5; i++) breaker.fail(20 + i, 20 + i);
		expect(breaker.state(30)).toBe("closed");
		breaker.fail(31, 30);
		expect(breaker.state(31)).toBe("open");
	});

	it("lets one call at a time try when the rest is over, and another when that one does not begin", () => {
		const breaker = opened();
		expect(breaker.state(RESTED - 1)).toBe("open");
		expect(breaker.state(RESTED)).toBe("half-open");
		breaker.start(RESTED);
		expect(breaker.state(RESTED)).toBe("open");
		expect(breaker.state(RESTED + 10_000 - 1)).toBe("open");
		expect(breaker.state(RESTED + 10_000)).toBe("half-open");
	});

	it("closes when a probe begins to answer, on trial until it was whole", () => {
		const breaker = opened();
		breaker.start(RESTED);
		breaker.begin(RESTED + 10, RESTED);
		expect(breaker.state(RESTED + 10)).toBe("closed");
		breaker.fail(RESTED + 20, RESTED);
		expect(breaker.state(RESTED + 20)).toBe("open");
		expect(breaker.state(RESTED + 20 + 5_000)).toBe("open");
		expect(breaker.state(RESTED + 20 + 10_000)).toBe("half-open");
	});

	it("begins anew after a whole answer", () => {
		const breaker = opened();
		breaker.start(RESTED);
		breaker.begin(RESTED + 10, RESTED);
		breaker.succeed(RESTED + 20, RESTED);
		for (let i = 1; i < 5; i++) breaker.fail(RESTED + 30, RESTED + 30);
		expect(breaker.state(RESTED + 30)).toBe("closed");
		breaker.fail(RESTED + 31, RESTED + 31);
		expect(breaker.state(RESTED + 31 + 5_000)).toBe("half-open");
	});

	it("frees the probe of a caller who left", () => {
		const breaker = opened();
		breaker.start(RESTED);
		breaker.cancel(RESTED);
		expect(breaker.state(RESTED)).toBe("half-open");
	});

	it("learns nothing from calls that started before it changed", () => {
		const breaker = opened();
		breaker.begin(1500, 900);
		breaker.succeed(1600, 900);
		expect(breaker.state(1600)).toBe("open");
		breaker.start(RESTED);
		breaker.begin(RESTED + 1, RESTED);
		// Asked before the circuit opened, gives up only now.
		breaker.fail(RESTED + 2, 999);
		expect(breaker.state(RESTED + 2)).toBe("closed");
	});

	it("closes for whoever was asked in spite of its rest and answers; another failure makes the rest no longer", () => {
		const breaker = opened();
		breaker.fail(2000, 1900);
		expect(breaker.circuit.cooldownUntil).toBe(RESTED);
		breaker.succeed(2100, 2000);
		expect(breaker.state(2100)).toBe("closed");
	});

	it("rests at once for as long as it asked for, but no longer than the longest rest", () => {
		for (const [asked, rests] of [
			[2_000, 2_000],
			[3_600_000, 20_000],
		] as const) {
			const breaker = new Breaker();
			breaker.fail(1000, 1000, asked);
			expect(breaker.state(1000 + rests - 1)).toBe("open");
			expect(breaker.state(1000 + rests)).toBe("half-open");
		}
	});

	it("never keeps an engine waiting for longer than 30 seconds after it is back", () => {
		fc.assert(
			fc.property(fc.array(fc.nat(60_000), { maxLength: 40 }), (pauses) => {
				const breaker = new Breaker();
				let now = 1;
				for (const pause of pauses) {
					now += pause;
					const standing = breaker.state(now);
					breaker.start(now);
					// Some hang for ever, some fail at once.
					if (pause % 2 === 0 && standing !== "open") breaker.fail(now, now);
				}
				expect(breaker.state(now + 30_000)).not.toBe("open");
			}),
		);
	});

	it("learns of another's circuit what is newer than its own", () => {
		const other = opened().circuit;
		const breaker = new Breaker();
		breaker.learn(other);
		expect(breaker.state(2000)).toBe("open");
		expect(breaker.state(RESTED)).toBe("half-open");

		const worked = new Breaker();
		worked.succeed(1500, 1400);
		worked.learn(other);
		expect(worked.state(2000)).toBe("closed");

		// Calls from before the circuit opened elsewhere change nothing here.
		breaker.begin(1_100, 999);
		breaker.succeed(1_100, 999);
		expect(breaker.state(2000)).toBe("open");

		breaker.learn({ openedAt: 900, cooldownUntil: 900 + 5_000, workedAt: 1700 });
		expect(breaker.state(2000)).toBe("closed");
	});
});
