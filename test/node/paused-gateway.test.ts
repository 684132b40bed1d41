/** A gateway that is stopped for longer than its reservations are held: the short form of `npm run soak -- --pauses`, and the audit of it. */
import { describe, expect, it } from "vitest";
import { Audit, type Circumstances } from "../../tools/soak/audit.ts";
import { CallerRequests } from "../../tools/soak/caller-request.ts";
import { conserve } from "../../tools/soak/conservation.ts";
import { runningMs } from "../../tools/soak/pauses.ts";
import type { Planned } from "../../tools/soak/plan.ts";
import { isClean, summary, violationDetails } from "../../tools/soak/report.ts";

const SEED = 20261129;
const HOLD_MS = 4_000;

// Windows has no SIGSTOP.
it.skipIf(process.platform === "win32")(
	"charges each request what it used, although the reservations have expired",
	async () => {
		const run = await conserve({
			...{ seed: SEED, requests: 60, callers: 20, kills: 0, pauses: 1, holdMs: HOLD_MS },
			objectFaults: { lost: 0, unanswered: 0, evicted: 0 },
		});
		console.log(summary(run));
		expect(isClean(run), violationDetails(run)).toBe(true);
		expect(run.verdict.tallies.expired.requests).toBe(0);
		expect(run.late).toBeGreaterThan(0);
		expect(run.paused.map(({ at, upAt }) => upAt - at > HOLD_MS)).toEqual([true]);
	},
);

it("counts the time between two moments without that of pauses", () => {
	const pauses = [
		{ at: 10, upAt: 20 },
		{ at: 30, upAt: 50 },
	];
	const spans = [
		[0, 10],
		[0, 15],
		[12, 18],
		[15, 40],
		[0, 60],
		[60, 70],
		[25, 5],
	] as const;
	expect(spans.map(([from, until]) => runningMs(from, until, pauses))).toEqual([10, 10, 0, 10, 30, 10, -20]);
});

const MICRO = 1_000_000;
/** Micro-neurons of a token: the price of `soak/chat`. */
const INPUT = 20_000;
const OUTPUT = 130_001;
const INPUT_TOKENS = 20;

const PLANNED: Planned = {
	index: 0,
	account: "roomy",
	credential: "operator",
	api: "chat",
	stream: true,
	maxTokens: 37,
	prompt: "soak-0- How many words are there in this sentence?",
	promptTokens: 12,
	cachedTokens: 0,
	outputEvents: 19,
	tokensPerEvent: 1,
	usage: "none",
	headerMs: 0,
	paceMs: 0,
	burst: 1,
	leaving: { when: "during", event: 2, inStep: true },
};

interface Stream {
	/** When the engine sent each event. The caller left at 100, with two of them. Milliseconds since the start of the request. */
	sentAt: number[];
	/** Events that are billed. Default: two. */
	billed?: number;
	outcome?: "cancelled" | "expired";
	circumstances?: Partial<Pick<Circumstances, "kills" | "pauses">>;
}

/** The problems that the audit finds. */
function problemsOf({ sentAt, billed = 2, outcome = "cancelled", circumstances = {} }: Stream): string[] {
	const startedAt = Math.ceil(performance.timeOrigin) - performance.timeOrigin;
	const at = (ms: number) => startedAt + ms;
	const times = (each: readonly { at: number; upAt: number }[] = []) =>
		each.map((one) => ({ at: at(one.at), upAt: at(one.upAt) }));
	const callerRequest = new CallerRequests().create(PLANNED);
	const reserved = callerRequest.reserved / MICRO;
	const isExpired = outcome === "expired";
	const row = {
		...{ id: "id", outcome, model: "soak/chat", backend: "primary", attempts: 1, latency_ms: 200 },
		started_at: new Date(performance.timeOrigin + startedAt).toISOString(),
		input_tokens: isExpired ? 0 : INPUT_TOKENS,
		output_tokens: isExpired ? 0 : billed,
		cached_tokens: 0,
		neurons: isExpired ? reserved : (INPUT_TOKENS * INPUT + billed * OUTPUT) / MICRO,
		reserved_neurons: reserved,
		estimated: true,
	};
	const call = {
		...{ index: 0, attempt: 1, backend: "primary", maxTokens: 37, complete: false, abandoned: true },
		...{ openedAt: startedAt, closedAt: at(110), events: sentAt.length, outputTokens: sentAt.length },
		sentAt: sentAt.map(at),
	};
	const received = {
		...{ index: 0, id: "id", startedAt, endedAt: at(100), end: "disconnected" as const, status: 200 },
		...{ tokens: [1, 2], errorFrame: false },
	};
	const audit = new Audit({
		kills: times(circumstances.kills),
		pauses: times(circumstances.pauses),
		...{ objectFaults: [], totalMs: 14_000, isLimited: () => false },
	});
	const totals = { ...row, requests: 1, failed: 0 };
	audit.account({ account: "roomy", rows: [row], totals }, [
		{ planned: PLANNED, callerRequest, received, calls: [call] },
	]);
	return audit.close().violations.map(({ problem }) => problem.replace(/,.*/, ""));
}

describe("the audit", () => {
	const IN_STEP = [10, 50, 90];
	const pauses = [{ at: 200, upAt: 26_200 }];

	it("excuses the events that an engine in step sends while the gateway is paused, or has just gone on", () => {
		const sentAt = [...IN_STEP, 5_100, 10_100, 15_100, 30_000];
		expect(problemsOf({ sentAt, circumstances: { pauses } })).toEqual([]);
		expect(problemsOf({ sentAt })).toEqual(["billed 2 events of the 7 that the engine sent"]);
	});

	it("finds events that an engine in step sends long after a pause, or before it", () => {
		expect(problemsOf({ sentAt: [...IN_STEP, 31_200], circumstances: { pauses } })).toEqual([
			"billed 2 events of the 4 that the engine sent",
		]);
		expect(problemsOf({ sentAt: [...IN_STEP, 95], circumstances: { pauses } })).toEqual([
			"billed 2 events of the 4 that the engine sent",
		]);
	});

	it("excuses a connection that breaks without an answer when the gateway goes on, if its request waited in the socket", () => {
		const BROKEN = "its connection broke, although the gateway was not killed";
		const brokenAt = (ms: number, status?: number): string[] => {
			const times = { startedAt: ms, endedAt: ms + 5 };
			const received = { index: 0, ...times, end: "broken" as const, tokens: [], errorFrame: false };
			const audit = new Audit({
				kills: [],
				pauses,
				objectFaults: [],
				totalMs: 14_000,
				isLimited: () => false,
			});
			const totals = { requests: 0, failed: 0, input_tokens: 0, output_tokens: 0, neurons: 0 };
			audit.account({ account: "roomy", rows: [], totals }, [
				{
					planned: PLANNED,
					callerRequest: new CallerRequests().create(PLANNED),
					received: { ...received, ...(status !== undefined && { status }) },
					calls: [],
				},
			]);
			return audit.close().violations.map(({ problem }) => problem);
		};
		expect([...brokenAt(190), ...brokenAt(26_210)]).toEqual([]);
		expect(brokenAt(26_310)).toEqual([BROKEN]);
		expect(brokenAt(90)).toEqual([BROKEN]);
		expect(brokenAt(26_210, 200)).toContain(BROKEN);
	});

	it("excuses a charge whose settlement was lost by a kill after a pause, and no other one", () => {
		const expired = { sentAt: IN_STEP, outcome: "expired" } as const;
		const EXPIRED = ["it expired"];
		const kill = (ms: number) => [{ at: ms, upAt: ms + 500 }];
		expect(problemsOf({ ...expired, circumstances: { pauses, kills: kill(26_300) } })).toEqual([]);
		expect(problemsOf({ ...expired, circumstances: { pauses, kills: kill(27_000) } })).toEqual(EXPIRED);
		expect(problemsOf({ ...expired, circumstances: { kills: kill(26_300) } })).toEqual(EXPIRED);
		expect(problemsOf({ ...expired, circumstances: { pauses } })).toEqual(EXPIRED);
	});
});
