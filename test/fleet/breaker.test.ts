import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Breaker, type Circuit } from "../../src/fleet/breaker.ts";

/** A breaker that five calls opened at 1000. */
function opened(): Breaker {
	const breaker = new Breaker();
	for (let i = 0; i < 5; i++) breaker.fail(1000, 1000);
	return breaker;
}
const COOLED_DOWN = 6_000;

describe("Breaker", () => {
	it("opens after five consecutive failures, not after fewer or with an answer between them", () => {
		const breaker = new Breaker();
		for (let i = 1; i < 5; i++) breaker.fail(i, i);
		expect(breaker.state(10)).toBe("closed");
		breaker.succeed(11, 10);
		for (let i = 1; i < 5; i++) breaker.fail(20 + i, 20 + i);
		expect(breaker.state(30)).toBe("closed");
		breaker.fail(31, 30);
		expect(breaker.state(31)).toBe("open");
	});

	it("allows one probe after the cooldown, and another one if the first does not start to answer", () => {
		const breaker = opened();
		expect(breaker.state(COOLED_DOWN - 1)).toBe("open");
		expect(breaker.state(COOLED_DOWN)).toBe("half-open");
		breaker.start(COOLED_DOWN);
		expect(breaker.state(COOLED_DOWN)).toBe("open");
		expect(breaker.state(COOLED_DOWN + 10_000 - 1)).toBe("open");
		expect(breaker.state(COOLED_DOWN + 10_000)).toBe("half-open");
	});

	it("closes when a probe starts to answer, and opens at the next failure until an answer is complete", () => {
		const breaker = opened();
		breaker.start(COOLED_DOWN);
		breaker.begin(COOLED_DOWN + 10, COOLED_DOWN);
		expect(breaker.state(COOLED_DOWN + 10)).toBe("closed");
		breaker.fail(COOLED_DOWN + 20, COOLED_DOWN);
		expect(breaker.state(COOLED_DOWN + 20)).toBe("open");
		expect(breaker.state(COOLED_DOWN + 20 + 5_000)).toBe("open");
		expect(breaker.state(COOLED_DOWN + 20 + 10_000)).toBe("half-open");
	});

	it("resets its cooldown after a complete answer", () => {
		const breaker = opened();
		breaker.start(COOLED_DOWN);
		breaker.begin(COOLED_DOWN + 10, COOLED_DOWN);
		breaker.succeed(COOLED_DOWN + 20, COOLED_DOWN);
		for (let i = 1; i < 5; i++) breaker.fail(COOLED_DOWN + 30, COOLED_DOWN + 30);
		expect(breaker.state(COOLED_DOWN + 30)).toBe("closed");
		breaker.fail(COOLED_DOWN + 31, COOLED_DOWN + 31);
		expect(breaker.state(COOLED_DOWN + 31 + 5_000)).toBe("half-open");
	});

	it("has never opened at first", () => {
		expect(new Breaker().circuit).toEqual({ openedAt: 0, cooldownUntil: 0, workedAt: 0 });
	});

	it("counts a call that started when the circuit opened", () => {
		const begun = opened();
		begun.begin(1_500, 1_000);
		expect(begun.state(1_500)).toBe("closed");
		// It was the last failure but one.
		begun.fail(1_600, 1_000);
		expect(begun.state(1_600)).toBe("open");
		const complete = opened();
		complete.succeed(1_500, 1_000);
		expect(complete.state(1_500)).toBe("closed");
	});

	it("has a longer cooldown after a probe that started at the end of the first one", () => {
		const breaker = opened();
		breaker.fail(COOLED_DOWN + 5, COOLED_DOWN - 1);
		expect(breaker.circuit.cooldownUntil).toBe(COOLED_DOWN);
		breaker.fail(COOLED_DOWN + 5, COOLED_DOWN);
		expect(breaker.circuit).toEqual({ openedAt: 6_005, cooldownUntil: 16_005, workedAt: 0 });
	});

	it.each([
		[3_000, 4_000],
		[20_000, 21_000],
		[60_000, 21_000],
	])("opens at once if the engine names a time of %i ms", (cooldownMs, cooldownUntil) => {
		const breaker = new Breaker();
		breaker.fail(1_000, 1_000, cooldownMs);
		expect(breaker.circuit).toEqual({ openedAt: 1_000, cooldownUntil, workedAt: 0 });
	});

	it("takes over a circuit only if it is newer", () => {
		const learned = (workedAt: number, circuit: Circuit) => {
			const breaker = new Breaker();
			breaker.succeed(workedAt, workedAt);
			breaker.learn(circuit);
			return breaker.state(10);
		};
		expect(learned(9, { openedAt: 10, cooldownUntil: 20, workedAt: 0 })).toBe("open");
		expect(learned(10, { openedAt: 10, cooldownUntil: 20, workedAt: 0 })).toBe("closed");
		expect(learned(9, { openedAt: 10, cooldownUntil: 20, workedAt: 10 })).toBe("closed");
		const same = opened();
		same.learn({ openedAt: 1_000, cooldownUntil: 50_000, workedAt: 1_000 });
		expect(same.circuit).toEqual({ openedAt: 1_000, cooldownUntil: 6_000, workedAt: 0 });
		same.learn({ openedAt: 0, cooldownUntil: 0, workedAt: 1_001 });
		expect(same.state(1_001)).toBe("closed");
	});

	it("has the second cooldown after a circuit that it took over", () => {
		const breaker = new Breaker();
		breaker.learn({ openedAt: 1_000, cooldownUntil: 6_000, workedAt: 0 });
		breaker.fail(6_000, 6_000);
		expect(breaker.circuit.cooldownUntil).toBe(16_000);
	});

	it("allows another probe after a cancelled one", () => {
		const breaker = opened();
		breaker.start(COOLED_DOWN);
		breaker.cancel(COOLED_DOWN);
		expect(breaker.state(COOLED_DOWN)).toBe("half-open");
	});

	it("ignores calls that started before its last change", () => {
		const breaker = opened();
		breaker.begin(1500, 900);
		breaker.succeed(1600, 900);
		expect(breaker.state(1600)).toBe("open");
		breaker.start(COOLED_DOWN);
		breaker.begin(COOLED_DOWN + 1, COOLED_DOWN);
		// The call started before the circuit opened, and fails only now.
		breaker.fail(COOLED_DOWN + 2, 999);
		expect(breaker.state(COOLED_DOWN + 2)).toBe("closed");
	});

	it("closes if a call during the cooldown succeeds; a failure during the cooldown does not extend it", () => {
		const breaker = opened();
		breaker.fail(2000, 1900);
		expect(breaker.circuit.cooldownUntil).toBe(COOLED_DOWN);
		breaker.succeed(2100, 2000);
		expect(breaker.state(2100)).toBe("closed");
	});

	it("opens at once for the engine's Retry-After, at most for the longest cooldown", () => {
		for (const [retryAfterMs, cooldownMs] of [
			[2_000, 2_000],
			[3_600_000, 20_000],
		] as const) {
			const breaker = new Breaker();
			breaker.fail(1000, 1000, retryAfterMs);
			expect(breaker.state(1000 + cooldownMs - 1)).toBe("open");
			expect(breaker.state(1000 + cooldownMs)).toBe("half-open");
		}
	});

	it("allows a call at most 30 seconds after the engine works again", () => {
		fc.assert(
			fc.property(fc.array(fc.nat(60_000), { maxLength: 40 }), (pauses) => {
				const breaker = new Breaker();
				let now = 1;
				for (const pause of pauses) {
					now += pause;
					const state = breaker.state(now);
					breaker.start(now);
					// Some calls hang, some fail at once.
					if (pause % 2 === 0 && state !== "open") breaker.fail(now, now);
				}
				expect(breaker.state(now + 30_000)).not.toBe("open");
			}),
		);
	});

	it("takes over the newer state of another isolate's circuit", () => {
		const other = opened().circuit;
		const breaker = new Breaker();
		breaker.learn(other);
		expect(breaker.state(2000)).toBe("open");
		expect(breaker.state(COOLED_DOWN)).toBe("half-open");

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
