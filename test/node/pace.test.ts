/** The shares of the runtime's time, with a clock and a runtime of the test. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { callerAddress } from "../../scripts/connections/caller-address.ts";
import type { MessageHead } from "../../scripts/connections/framing.ts";
import { credentialsOf, KnownCallers } from "../../scripts/connections/known-callers.ts";
import { Pace, type PacedCaller } from "../../scripts/connections/pace.ts";

const caller = (key: string, weight = 1): PacedCaller => ({ key, weight });
const LATE_MS = 50;

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

/** A runtime that answers probes late: it is behind. */
function behind(): Pace {
	const pace = new Pace(() => Date.now());
	pace.probed(LATE_MS);
	return pace;
}

/** Uses the time at once, or when the caller may. */
function begin(pace: Pace, one: PacedCaller, started: () => void = () => {}): void {
	const start = (): void => {
		pace.use(one, 1);
		started();
	};
	if (pace.mayBegin(one)) start();
	else pace.wait(one, start);
}

it("holds nothing while the runtime answers in time", () => {
	const pace = new Pace(() => Date.now());
	for (let sent = 0; sent < 10_000; sent++) {
		expect(pace.mayBegin(caller("one"))).toBe(true);
		pace.use(caller("one"), 1);
	}
});

it("lets a caller who uses little begin at once, beside one with a thousand waiting requests", () => {
	const pace = behind();
	for (let sent = 0; sent < 1_000; sent++) begin(pace, caller("heavy"));
	expect(pace.waiting).toBeGreaterThan(900);
	expect(pace.mayBegin(caller("heavy"))).toBe(false);
	for (let second = 0; second < 3; second++) {
		expect(pace.mayBegin(caller("light"))).toBe(true);
		pace.use(caller("light"), 1);
		vi.advanceTimersByTime(1_000);
	}
});

it("lets a caller who uses less than its part send some requests close together, beside many that use all of theirs", () => {
	const pace = behind();
	const heavy = Array.from({ length: 50 }, (_, index) => caller(`heavy ${index}`));
	for (const one of heavy) for (let sent = 0; sent < 200; sent++) begin(pace, one);
	vi.advanceTimersByTime(1_000);
	pace.probed(LATE_MS);
	for (let sent = 0; sent < 6; sent++) {
		expect(pace.mayBegin(caller("light"))).toBe(true);
		pace.use(caller("light"), 1.5);
	}
	for (let sent = 0; sent < 6; sent++) pace.use(caller("light"), 1.5);
	expect(pace.mayBegin(caller("light"))).toBe(false);
});

it("reports the requests that wait, and those that have waited too long", () => {
	const pace = behind();
	for (let sent = 0; sent < 20; sent++) begin(pace, caller("heavy"));
	const { waiting } = pace;
	expect(waiting).toBeGreaterThan(0);
	expect(Pace.report([pace], 100)).toEqual({ name: "paced_requests", used: waiting, limit: 100, refused: 0 });
	pace.refuse();
	pace.end();
	expect(Pace.report([pace], 100)).toEqual({ name: "paced_requests", used: 0, limit: 100, refused: 1 });
});

it("gives waiting callers equal parts, and a stranger a fifth of one", () => {
	const pace = behind();
	const begun = { one: 0, two: 0, stranger: 0 };
	const callers = { one: caller("one"), two: caller("two"), stranger: caller("stranger", 0.2) };
	for (const [name, each] of Object.entries(callers) as [keyof typeof begun, PacedCaller][])
		for (let sent = 0; sent < 2_000; sent++) begin(pace, each, () => begun[name]++);
	for (let tenth = 0; tenth < 20; tenth++) {
		vi.advanceTimersByTime(100);
		pace.probed(LATE_MS);
	}
	expect(begun.one).toBeGreaterThan(200);
	expect(Math.abs(begun.one - begun.two)).toBeLessThanOrEqual(2);
	expect(begun.stranger / begun.one).toBeCloseTo(0.2, 1);
});

it.each([
	[undefined, 300],
	[3, 100],
])("of a runtime with %s guards lets at least %s small requests begin in a second", (guardCount, least) => {
	const pace = new Pace(() => Date.now(), { guardCount });
	pace.probed(10_000);
	let begun = 0;
	for (let sent = 0; sent < 10_000; sent++) begin(pace, caller("heavy"), () => begun++);
	for (let tenth = 0; tenth < 100; tenth++) {
		vi.advanceTimersByTime(100);
		pace.probed(10_000);
	}
	expect(begun).toBeGreaterThanOrEqual(10 * least);
	expect(begun).toBeLessThan(10 * least + 50);
});

it("follows the runtime: more begins when it answers in time", () => {
	const pace = behind();
	let begun = 0;
	const refill = setInterval(() => {
		while (pace.waiting < 100) begin(pace, caller("heavy"), () => begun++);
	}, 1);
	const second = (lateMs: number): number => {
		const before = begun;
		for (let tenth = 0; tenth < 10; tenth++) {
			vi.advanceTimersByTime(100);
			pace.probed(lateMs);
		}
		return begun - before;
	};
	const slow = second(LATE_MS);
	second(1);
	expect(second(1)).toBeGreaterThan(1.5 * slow);
	clearInterval(refill);
});

it("slows a burst within three very late answers", () => {
	const pace = new Pace(() => Date.now());
	vi.advanceTimersByTime(1_000);
	pace.use(caller("heavy"), 2_400);
	for (let probe = 0; probe < 4; probe++) {
		pace.probed(300);
		vi.advanceTimersByTime(100);
	}
	let begun = 0;
	for (let sent = 0; sent < 3_000; sent++) begin(pace, caller("heavy"), () => begun++);
	vi.advanceTimersByTime(1_000);
	expect(begun).toBeGreaterThanOrEqual(300);
	expect(begun).toBeLessThan(350);
});

it("starts everything that waits when the load has ended", () => {
	const pace = behind();
	let begun = 0;
	for (let sent = 0; sent < 100; sent++) begin(pace, caller("heavy"), () => begun++);
	expect(begun).toBeLessThan(100);
	pace.end();
	expect(begun).toBe(100);
	expect(pace.waiting).toBe(0);
	expect(pace.mayBegin(caller("heavy"))).toBe(true);
	expect(vi.getTimerCount()).toBe(0);
});

it("forgets a wait that its caller ends", () => {
	const pace = behind();
	for (let sent = 0; sent < 20; sent++) begin(pace, caller("heavy"));
	const before = pace.waiting;
	const stop = pace.wait(caller("heavy"), () => expect.unreachable());
	expect(pace.waiting).toBe(before + 1);
	stop();
	expect(pace.waiting).toBe(before);
	pace.end();
});

const head = (headers: Record<string, string>, target = "/"): MessageHead => ({
	startLine: ["GET", target, "HTTP/1.1"],
	headers: new Map(Object.entries(headers)),
});
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

it("knows a caller by a token that the gateway has verified, until it is refused", () => {
	const callers = new KnownCallers(() => sha256("operator"));
	const stranger = { key: "10.0.0.1", weight: 0.2 };
	const [valid, invented] = [sha256("valid"), sha256("invented")];
	const known = { key: `10.0.0.1 ${valid}`, weight: 1 };
	expect(callers.of("10.0.0.1", [valid])).toEqual(stranger);
	callers.accept([valid]);
	for (const credentials of [[valid], [invented, valid], [valid, invented], [invented, invented, valid]])
		expect(callers.of("10.0.0.1", credentials)).toEqual(known);
	expect(callers.of("10.0.0.2", [valid])).toEqual({ key: `10.0.0.2 ${valid}`, weight: 1 });
	for (const credentials of [[], [invented]]) expect(callers.of("10.0.0.1", credentials)).toEqual(stranger);
	expect(callers.isKnown([sha256("operator")])).toBe(true);
	callers.forget([valid]);
	expect(callers.of("10.0.0.1", [valid])).toEqual(stranger);
	expect(callers.isKnown([valid])).toBe(false);
});

it("forgets the token that was not accepted for the longest time, beyond 10,000", () => {
	const callers = new KnownCallers();
	const hashes = Array.from({ length: 10_000 }, (_, index) => sha256(`token ${index}`));
	callers.accept(hashes);
	callers.accept([sha256("token 0")]);
	callers.accept([sha256("another")]);
	expect([0, 1, 2].map((index) => callers.isKnown([sha256(`token ${index}`)]))).toEqual([true, false, true]);
});

it.each(["Bearer a", "bEARER  a", "Token a", "a"])(
	"%j is the credential a, in whatever form",
	(authorization) => {
		expect(credentialsOf(head({ "cf-aig-authorization": "", authorization }))).toEqual([sha256("a")]);
	},
);

it.each([
	["/v1?key=a&key=b", {}, ["a"]],
	["/v1?alt=sse&key=%61", { "x-api-key": "b" }, ["b", "a"]],
	["/v1?monkey=a", {}, []],
	["/", { "sec-websocket-protocol": "x, cf-aig-authorization.a%20b" }, ["a b"]],
	["/", { "sec-websocket-protocol": "cf-aig-authorization.%" }, []],
	["/", { authorization: `Bearer ${"a".repeat(2_000)}` }, []],
	["/", {}, []],
] as const)("the credentials of %s with %j", (target, headers, expected) => {
	expect(credentialsOf(head(headers, target))).toEqual(expected.map(sha256));
});

it.each([
	["127.0.0.1", "127.0.0.1"],
	["::ffff:127.0.0.1", "127.0.0.1"],
	["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"],
	["2001:db8:1:2::6", "2001:db8:1:2::"],
	["2001:db8::6", "2001:db8:0:0::"],
	["2001:db8::2:3:4:5:6", "2001:db8:0:2::"],
	["::1", "0:0:0:0::"],
	["fe80::1%eth0", "fe80:0:0:0::"],
	[undefined, ""],
])("the caller at %s is counted as %s", (remote, expected) => {
	expect(callerAddress(remote)).toBe(expected);
});
