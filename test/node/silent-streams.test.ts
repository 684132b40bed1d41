/** The audit of a stream that the gateway interrupts because its engine was silent, while the engine sends again. */
import { expect, it } from "vitest";
import { Audit } from "../../tools/soak/audit.ts";
import { CallerRequests } from "../../tools/soak/caller-request.ts";
import type { Planned } from "../../tools/soak/plan.ts";

const MICRO = 1_000_000;
/** Micro-neurons of a token: the price of `soak/chat`. */
const INPUT = 20_000;
const OUTPUT = 130_001;
const INPUT_TOKENS = 20;

const PLANNED: Planned = {
	index: 0,
	account: "roomy",
	credential: "operator",
	api: "responses",
	stream: true,
	maxTokens: 37,
	prompt: "soak-0- How many words are there in this sentence?",
	promptTokens: 12,
	cachedTokens: 0,
	outputEvents: 19,
	tokensPerEvent: 1,
	usage: "end",
	headerMs: 0,
	paceMs: 2,
	burst: 1,
	leaving: { when: "never" },
};
const BILLED = "billed 2 events of the 3 that the engine sent before the interruption";
const COMPLETE = "its row is interrupted, but the engine's answer was complete";

interface Times {
	/** When the engine sent each event, and the rest. Milliseconds since the start of the request. */
	sentAt: number[];
	concludedAt: number;
	/** When the gateway ended the stream. */
	endedAt: number;
	/** The engine's answer was complete. */
	complete?: boolean;
}

/** The problems that the audit finds in a stream of three events, of which the caller got two, and two are billed. */
function problemsOf({ complete = false, concludedAt, endedAt, sentAt }: Times): string[] {
	// A whole number, so that the times of the row are exact.
	const startedAt = Math.ceil(performance.timeOrigin) - performance.timeOrigin;
	const at = (ms: number) => startedAt + ms;
	const callerRequest = new CallerRequests().create(PLANNED);
	const row = {
		id: "id",
		outcome: "interrupted",
		model: "soak/chat",
		backend: "primary",
		attempts: 1,
		started_at: new Date(performance.timeOrigin + startedAt).toISOString(),
		latency_ms: endedAt,
		input_tokens: INPUT_TOKENS,
		cached_tokens: 0,
		output_tokens: 2,
		neurons: (INPUT_TOKENS * INPUT + 2 * OUTPUT) / MICRO,
		reserved_neurons: callerRequest.reserved / MICRO,
		estimated: true,
	};
	const call = {
		index: 0,
		attempt: 1,
		backend: "primary",
		maxTokens: 37,
		openedAt: startedAt,
		closedAt: at(endedAt + 200),
		events: sentAt.length,
		sentAt: sentAt.map(at),
		concludedAt: at(concludedAt),
		outputTokens: sentAt.length,
		complete,
		abandoned: false,
		...(!complete && { fault: "garbage" as const }),
	};
	const received = {
		index: 0,
		id: "id",
		startedAt,
		endedAt: at(endedAt),
		end: "complete" as const,
		status: 200,
		tokens: [1, 2],
		errorFrame: true,
	};
	const audit = new Audit({ kills: [], objectFaults: [], totalMs: 14_000, isLimited: () => false });
	const totals = { ...row, requests: 1, failed: 0 };
	audit.account({ account: "roomy", rows: [row], totals }, [
		{ planned: PLANNED, callerRequest, received, calls: [call] },
	]);
	return audit.close().violations.map(({ problem }) => problem);
}

it.each<[string, Times, string[]]>([
	["the event after a silence", { sentAt: [10, 20, 1_510], concludedAt: 1_510, endedAt: 1_520 }, []],
	[
		"the event that a slow engine sends late",
		{ sentAt: [10, 20, 1_900], concludedAt: 1_900, endedAt: 1_520 },
		[],
	],
	["the end after a silence", { sentAt: [10, 20], concludedAt: 1_510, endedAt: 1_520, complete: true }, []],
])("excuses %s", (_, times, problems) => {
	expect(problemsOf(times)).toEqual(problems);
});

it.each<[string, Times, string[]]>([
	["an event without a silence", { sentAt: [10, 20, 1_000], concludedAt: 1_000, endedAt: 1_010 }, [BILLED]],
	[
		"an event that lay unread during the silence",
		{ sentAt: [10, 20, 1_000], concludedAt: 1_000, endedAt: 1_520 },
		[BILLED],
	],
	[
		"an event that was sent with one that was read",
		{ sentAt: [10, 1_510, 1_510], concludedAt: 1_510, endedAt: 1_520 },
		[BILLED],
	],
	[
		"an end that lay unread during the silence",
		{ sentAt: [10, 20], concludedAt: 30, endedAt: 1_520, complete: true },
		[COMPLETE],
	],
])("finds %s", (_, times, problems) => {
	expect(problemsOf(times)).toEqual(problems);
});
