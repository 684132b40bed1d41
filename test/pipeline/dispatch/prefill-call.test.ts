import { expect, it } from "vitest";
import { AiError, type FailureKey } from "../../../src/core/errors.ts";
import { PrefillCall } from "../../../src/pipeline/dispatch/prefill-call.ts";
import { Pool } from "../../../src/pools/pool.ts";
import { newPairCounts } from "../../../src/pools/prefill-decode/pair-counts.ts";
import { TARGET } from "../../backends/upstream.ts";

const REQUEST = { inputTokens: 936, blocks: [1], blockTokens: 512, streamed: true };
const NIXL = {
	protocol: "nixl",
	minPrefillTokens: 512,
	bootstrapPorts: {},
	rewriteRemoteHost: false,
} as const;

const failure = (key: FailureKey, status: number, retryAfter?: number) =>
	new AiError(key, undefined, { upstream: { backend: "lab", status }, ...(retryAfter && { retryAfter }) });

it.each<[string, (call: PrefillCall) => void, string[]]>([
	["succeeds", (call) => call.succeed(undefined), ["succeed"]],
	[
		"fails because of its engine",
		(call) => call.fail(failure("upstreamUnavailable", 503)),
		["fail undefined"],
	],
	["fails with a pause", (call) => call.fail(failure("outOfCapacity", 429, 2)), ["fail 2000"]],
	["is refused", (call) => call.fail(failure("engineRefused", 400)), ["succeed"]],
	["is cancelled", (call) => call.cancel(), ["cancel"]],
])("a call that %s has one outcome, and its replica is free", (_, end, expected) => {
	const pool = new Pool(["http://1"]);
	const choice = pool.choose(REQUEST, 0);
	if (!choice) throw new Error("no replica");
	const outcomes: string[] = [];
	const outcome = {
		begin: () => void outcomes.push("begin"),
		succeed: () => void outcomes.push("succeed"),
		fail: (cooldownMs?: number) => void outcomes.push(`fail ${cooldownMs}`),
		cancel: () => void outcomes.push("cancel"),
	};
	const counts = newPairCounts();
	const flight = pool.start(choice, REQUEST, 0);
	const started = {
		target: { ...TARGET, circuit: "closed" as const },
		flight,
		disaggregation: { ...NIXL, roles: {} },
		counts,
	};
	const call = new PrefillCall(started, outcome, () => 5);
	expect(choice.replica.requests).toBe(1);
	end(call);
	expect(outcomes).toEqual(expected);
	expect(choice.replica).toMatchObject({ requests: 0, prefillTokens: 0, decodeTokens: 0 });
	call.countMissingHandle();
	expect(counts.fallbacks).toEqual({ prefillFailed: 0, noHandle: 1 });
});
