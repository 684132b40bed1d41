/**
 * The plan of a run, from its seed: the caller, the API, the engine's fault, and when the caller disconnects, for each request. A plan is only data;
 * `caller.ts` and `engine.ts` follow it.
 */
import { Random } from "./random.ts";

/** The API of a request. `pair` has a route with two engines. `embed` has no stream. */
export const APIS = ["native", "chat", "responses", "messages", "ollama", "pair", "embed"] as const;
export type Api = (typeof APIS)[number];

/** How an engine reports usage: at the end, with every event, not at all, or as zeros. */
export type UsageReporting = "end" | "every" | "none" | "zeros";

/**
 * Faults of a call of the engine. Before the header: `status`, `reset`, `silent`. In the answer, after `after` events of a stream or half of a
 * value: `cut` (the connection ends early), `torn` (a reset, which may lose data in transit), `stall`, `garbage`, `error`.
 */
export const FAULTS = ["status", "reset", "silent", "cut", "torn", "stall", "garbage", "error"] as const;
export type Fault = {
	kind: (typeof FAULTS)[number];
	/** For `status`. */
	status: number;
	/** Valid events before the fault. */
	after: number;
	/** Calls of this request with the fault: the first, or all. */
	calls: "first" | "all";
};

/**
 * `before`: a number of milliseconds after the request, usually before an answer. `during`: when event `event` has arrived. `after`: the
 * connection is reset after the end of the answer.
 */
export type Leaving =
	| { when: "never" | "after" }
	| { when: "before"; ms: number }
	| {
			when: "during";
			event: number;
			/** The engine sends an event only when the caller has the previous one, so at most one is in transit. */
			inStep: boolean;
	  };

export interface Planned {
	index: number;
	account: string;
	/** The credential of the request. */
	credential: "operator" | "token" | "budgeted";
	api: Api;
	stream: boolean;
	/** Absent: the caller sets no output limit. */
	maxTokens?: number;
	prompt: string;
	/** The engine's count of the prompt. */
	promptTokens: number;
	cachedTokens: number;
	outputEvents: number;
	/** Tokens of one event. With more than one, the gateway's own count is an estimate. */
	tokensPerEvent: number;
	usage: UsageReporting;
	/** Milliseconds before the header, and between two writes. */
	headerMs: number;
	paceMs: number;
	/** Events of one write. */
	burst: number;
	fault?: Fault;
	leaving: Leaving;
}

/** Accounts, and their shares of the requests. */
export const ACCOUNTS = { roomy: 54, narrow: 12, keyed: 14, rated: 4 } as const;
/** Share of accounts whose budget is enough for about half of their requests. They are used one after the other. */
export const TIGHT_SHARE = 16;
export const REQUESTS_PER_TIGHT_ACCOUNT = 40;

/** With shards. */
const TIGHT_ACCOUNTS = 40;

/** What a plan is for. */
export interface PlanSize {
	requests: number;
	/** Objects that all accounts share. Absent: each has its own. */
	shards?: number | undefined;
	/** With shards: the number of accounts with small budgets. Default: 40. */
	tight?: number | undefined;
}

/** With shards they are used at once. */
export const tightAccounts = ({ requests, shards, tight = TIGHT_ACCOUNTS }: PlanSize): string[] =>
	Array.from(
		{
			length: shards
				? tight
				: Math.max(1, Math.round((requests * TIGHT_SHARE) / 100 / REQUESTS_PER_TIGHT_ACCOUNT)),
		},
		(_, i) => `tight-${i}`,
	);

const API_WEIGHTS: Record<Api, number> = {
	native: 20,
	chat: 28,
	responses: 12,
	messages: 12,
	ollama: 10,
	pair: 8,
	embed: 10,
};
const USAGE_WEIGHTS: Record<UsageReporting, number> = { end: 55, every: 12, none: 28, zeros: 5 };
const FAULT_WEIGHTS: Record<Fault["kind"] | "nothing", number> = {
	nothing: 62,
	status: 12,
	reset: 4,
	silent: 1,
	cut: 8,
	torn: 3,
	stall: 2,
	garbage: 4,
	error: 4,
};
const LEAVING_WEIGHTS = { never: 70, after: 6, before: 8, during: 16 };
const STATUSES = [400, 401, 404, 429, 429, 500, 500, 502, 503, 503, 529] as const;
const WORDS = [
	"ganglion",
	"neuron",
	"axon",
	"dendrite",
	"Nervenzelle",
	"突触",
	"a",
	"the",
	"{}",
	"…",
] as const;

export function planOf(seed: number, size: PlanSize): Planned[] {
	const { requests, shards } = size;
	const random = new Random(seed);
	const tight = tightAccounts(size);
	return Array.from({ length: requests }, (_, index) => {
		const share = random.weighted({ ...ACCOUNTS, tight: TIGHT_SHARE });
		// A budget that is used up refuses all later requests of the day, so few tight accounts are used one after the other.
		const position = shards
			? index % tight.length
			: Math.min(tight.length - 1, Math.floor((index / requests) * tight.length));
		const account = share === "tight" ? (tight[position] ?? "tight-0") : share;
		return planned(random, index, account);
	});
}

function planned(random: Random, index: number, account: string): Planned {
	const api = random.weighted(API_WEIGHTS);
	const stream = api !== "embed" && random.chance(0.7);
	const outputEvents = api === "embed" ? 0 : random.int(1, 40);
	// 10 % have no output limit, if the API allows it.
	const unlimited = api !== "embed" && api !== "messages" && random.chance(0.1);
	const tokensPerEvent = random.chance(0.12) ? random.int(3, 5) : 1;
	const prompt = [
		`soak-${index}-`,
		...Array.from({ length: random.int(1, 60) }, () => random.pick(WORDS)),
	].join(" ");
	// A tokenizer never makes more tokens than the text has bytes.
	const promptTokens = random.int(3, Math.max(3, Math.ceil(prompt.length / 3)));
	const kind = random.weighted(FAULT_WEIGHTS);
	const fault: Fault | undefined =
		kind === "nothing"
			? undefined
			: {
					kind,
					status: random.pick(STATUSES),
					after: random.int(0, Math.max(0, outputEvents - 1)),
					calls: random.chance(0.5) ? "first" : "all",
				};
	const when = random.weighted(LEAVING_WEIGHTS);
	const inStep = random.chance(0.7);
	const event = random.int(1, Math.max(1, outputEvents - 1));
	// Some wait longer than READ_MS of the audit. An answer that was complete before must be billed.
	const ms = random.chance(0.8) ? random.int(0, 60) : random.int(60, 600);
	const leaving: Leaving =
		when === "during"
			? stream && outputEvents > 1
				? { when, event, inStep }
				: { when: "never" }
			: when === "before"
				? { when, ms }
				: { when };
	return {
		index,
		account,
		credential: account === "keyed" ? (random.chance(0.5) ? "token" : "budgeted") : "operator",
		api,
		stream,
		...(!unlimited && { maxTokens: outputEvents * tokensPerEvent + random.int(0, 80) + 1 }),
		prompt,
		promptTokens,
		cachedTokens: random.chance(0.2) ? random.int(0, promptTokens) : 0,
		outputEvents,
		tokensPerEvent,
		usage: random.weighted(USAGE_WEIGHTS),
		headerMs: random.chance(0.3) ? random.int(1, 40) : 0,
		paceMs: random.chance(0.6) ? random.int(0, 6) : 0,
		burst: random.chance(0.3) ? random.int(2, 6) : 1,
		...(fault && { fault }),
		leaving,
	};
}

/** The text of event `event`, from 1: `tokens` tokens of seven characters, so that incomplete tokens are recognizable. */
export const eventText = (event: number, tokens: number): string =>
	Array.from(
		{ length: tokens },
		(_, i) => ` t${String((event - 1) * tokens + i + 1).padStart(4, "0")}x`,
	).join("");

/** The numbers of the complete tokens in a text. */
export const tokensIn = (text: string): number[] =>
	[...text.matchAll(/t(\d{4})x/g)].map(([, number]) => Number(number));

export const indexIn = (body: string): number | undefined => {
	const found = /soak-(\d+)-/.exec(body);
	return found ? Number(found[1]) : undefined;
};
