import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import type { MessageHead } from "../../scripts/connections/framing.ts";
import { KnownCallers } from "../../scripts/connections/known-callers.ts";
import { Pace } from "../../scripts/connections/pace.ts";
import { WorkerChoice } from "../../scripts/connections/worker-choice.ts";

const LATE_MS = 200;
const IN_TIME_MS = 1;
/** Probes in time, after which a pace ends. */
const PROBES_IN_TIME = 20;
const ADDRESS = "10.0.0.1";
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

let at = 0;
let callers: KnownCallers;
const now = (): number => at;
const worker = (target: string) => ({ target, pace: new Pace(now) });
const head = (headers: Record<string, string>, target = "/"): MessageHead => ({
	startLine: ["POST", target, "HTTP/1.1"],
	headers: new Map(Object.entries({ authorization: "Bearer valid", ...headers })),
});
const isProbe = ({ startLine: [, target] }: MessageHead): boolean => target === "/health";
const SMALL = head({ "content-length": "200" });
const LARGE = head({ "content-length": "65537" });

beforeEach(() => {
	at = 0;
	callers = new KnownCallers();
	callers.accept([sha256("valid")]);
});

it("sends all requests to the guard's own worker if there is no other one", () => {
	const own = worker("own");
	const choice = new WorkerChoice({ own, callers, now, isProbe });
	own.pace.probed(LATE_MS);
	choice.moved(`${ADDRESS} ${sha256("valid")}`);
	for (const one of [SMALL, LARGE]) expect(choice.of(one, ADDRESS)).toBe(own);
});

describe.each(["large", "small"] as const)("the guard of the worker for %s requests", (serves) => {
	function pairOf() {
		const pair = { large: worker("large"), small: worker("small") };
		const choice = new WorkerChoice({ own: pair[serves], pair, callers, now, isProbe });
		return {
			pair,
			own: pair[serves],
			choice,
			targetOf: (one: MessageHead) => choice.of(one, ADDRESS).target,
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
			expect([SMALL, LARGE].map(targetOf)).toEqual(["small", "large"]);
			for (let probe = 0; probe < PROBES_IN_TIME; probe++) pair[late].pace.probed(IN_TIME_MS);
			at = 5_099;
			expect([SMALL, LARGE].map(targetOf)).toEqual(["small", "large"]);
			at = 5_100;
			expect([SMALL, LARGE].map(targetOf)).toEqual([serves, serves]);
		},
	);

	describe("while one is behind", () => {
		function divided() {
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
			["a websocket", "large", head({ upgrade: "websocket" })],
			["a token that was not accepted", "large", head({ authorization: "Bearer invented" })],
			["no token", "large", head({ authorization: "" })],
			["a health check", "small", head({ authorization: "" }, "/health")],
		] as const)("%s is %s", (_, expected, one) => {
			expect(divided().targetOf(one)).toBe(expected);
		});

		it("all requests of a caller who moved much at once are large for ten seconds", () => {
			const { choice, pair, targetOf } = divided();
			choice.moved(`${ADDRESS} ${sha256("valid")}`);
			expect(targetOf(SMALL)).toBe("large");
			expect(choice.of(SMALL, "10.0.0.2").target).toBe("small");
			at = 9_999;
			pair.large.pace.probed(LATE_MS);
			expect(targetOf(SMALL)).toBe("large");
			at = 10_000;
			expect(targetOf(SMALL)).toBe("small");
		});
	});
});
