import { describe, expect, it } from "vitest";
import { FleetView, type HealthReport, type View } from "../../src/fleet/fleet.ts";
import { IsolateHealth } from "../../src/fleet/health.ts";

const TARGET = { backend: "a", url: "http://a/v1", model: "m" };
const OTHER = { ...TARGET, backend: "b" };

/** Isolates with one fleet and one clock. */
function world(exchange?: (reports: HealthReport[]) => Promise<View>) {
	const clock = { now: 1_000_000 };
	const fleet = new FleetView();
	const reported: HealthReport[][] = [];
	const background: Promise<unknown>[] = [];
	const isolate = () =>
		new IsolateHealth({
			now: () => clock.now,
			waitUntil: (promise) => background.push(promise),
			exchange:
				exchange ??
				(async (reports) => {
					reported.push(reports);
					return structuredClone(fleet.exchange(reports, clock.now));
				}),
		});
	const settle = async () => {
		await Promise.all(background.splice(0));
	};
	return { clock, reported, isolate, settle, background };
}

const fail = (health: IsolateHealth, times: number) => {
	for (let i = 0; i < times; i++) health.start(TARGET).fail();
};

describe("IsolateHealth", () => {
	it("has a circuit for each target", () => {
		const health = world().isolate();
		fail(health, 5);
		expect(health.circuit(TARGET)).toBe("open");
		expect(health.circuit(OTHER)).toBe("closed");
		expect(health.circuit({ ...TARGET, model: "n" })).toBe("closed");
	});

	it("reports an open circuit and its recovery to other isolates", async () => {
		const { clock, isolate, settle } = world();
		const [first, second] = [isolate(), isolate()];
		const later = async (ms: number, health: IsolateHealth) => {
			clock.now += ms;
			health.start(OTHER).succeed();
			await settle();
		};
		await later(0, second);
		fail(first, 5);
		await settle();
		await later(500, first);
		await later(1000, second);
		expect(second.circuit(TARGET)).toBe("closed");
		await later(500, second);
		expect(second.circuit(TARGET)).toBe("open");
		clock.now += 3_000;
		expect(second.circuit(TARGET)).toBe("half-open");

		first.start(TARGET).begin();
		await settle();
		await later(500, first);
		await later(2000, second);
		expect(second.circuit(TARGET)).toBe("closed");
	});

	it("opens a circuit for failures of several isolates together", async () => {
		const { clock, isolate, settle } = world();
		const isolates = Array.from({ length: 5 }, isolate);
		for (const health of isolates) {
			fail(health, 1);
			await settle();
			clock.now += 100;
			health.start(OTHER).succeed();
			clock.now += 500;
			health.start(OTHER).succeed();
			await settle();
		}
		expect(isolates.at(-1)?.circuit(TARGET)).toBe("open");
	});

	it("reports the failures since the last success", async () => {
		const { clock, reported, isolate, settle } = world();
		const health = isolate();
		health.start(OTHER).succeed();
		await settle();
		fail(health, 2);
		health.start(TARGET).succeed();
		fail(health, 1);
		clock.now += 500;
		health.start(OTHER).succeed();
		await settle();
		expect(reported).toEqual([[], [expect.objectContaining({ key: "a http://a/v1 m", failures: 1 })]]);
	});

	it("reports no healthy engine, and reads the view at most every two seconds", async () => {
		const { clock, reported, isolate, settle } = world();
		const health = isolate();
		for (let i = 0; i < 100; i++) {
			health.start(TARGET).succeed();
			clock.now += 100;
			await settle();
		}
		expect(reported).toEqual([[], [], [], [], []]);
	});

	it("uses its own view if the fleet fails or never answers", async () => {
		const gone = async () => Promise.reject(new Error("gone"));
		const thrown = () => {
			throw new Error("no such object");
		};
		const silent = () => new Promise<View>(() => {});
		for (const exchange of [gone, thrown, silent]) {
			const { clock, isolate, background } = world(exchange);
			const health = isolate();
			fail(health, 5);
			await Promise.race([Promise.all(background), Promise.resolve()]);
			expect(health.circuit(TARGET)).toBe("open");
			clock.now += 5_000;
			expect(health.circuit(TARGET)).toBe("half-open");
			const before = background.length;
			clock.now += 20_000;
			health.start(TARGET).succeed();
			expect(background.length).toBeGreaterThan(before);
			expect(health.circuit(TARGET)).toBe("closed");
		}
	});

	it("has one exchange under way, which is lost after ten seconds", async () => {
		let exchanges = 0;
		const { clock, isolate } = world(() => {
			exchanges++;
			return new Promise<View>(() => {});
		});
		const health = isolate();
		for (const [ms, expected] of [
			[0, 1],
			[9_999, 1],
			[1, 2],
			[9_999, 2],
			[1, 3],
		] as const) {
			clock.now += ms;
			fail(health, 2);
			expect(exchanges).toBe(expected);
		}
	});

	it("reports again half a second after an exchange that failed", async () => {
		const reports: number[] = [];
		const { clock, isolate, settle } = world(async (sent) => {
			reports.push(sent.length);
			throw new Error("gone");
		});
		const health = isolate();
		fail(health, 1);
		await settle();
		clock.now += 499;
		fail(health, 1);
		await settle();
		expect(reports).toEqual([0]);
		clock.now += 1;
		fail(health, 1);
		await settle();
		expect(reports).toEqual([0, 1]);
	});

	it("exchanges at once if it is asked, so that the next call has no reason to", async () => {
		const { background, clock, isolate, reported, settle } = world();
		const [first, second] = [isolate(), isolate()];
		fail(first, 5);
		await settle();
		clock.now += 500;
		const exchanged = first.exchange();
		// It goes on after the request that asked.
		expect(background).toEqual([exchanged]);
		await exchanged;
		await second.exchange();
		expect(second.circuit(TARGET)).toBe("open");
		const before = reported.length;
		second.start(OTHER).succeed();
		await settle();
		expect(reported.length).toBe(before);
	});

	it("of the only process is exchanged only if it is asked", async () => {
		const reported: HealthReport[][] = [];
		const health = new IsolateHealth({
			now: () => 1_000_000,
			waitUntil: () => {},
			isOnlyProcess: true,
			exchange: async (reports) => {
				reported.push(reports);
				return {};
			},
		});
		fail(health, 5);
		expect(reported).toEqual([]);
		await health.exchange();
		expect(reported).toMatchObject([[{ key: "a http://a/v1 m", failures: 5 }]]);
	});

	it("makes one call for many that ask at the same time, and another one after a failure", async () => {
		const answers: PromiseWithResolvers<View>[] = [];
		const health = world(() => {
			const answer = Promise.withResolvers<View>();
			answers.push(answer);
			return answer.promise;
		}).isolate();
		const askAll = () => Promise.all(Array.from({ length: 50 }, () => health.exchange()));
		const failed = askAll();
		expect(answers).toHaveLength(1);
		answers[0]?.reject(new Error("unreachable"));
		expect(new Set(await failed)).toEqual(new Set([false]));
		const read = askAll();
		expect(answers).toHaveLength(2);
		answers[1]?.resolve({});
		expect(new Set(await read)).toEqual(new Set([true]));
	});

	it("calls an object that throws at once again", async () => {
		let calls = 0;
		const health = world(() => {
			calls++;
			throw new Error("unreachable");
		}).isolate();
		expect([await health.exchange(), await health.exchange(), calls]).toEqual([false, false, 2]);
	});

	it("goes on if the clock is set back, also that of the object", async () => {
		const { clock, isolate, settle } = world();
		clock.now = 36_000_000;
		const [first, second] = [isolate(), isolate()];
		fail(first, 5);
		first.start(OTHER).succeed();
		await settle();
		clock.now += 600;
		for (const health of [first, second]) health.start(OTHER).succeed();
		await settle();
		expect([first.circuit(TARGET), second.circuit(TARGET)]).toEqual(["open", "open"]);
		const inFlight = first.start(TARGET);
		clock.now -= 3_600_000;
		expect([first.circuit(TARGET), second.circuit(TARGET)]).toEqual(["closed", "closed"]);
		inFlight.fail();
		fail(first, 4);
		expect(first.circuit(TARGET)).toBe("open");
		await settle();
		clock.now += 600;
		for (const health of [first, second]) health.start(OTHER).succeed();
		await settle();
		clock.now += 2_000;
		second.start(OTHER).succeed();
		await settle();
		expect(second.circuit(TARGET)).toBe("open");
		clock.now += 5_000;
		first.start(TARGET).begin();
		expect(first.circuit(TARGET)).toBe("closed");
	});

	it("learns nothing of a view of the time before the clock was set back", async () => {
		const answer = Promise.withResolvers<View>();
		const { clock, isolate } = world(() => answer.promise);
		clock.now = 36_000_000;
		const health = isolate();
		const exchanged = health.exchange();
		const openedAt = clock.now;
		clock.now -= 3_600_000;
		answer.resolve({ "a http://a/v1 m": { openedAt, cooldownUntil: openedAt + 5_000, workedAt: 0 } });
		await exchanged;
		expect(health.circuit(TARGET)).toBe("closed");
	});

	it("prefers its own later success to an old view", async () => {
		const { clock, isolate, settle } = world();
		const [first, second] = [isolate(), isolate()];
		fail(first, 5);
		clock.now += 600;
		first.start(OTHER).succeed();
		await settle();
		clock.now += 600;
		second.start(TARGET).succeed();
		await settle();
		expect(second.circuit(TARGET)).toBe("closed");
	});

	it("drops the least recently used closed circuit first", () => {
		const health = world().isolate();
		const used = { ...TARGET, backend: "used" };
		for (let i = 0; i < 4; i++) health.start(used).fail();
		fail(health, 5);
		for (let i = 0; i < 5000; i++) {
			health.start({ ...OTHER, model: `m${i}` }).succeed();
			// A recent use, so it is not the first to be dropped.
			if (i % 1000 === 0) health.start(used).cancel();
		}
		expect(health.circuit(TARGET)).toBe("open");
		health.start(used).fail();
		expect(health.circuit(used)).toBe("open");
		expect(health.engines()).toHaveLength(2_000);
	});

	it("has one circuit for all models whose names callers choose", () => {
		const health = world().isolate();
		const named = (model: string) => ({ ...TARGET, model, anyModel: true as const });
		for (let i = 0; i < 5; i++) health.start(named(`m${i}`)).fail();
		expect(health.circuit(named("n"))).toBe("open");
		expect(health.circuit({ ...TARGET, model: "n" })).toBe("closed");
	});

	it("reports the calls, the failures and the waiting times of each engine", () => {
		const { clock, isolate } = world();
		const health = isolate();
		const first = health.start(TARGET);
		clock.now += 250;
		first.begin();
		clock.now += 100;
		first.succeed();
		const second = health.start(TARGET);
		clock.now += 50;
		second.succeed();
		health.start(TARGET).fail();
		health.start(TARGET).cancel();
		const named = { backend: "b", url: "https://b.example:8443/v1", model: "n", anyModel: true } as const;
		for (let i = 0; i < 5; i++) health.start(named).fail();
		expect(health.engines()).toEqual([
			{
				backend: "a",
				replica: "a",
				url: "http://a/v1",
				model: "m",
				circuit: "closed",
				requests: 4,
				failures: 1,
				begun: 2,
				waitedMs: 300,
			},
			{
				backend: "b",
				replica: "b.example:8443",
				url: "https://b.example:8443/v1",
				model: "*",
				circuit: "open",
				requests: 5,
				failures: 5,
				begun: 0,
				waitedMs: 0,
			},
		]);
	});

	it("names the models of circuits that other isolates opened", async () => {
		const keys = ["a http://a/v1 m 1", "a http://a/v1"];
		const open = { openedAt: 1_000_000, cooldownUntil: 1_005_000, workedAt: 0 };
		const { isolate, settle } = world(async () => Object.fromEntries(keys.map((key) => [key, open])));
		const health = isolate();
		health.start(OTHER).succeed();
		await settle();
		expect(health.engines().map(({ url, model, circuit }) => [url, model, circuit])).toEqual([
			["http://a/v1", "m", "closed"],
			["http://a/v1", "m 1", "open"],
			["http://a/v1", "*", "open"],
		]);
	});

	it("counts the outcome of a call once", () => {
		const health = world().isolate();
		for (let i = 0; i < 4; i++) {
			const call = health.start(TARGET);
			call.fail();
			call.fail();
		}
		expect(health.circuit(TARGET)).toBe("closed");
	});
});

describe("FleetView", () => {
	it("drops targets without a report for five minutes, and has a bound", () => {
		const fleet = new FleetView();
		const circuit = { openedAt: 1, cooldownUntil: 2, workedAt: 0 };
		const report = (key: string): HealthReport => ({ key, failures: 1, failedAt: 1, circuit });
		fleet.exchange([report("old")], 0);
		expect(Object.keys(fleet.exchange([report("new")], 5 * 60_000))).toEqual(["old", "new"]);
		expect(Object.keys(fleet.exchange([], 5 * 60_000 + 1))).toEqual(["new"]);
		const many = Array.from({ length: 5000 }, (_, i) => report(`k${i}`));
		expect(Object.keys(fleet.exchange(many, 6 * 60_000)).length).toBeLessThanOrEqual(2000);
	});
});
