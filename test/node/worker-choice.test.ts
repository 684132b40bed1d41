import { beforeEach, describe, expect, it } from "vitest";
import type { MessageHead } from "../../scripts/connections/framing.ts";
import { Pace } from "../../scripts/connections/pace.ts";
import { WorkerChoice } from "../../scripts/connections/worker-choice.ts";

const LATE_MS = 200;
const IN_TIME_MS = 1;
/** Probes in time, after which a pace ends. */
const PROBES_IN_TIME = 20;
const CALLER = { key: "10.0.0.1 a", isKnown: true, isProbe: false };

let at = 0;
const now = (): number => at;
const worker = (target: string) => ({ target, pace: new Pace(now) });
const head = (headers: Record<string, string>, target = "/"): MessageHead => ({
	startLine: ["POST", target, "HTTP/1.1"],
	headers: new Map(Object.entries(headers)),
});
const SMALL = head({ "content-length": "200" });
const LARGE = head({ "content-length": "65537" });

beforeEach(() => {
	at = 0;
});

it("sends all requests to the guard's own worker if there is no other one", () => {
	const own = worker("own");
	const choice = new WorkerChoice({ own, now });
	own.pace.probed(LATE_MS);
	choice.markLarge(CALLER.key);
	for (const one of [SMALL, LARGE]) expect(choice.of(one, CALLER)).toBe(own);
	expect(choice.report()).toEqual({ separatesLarge: false, large: 0, small: 0 });
});

describe.each(["large", "small"] as const)("the guard of the worker for %s requests", (serves) => {
	function pairOf() {
		const pair = { large: worker("large"), small: worker("small") };
		const choice = new WorkerChoice({ own: pair[serves], pair, now });
		return {
			pair,
			own: pair[serves],
			choice,
			targetOf: (one: MessageHead) => choice.of(one, CALLER).target,
		};
	}

	it("sends all requests to its own worker while none is behind", () => {
		const { targetOf } = pairOf();
		expect([SMALL, LARGE].map(targetOf)).toEqual([serves, serves]);
	});

	it.each(["large", "small"] as const)(
		"divides the requests while the worker for %s ones is behind, and five seconds longer",
		(late) => {
			const { pair, targetOf } = pairOf();
			pair[late].pace.probed(LATE_MS);
			at = 100;
			// Only the worker for small requests is behind: the other one helps.
			const small = late === "small" ? serves : "small";
			expect([SMALL, LARGE].map(targetOf)).toEqual([small, "large"]);
			for (let probe = 0; probe < PROBES_IN_TIME; probe++) pair[late].pace.probed(IN_TIME_MS);
			at = 5_099;
			expect([SMALL, LARGE].map(targetOf)).toEqual(["small", "large"]);
			at = 5_100;
			expect([SMALL, LARGE].map(targetOf)).toEqual([serves, serves]);
		},
	);

	it("reports whether the requests are separated, and how many were large and small meanwhile", () => {
		const { choice, pair, targetOf } = pairOf();
		targetOf(LARGE);
		expect(choice.report()).toEqual({ separatesLarge: false, large: 0, small: 0 });
		pair.large.pace.probed(LATE_MS);
		for (const one of [SMALL, LARGE, SMALL]) targetOf(one);
		choice.of(SMALL, { ...CALLER, isProbe: true });
		expect(choice.report()).toEqual({ separatesLarge: true, large: 1, small: 2 });
		for (let probe = 0; probe < PROBES_IN_TIME; probe++) pair.large.pace.probed(IN_TIME_MS);
		at = 5_000;
		targetOf(SMALL);
		expect(choice.report()).toEqual({ separatesLarge: false, large: 1, small: 2 });
	});

	it("divides the requests while a probe has no answer", () => {
		const { pair, targetOf } = pairOf();
		pair.large.pace.probe();
		at = 15;
		expect([SMALL, LARGE].map(targetOf)).toEqual([serves, serves]);
		at = 16;
		expect([SMALL, LARGE].map(targetOf)).toEqual(["small", "large"]);
	});

	describe("while one is behind", () => {
		function separated() {
			const both = pairOf();
			both.pair.large.pace.probed(LATE_MS);
			return both;
		}

		it.each([
			["a body of 64 KiB", "small", head({ "content-length": "65536" })],
			["no body", "small", head({})],
			["a larger body", "large", LARGE],
			["a body of an unknown size", "large", head({ "transfer-encoding": "chunked" })],
			["a compressed body", "large", head({ "content-length": "20", "content-encoding": "gzip" })],
			["a websocket", "large", head({ upgrade: "WebSocket" })],
			["an offer of HTTP/2", "small", head({ upgrade: "h2c" })],
		] as const)("%s is %s", (_, expected, one) => {
			expect(separated().targetOf(one)).toBe(expected);
		});

		it("a request without an accepted token is large", () => {
			const { choice } = separated();
			expect(choice.of(SMALL, { ...CALLER, isKnown: false }).target).toBe("large");
		});

		it("a health check has the guard's own worker", () => {
			const { choice, own } = separated();
			expect(choice.of(head({}), { ...CALLER, isKnown: false, isProbe: true })).toBe(own);
		});

		it("a small request stays with the guard's own worker only if that is not behind, and the one for small ones is", () => {
			const { own, pair, choice } = separated();
			pair.small.pace.probed(LATE_MS);
			// The worker for large requests is less late, but it is behind: a large request may hold it at any time.
			pair.large.pace.probed(IN_TIME_MS);
			expect(choice.of(SMALL, CALLER)).toBe(pair.small);
			for (let probe = 0; probe < PROBES_IN_TIME; probe++) pair.large.pace.probed(IN_TIME_MS);
			expect(choice.of(SMALL, CALLER)).toBe(own);
			pair.large.pace.probed(LATE_MS);
			expect(choice.of(SMALL, CALLER)).toBe(pair.small);
		});

		it("all requests of a caller who moved much at once are large for ten seconds", () => {
			const { choice, pair, targetOf } = separated();
			choice.markLarge(CALLER.key);
			expect(targetOf(SMALL)).toBe("large");
			expect(choice.of(SMALL, { ...CALLER, key: "10.0.0.2 a" }).target).toBe("small");
			at = 9_999;
			pair.large.pace.probed(LATE_MS);
			expect(targetOf(SMALL)).toBe("large");
			at = 10_000;
			expect(targetOf(SMALL)).toBe("small");
		});
	});
});
