import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CircuitState } from "../../src/fleet/breaker.ts";
import { EMPTY_REQUEST } from "../../src/pipeline/dispatch/pool-request.ts";
import { TargetQueue } from "../../src/pipeline/dispatch/target-queue.ts";
import type { ResolvedRoute, RouteSettings, WeightedTarget } from "../../src/pipeline/plan.ts";
import { matches, type RouteServices, route } from "../../src/pipeline/route.ts";
import { chooseAt, rankFor } from "../../src/pipeline/weighted-choice.ts";
import { Pools } from "../../src/pools/pools.ts";
import { ReplicaChanges } from "../../src/pools/replica-changes.ts";
import { MODEL } from "../backends/upstream.ts";

const target = (backend: string, more: Partial<WeightedTarget> = {}): WeightedTarget => ({
	backend,
	kind: "openai",
	urls: [`http://${backend}/v1`],
	model: "m",
	headers: {},
	timeouts: { headerMs: 1, idleMs: 1, totalMs: 1 },
	...more,
});

interface World {
	random?: number;
	settings?: RouteSettings;
	circuit?: Record<string, CircuitState>;
}

const routedTo = (targets: WeightedTarget[], { settings = {} }: World = {}): ResolvedRoute => ({
	targets,
	billed: false,
	named: true,
	strict: false,
	settings,
});

const services = ({ random = 0, circuit = {} }: World = {}) =>
	({
		random: () => random,
		catalog: { find: (id) => (id === MODEL.id ? MODEL : undefined) },
		health: { circuit: ({ backend, url }) => circuit[url] ?? circuit[backend] ?? "closed" },
		pools: new Pools({
			random: () => random,
			changes: new ReplicaChanges({ now: () => 0, wait: async () => {} }),
		}),
	}) satisfies RouteServices;

/** The addresses in the order in which they are tried. */
function plan(targets: WeightedTarget[], world: World = {}, session?: string): string[] {
	const { health, ...others } = services(world);
	const { targets: planned } = route("id", routedTo(targets, world), { ...others, health }, session);
	const poolRequest = () => ({ ...EMPTY_REQUEST, ...(session && { session }) });
	const queue = new TargetQueue(planned, { health, now: () => 0, poolRequest });
	const urls: string[] = [];
	for (let next = queue.next(); next; next = queue.next()) urls.push(next.url);
	return urls;
}

describe("route", () => {
	it("keeps the order of targets without weights", () => {
		expect(plan([target("a"), target("b"), target("c")], { random: 0.99 })).toEqual([
			"http://a/v1",
			"http://b/v1",
			"http://c/v1",
		]);
	});

	it("distinguishes invented names from models of the catalogue", () => {
		const routed = routedTo([target("a", { anyModel: true })]);
		expect(route("made-up", routed, services()).targets[0].anyModel).toBe(true);
		expect(route(MODEL.id, routed, services()).targets[0]).not.toHaveProperty("anyModel");
	});

	it("makes the plan of a route to one address once, while its circuit is closed", () => {
		const routed = routedTo([target("a")]);
		const first = route("id", routed, services());
		expect(route("id", routed, services())).toBe(first);
		expect(route("id", routed, services({ circuit: { a: "open" } })).targets[0]).toMatchObject({
			circuit: "open",
		});
		expect(route("id", routed, services())).toBe(first);
	});

	it("makes the target of a replica once, while its circuit is closed", () => {
		const routed = routedTo([target("pooled", { urls: ["http://1", "http://2"] })]);
		const world = services();
		const poolRequest = () => EMPTY_REQUEST;
		const chosen = (health: RouteServices["health"] = world.health) => {
			const { targets } = route("id", routed, world);
			const queue = new TargetQueue(targets, { health, now: () => 0, poolRequest });
			const byUrl = new Map<string, unknown>();
			for (let next = queue.next(); next; next = queue.next()) byUrl.set(next.url, next);
			return byUrl;
		};
		const first = chosen();
		expect([...first.keys()].sort()).toEqual(["http://1", "http://2"]);
		const second = chosen();
		for (const [url, replica] of first) expect(second.get(url)).toBe(replica);

		const { health } = services({ circuit: { "http://1": "half-open" } });
		const halfOpen = chosen(health);
		expect(halfOpen.get("http://1")).toMatchObject({ circuit: "half-open" });
		expect(halfOpen.get("http://2")).toBe(first.get("http://2"));
		expect(chosen().get("http://1")).toBe(first.get("http://1"));
	});

	it("draws the first by weight; the others stand in, in order", () => {
		const targets = [target("a", { weight: 9 }), target("b", { weight: 1 }), target("c")];
		expect(plan(targets, { random: 0.89 })).toEqual(["http://a/v1", "http://b/v1", "http://c/v1"]);
		expect(plan(targets, { random: 0.91 })).toEqual(["http://b/v1", "http://a/v1", "http://c/v1"]);
	});

	it("gives weights their share", () => {
		const targets = [target("a", { weight: 3 }), target("b", { weight: 1 })];
		const firsts = Array.from({ length: 100 }, (_, i) => plan(targets, { random: i / 100 })[0]);
		expect(firsts.filter((url) => url === "http://a/v1")).toHaveLength(75);
	});

	it("tries each replica, from a random one on", () => {
		const targets = [target("a", { urls: ["http://1", "http://2", "http://3"] })];
		expect(plan(targets, { random: 0 })).toEqual(["http://1", "http://2", "http://3"]);
		expect(plan(targets, { random: 0.5 })).toEqual(["http://2", "http://3", "http://1"]);
	});

	it("sends a session to the same replica in every isolate", () => {
		const targets = [target("a", { urls: ["http://1", "http://2", "http://3"] })];
		const firsts = new Set<string | undefined>();
		for (let i = 0; i < 20; i++) {
			const [first, ...others] = plan(targets, { random: 0.1 }, `s${i}`);
			expect(plan(targets, { random: 0.9 }, `s${i}`)[0]).toBe(first);
			expect(others).toHaveLength(2);
			firsts.add(first);
		}
		expect(firsts.size).toBe(3);
	});

	it("tries a replica whose circuit is open after all others, also after other backends", () => {
		const targets = [target("a", { urls: ["http://1", "http://2"] }), target("b")];
		expect(plan(targets, { circuit: { "http://1": "open" } })).toEqual([
			"http://2",
			"http://b/v1",
			"http://1",
		]);
	});

	it("leaves the choice among replicas to one pool for all routes of a backend", () => {
		const urls: [string, string] = ["http://1", "http://2"];
		const { pools, ...others } = services();
		const routed = () => routedTo([target("a", { urls, model: "m1" })]);
		const [first] = route("id", routed(), { ...others, pools }).targets;
		const [second] = route("id", routed(), { ...others, pools }).targets;
		expect(first).toMatchObject({ backend: "a", model: "m1", pool: { urls } });
		expect(first).not.toHaveProperty("url");
		expect("pool" in first && "pool" in second && first.pool === second.pool).toBe(true);
	});

	it("holds a session to its share of the weights only where the route is sticky", () => {
		const targets = [target("a", { weight: 1 }), target("b", { weight: 1 })];
		const sticky = { settings: { sticky: "session" as const } };
		const once = plan(targets, { ...sticky, random: 0 }, "s");
		expect(plan(targets, { ...sticky, random: 0.9 }, "s")).toEqual(once);
		expect(plan(targets, { random: 0 }, "s")).not.toEqual(plan(targets, { random: 0.9 }, "s"));
		expect(plan(targets, { ...sticky, random: 0.9 })[0]).toBe("http://b/v1");
	});

	it("puts targets with an open circuit last, and a probe in its place", () => {
		const targets = [target("a"), target("b"), target("c")];
		expect(plan(targets, { circuit: { a: "open" } })).toEqual(["http://b/v1", "http://c/v1", "http://a/v1"]);
		expect(plan(targets, { circuit: { a: "half-open" } })[0]).toBe("http://a/v1");
		expect(plan(targets, { circuit: { a: "open", b: "open", c: "open" } })).toHaveLength(3);
	});

	it("passes the route's settings on, with default retries", () => {
		const settings: RouteSettings = { totalMs: 1000, hedgeMs: 50, sticky: "session" };
		expect(route("id", routedTo([target("a")], { settings }), services())).toEqual({
			targets: [
				{
					backend: "a",
					kind: "openai",
					url: "http://a/v1",
					model: "m",
					headers: {},
					timeouts: { headerMs: 1, idleMs: 1, totalMs: 1 },
					circuit: "closed",
				},
			],
			retries: { attempts: 2, baseMs: 250, maxMs: 5_000 },
			totalMs: 1000,
			hedgeMs: 50,
		});
	});

	it("throws if no engine serves the model", () => {
		expect(() => route("@cf/a/b", undefined, services())).toThrow(
			"5007: No such model @cf/a/b or task: nothing serves it here (see ROUTES)",
		);
	});
});

describe("rankFor", () => {
	const SESSIONS = Array.from({ length: 10_000 }, (_, i) => `session-${i}`);
	const firstsOf = (shares: { name: string; weight: number }[]) =>
		SESSIONS.map((session) => rankFor(session, shares)[0]?.name);
	const counted = (names: (string | undefined)[], name: string) => names.filter((n) => n === name).length;

	it("gives weights their share of the sessions, to within two hundredths", () => {
		const firsts = firstsOf([
			{ name: "a", weight: 90 },
			{ name: "b", weight: 9 },
			{ name: "c", weight: 1 },
		]);
		for (const [name, share] of [
			["a", 0.9],
			["b", 0.09],
			["c", 0.01],
		] as const)
			expect(Math.abs(counted(firsts, name) / SESSIONS.length - share)).toBeLessThan(0.02);
	});

	it("moves sessions only to whose weight grew, and about as many as it grew by", () => {
		const before = firstsOf([
			{ name: "a", weight: 9 },
			{ name: "b", weight: 1 },
		]);
		const after = firstsOf([
			{ name: "a", weight: 9 },
			{ name: "b", weight: 3 },
		]);
		const moved = before.flatMap((name, i) => (name === after[i] ? [] : [`${name}>${after[i]}`]));
		expect(new Set(moved)).toEqual(new Set(["a>b"]));
		expect(Math.abs(moved.length / SESSIONS.length - 0.15)).toBeLessThan(0.02);
	});

	it("keeps everybody, whatever the weights", () => {
		const weight = fc.double({ min: 1e-6, max: 1e6, noNaN: true });
		fc.assert(
			fc.property(fc.string(), fc.array(weight, { maxLength: 8 }), (session, weights) => {
				const shares = weights.map((weight, i) => ({ name: `${i}`, weight }));
				const names = rankFor(session, shares).map(({ name }) => name);
				expect([...names].sort()).toEqual(shares.map(({ name }) => name).sort());
			}),
		);
	});
});

describe("chooseAt", () => {
	it("gives nothing of nothing, and the last at the very end", () => {
		expect(chooseAt([], 0.5)).toBeUndefined();
		expect(chooseAt([{ name: "a", weight: 1 }], 0.999)).toEqual({ name: "a", weight: 1 });
	});
});

describe("matches", () => {
	it("agrees with the equivalent regular expression of a pattern", () => {
		const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "."), maxLength: 12 });
		const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", ".", "*"), maxLength: 8 });
		fc.assert(
			fc.property(pattern, text, (pattern, id) => {
				const escaped = pattern.split("*").map((part) => part.replaceAll(".", "\\."));
				expect(matches(pattern, id)).toBe(new RegExp(`^${escaped.join(".*")}$`).test(id));
			}),
			{ numRuns: 2000 },
		);
	});

	it("is quick where a regular expression would not be", () => {
		const id = "a".repeat(100_000);
		expect(matches(`${"*a".repeat(50)}*b`, id)).toBe(false);
		expect(matches("*a*a*a*a*", id)).toBe(true);
	});
});
