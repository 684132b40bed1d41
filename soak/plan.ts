/**
 * What a run will ask, drawn from its seed: who asks, by which door, what the engine will do to it, and when the caller
 * leaves. A plan is only data; `caller.ts` and `engine.ts` each play their part of it.
 */
import { Random } from "./random.ts";

/** How a question is put. `embed` has no stream. */
export const DOORS = ["native", "chat", "responses", "messages", "ollama", "pair", "embed"] as const;
export type Door = (typeof DOORS)[number];

/** What an engine tells of its usage: at the end, with every event, not at all, or zeros. */
export type UsageTold = "end" | "every" | "none" | "zeros";

/**
 * What befalls a call of the engine. Before the header: `status`, `reset`, `silent`. Amid the answer, after `after`
 * events of a stream, or half of a value: `cut` (an end without its end), `torn` (a reset, which may take back what is
 * under way), `stall`, `garbage`, `error`.
 */
export const FAULTS = ["status", "reset", "silent", "cut", "torn", "stall", "garbage", "error"] as const;
export type Fault = {
	kind: (typeof FAULTS)[number];
	/** Of `status`. */
	status: number;
	/** Events that are good. */
	after: number;
	/** Calls of this request that it befalls: the first, or all. */
	calls: "first" | "all";
};

/**
 * `before`: so many milliseconds after the question, mostly before an answer. `during`: when the event `event` has
 * come. `after`: with the end of the answer, the connection is torn.
 */
export type Leaving =
	| { when: "never" | "after" }
	| { when: "before"; ms: number }
	| {
			when: "during";
			event: number;
			/** The engine says the next event only when the caller has the one before: at most one is under way. */
			inStep: boolean;
	  };

export interface Planned {
	index: number;
	account: string;
	/** Which of the account's credentials asks. */
	credential: "operator" | "token" | "budgeted";
	door: Door;
	stream: boolean;
	/** Absent: the caller sets no limit of output. */
	maxTokens?: number;
	prompt: string;
	/** What the engine counts of the prompt, and will say unless less is asked for. */
	promptTokens: number;
	cachedTokens: number;
	outputEvents: number;
	/** Tokens of one event: more than one makes our own count an estimate. */
	tokensPerEvent: number;
	usage: UsageTold;
	/** Milliseconds before the header, and between two writes. */
	headerMs: number;
	paceMs: number;
	/** Events of one write. */
	burst: number;
	fault?: Fault;
	leaving: Leaving;
}

/** Names of the accounts, and of the requests the share that each gets. */
export const ACCOUNTS = { roomy: 54, narrow: 12, keyed: 14, rated: 4 } as const;
/** Accounts with a budget that pays for about half of what is asked; each has its turn, one after the other. */
export const TIGHT_SHARE = 16;
const REQUESTS_OF_A_TIGHT_ACCOUNT = 40;

export const tightAccounts = (requests: number): string[] =>
	Array.from(
		{ length: Math.max(1, Math.round((requests * TIGHT_SHARE) / 100 / REQUESTS_OF_A_TIGHT_ACCOUNT)) },
		(_, i) => `tight-${i}`,
	);

const DOOR_WEIGHTS: Record<Door, number> = {
	native: 20,
	chat: 28,
	responses: 12,
	messages: 12,
	ollama: 10,
	pair: 8,
	embed: 10,
};
const USAGE_WEIGHTS: Record<UsageTold, number> = { end: 55, every: 12, none: 28, zeros: 5 };
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

export function planOf(seed: number, requests: number): Planned[] {
	const random = new Random(seed);
	const tight = tightAccounts(requests);
	return Array.from({ length: requests }, (_, index) => {
		const share = random.weighted({ ...ACCOUNTS, tight: TIGHT_SHARE });
		// A budget that is used up refuses the rest of the day: one account after the other is the crowded one.
		const turn = Math.min(tight.length - 1, Math.floor((index / requests) * tight.length));
		const account = share === "tight" ? (tight[turn] ?? "tight-0") : share;
		return planned(random, index, account);
	});
}

function planned(random: Random, index: number, account: string): Planned {
	const door = random.weighted(DOOR_WEIGHTS);
	const stream = door !== "embed" && random.chance(0.7);
	const outputEvents = door === "embed" ? 0 : random.int(1, 40);
	// A tenth leaves the output open, where the door lets it.
	const open = door !== "embed" && door !== "messages" && random.chance(0.1);
	const tokensPerEvent = random.chance(0.12) ? random.int(3, 5) : 1;
	const prompt = [
		`soak-${index}-`,
		...Array.from({ length: random.int(1, 60) }, () => random.pick(WORDS)),
	].join(" ");
	// No tokenizer makes more tokens of a text than it has bytes.
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
	// Some wait longer than READ_MS of the audit: an answer that was finished by then must have been billed.
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
		door,
		stream,
		...(!open && { maxTokens: outputEvents * tokensPerEvent + random.int(0, 80) + 1 }),
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

/** The text of the nth event, from 1; `tokens` of them, each seven characters long, so that a piece is told from a whole. */
export const eventText = (event: number, tokens: number): string =>
	Array.from(
		{ length: tokens },
		(_, i) => ` t${String((event - 1) * tokens + i + 1).padStart(4, "0")}x`,
	).join("");

/** The numbers of the whole tokens in a text. */
export const tokensIn = (text: string): number[] =>
	[...text.matchAll(/t(\d{4})x/g)].map(([, number]) => Number(number));

export const indexIn = (body: string): number | undefined => {
	const found = /soak-(\d+)-/.exec(body);
	return found ? Number(found[1]) : undefined;
};
