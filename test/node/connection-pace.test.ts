/** What a connection counts for which caller, with requests that follow each other before their answers have ended. */
import { createHash } from "node:crypto";
import { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { collectGarbage } from "../../scripts/collect-garbage.ts";
import { ConnectionPace, Reading } from "../../scripts/connections/connection-pace.ts";
import type { MessageHead } from "../../scripts/connections/framing.ts";
import { KnownCallers } from "../../scripts/connections/known-callers.ts";
import { Pace } from "../../scripts/connections/pace.ts";
import { WorkerChoice } from "../../scripts/connections/worker-choice.ts";

const ADDRESS = "10.0.0.1";
const KIB = 1024;
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const keyOf = (token: string): string => `${ADDRESS} ${sha256(token)}`;

const headOf = (target: string, token?: string): MessageHead => ({
	startLine: ["GET", target, "HTTP/1.1"],
	headers: new Map(token === undefined ? [] : [["authorization", `Bearer ${token}`]]),
});

function paceOf({ tokens = ["valid"] } = {}) {
	let at = 0;
	const now = (): number => at;
	const worker = (target: string) => ({ target, pace: new Pace(now) });
	const pair = { large: worker("large"), small: worker("small") };
	const workers = new WorkerChoice({ own: pair.large, pair, now });
	const callers = new KnownCallers(() => sha256("operator"));
	callers.accept(tokens.map(sha256));
	return {
		connection: new ConnectionPace({ callers, now, workers }, ADDRESS),
		markLarge: vi.spyOn(workers, "markLarge"),
		use: vi.spyOn(pair.large.pace, "use"),
		pace: pair.large.pace,
		passTime: (ms: number) => (at += ms),
		from: new Reading(new Socket()),
	};
}

it("the bytes of an answer count for the caller of its request, whatever requests follow it", () => {
	const { connection, from, markLarge, use } = paceOf();
	connection.read(headOf("/", "valid"));
	const first = connection.request;
	for (const [target, token] of [["/health"], ["/", "invented"]] as const) {
		connection.read(headOf(target, token));
		use.mockClear();
		connection.passed(65 * KIB, from, { request: first });
		expect(use.mock.calls.map(([{ key, weight }]) => [key, weight])).toEqual([[keyOf("valid"), 1]]);
		// A request of another caller, and its own answer.
		connection.passed(KIB, from);
	}
	expect(markLarge.mock.calls).toEqual([[keyOf("valid")]]);
	connection.answered(first, 404);
	expect(use.mock.lastCall).toEqual([{ key: keyOf("valid"), weight: 1 }, 3]);
});

it("a caller is large after more than 128 KiB in a second, of its own bytes", () => {
	const { connection, from, markLarge, passTime } = paceOf({ tokens: ["one", "two"] });
	for (const token of ["one", "two", "one"]) {
		connection.read(headOf("/", token));
		connection.passed(100 * KIB, from);
	}
	passTime(1_001);
	connection.passed(128 * KIB, from);
	expect(markLarge).not.toHaveBeenCalled();
	connection.passed(1, from);
	expect(markLarge.mock.calls).toEqual([[keyOf("one")]]);
});

it("frames of a caller who must wait count at its turn, so that other callers do not wait for them", () => {
	const { connection, from, pace, use } = paceOf();
	pace.probed(100);
	connection.read(headOf("/", "valid"));
	connection.passed(0, from, { frames: 500 });
	expect(use.mock.calls.map(([, units]) => units)).toEqual([50.1]);
	use.mockClear();
	connection.passed(0, from, { frames: 500 });
	expect(use).not.toHaveBeenCalled();
	pace.end();
	expect(use.mock.calls.map(([, units]) => units)).toEqual([50.1]);
});

it("what was passed on counts if its wait ends before the caller's turn, and a request that has not begun does not", () => {
	const { connection, from, pace, use } = paceOf();
	pace.probed(100);
	connection.read(headOf("/", "valid"));
	connection.passed(0, from, { frames: 500 });
	connection.passed(0, from, { frames: 300 });
	const start = vi.fn();
	expect(connection.begin(start)).toBe(false);
	use.mockClear();
	connection.end();
	expect(use.mock.calls.map(([{ key }, units]) => [key, units])).toEqual([[keyOf("valid"), 30.1]]);
	connection.end();
	pace.end();
	expect(use).toHaveBeenCalledTimes(1);
	expect(start).not.toHaveBeenCalled();
});

it("a health check is charged to nobody, and is large for nobody", () => {
	const { connection, from, markLarge, use } = paceOf();
	connection.read(headOf("/health", "valid"));
	expect([connection.isProbe, connection.isKnown]).toEqual([true, true]);
	connection.passed(500 * KIB, from);
	expect(use.mock.lastCall?.[0].weight).toBe(Number.POSITIVE_INFINITY);
	expect(markLarge).not.toHaveBeenCalled();
	connection.read(headOf("/", "valid"));
	expect(connection.isProbe).toBe(false);
});

it.each([
	["the operator, whatever the path", ["/", "operator"], true],
	["the operator of another token", ["/", "valid"], false],
	["a caller that sends the hash of the operator's token", ["/", sha256("operator")], false],
	["a health check without a token", ["/ready"], true],
	["a path below that of a health check", ["/health/more"], false],
] as const)("whether a request never waits: %s", (_, [target, token], isProbe) => {
	const { connection } = paceOf();
	connection.read(headOf(target, token));
	expect(connection.isProbe).toBe(isProbe);
});

it("keeps no head of a request", async () => {
	const { connection } = paceOf();
	const read = (): WeakRef<MessageHead> => {
		const head = headOf("/", "valid");
		connection.read(head);
		connection.begin(() => {});
		return new WeakRef(head);
	};
	const kept = read();
	await nextTurn();
	collectGarbage();
	expect(kept.deref()).toBeUndefined();
	expect(connection.request.credentials).toEqual([sha256("valid")]);
});
