/**
 * The plan of a run through gateways, from its seed: what each caller sends, and what the engine answers to each step. An engine's answer has an
 * index, and its prompt has as many tokens as no other one, so that a row of the ledger identifies its call.
 */
import { type Leaving, type Planned, planOf } from "../plan.ts";
import { Random } from "../random.ts";

export const ACCOUNTS = ["alpha", "beta"] as const;

/** The gateways of each account, and the settings that differ from the defaults. */
export const GATEWAYS = {
	plain: {},
	cached: { cache_ttl: 3_600 },
	guarded: { guardrails: { prompt: { S1: "BLOCK" }, response: { S10: "BLOCK" } } },
} as const;
export type GatewayId = keyof typeof GATEWAYS;

/** Marks in a prompt. The guard model finds a hazard in the prompt, or in the answer. */
export const BLOCKED_PROMPT = "soak-hazard-of-the-prompt";
export const BLOCKED_RESPONSE = "soak-hazard-of-the-response";

export interface GatewayRequest {
	/** Its place in the run. */
	index: number;
	account: string;
	gateway: GatewayId;
	/** Indexes of the engine's answers. Several: steps of the universal address. Cached requests share an answer. */
	steps: readonly number[];
	stream: boolean;
	/** Attempts of each step. */
	attempts: number;
	/** `cf-aig-cache-key`. */
	cacheKey?: string;
	resumable: boolean;
	leaving: Leaving;
}

export interface GatewayPlan {
	requests: readonly GatewayRequest[];
	answers: readonly Planned[];
}

const KINDS = { plain: 22, retried: 16, fallback: 16, cached: 22, guarded: 16, resumable: 8 };
type Kind = keyof typeof KINDS;
/** Requests of an account that share a cached answer. */
const SHARING = 6;
const MAX_EVENTS = 40;
/** Tokens of the first answer's prompt. */
const FIRST_TOKENS = 3;

export const promptTokensOf = (index: number): number => index + FIRST_TOKENS;

export function gatewayPlanOf(seed: number, requests: number): GatewayPlan {
	const random = new Random(seed);
	const answers: Planned[] = [];
	// A request has two steps at most.
	const templates = planOf(seed, { requests: 2 * requests });
	const groups = new Map<string, { index: number; used: number; number: number }>();
	const add = (account: string, stream: boolean, changes: Partial<Planned> & { mark?: string }): number => {
		const index = answers.length;
		const template = templates[index];
		if (!template) throw new Error("the plan has no more answers");
		answers.push(answerOf(template, { index, account, stream, ...changes }));
		return index;
	};
	const planned = Array.from({ length: requests }, (_, index): GatewayRequest => {
		const account = random.pick(ACCOUNTS);
		const kind = random.weighted<Kind>(KINDS);
		const stream = kind === "resumable" || random.chance(0.6);
		const base = { index, account, stream, attempts: 1, resumable: kind === "resumable" };
		const failing = { fault: { kind: "status", status: 503, after: 0, calls: "all" } } as const;
		switch (kind) {
			case "cached": {
				const name = `${account} ${stream}`;
				const last = groups.get(name);
				const group =
					last && last.used < SHARING
						? last
						: { index: add(account, stream, {}), used: 0, number: (last?.number ?? 0) + 1 };
				groups.set(name, { ...group, used: group.used + 1 });
				const leaving = leavingOf(random, answers[group.index]);
				// Both accounts use the same keys.
				const cacheKey = `${stream}-${group.number}`;
				return { ...base, gateway: "cached", steps: [group.index], cacheKey, leaving };
			}
			case "fallback": {
				const steps = [add(account, stream, failing), add(account, stream, {})];
				const leaving = leavingOf(random, answers[steps[1] ?? 0]);
				return { ...base, gateway: "plain", steps, leaving };
			}
			case "guarded": {
				const mark = random.weighted({ "": 60, [BLOCKED_PROMPT]: 20, [BLOCKED_RESPONSE]: 20 });
				const steps = [add(account, stream, { mark })];
				return { ...base, gateway: "guarded", steps, leaving: leavingOf(random, answers[steps[0] ?? 0]) };
			}
			case "retried": {
				const once = { fault: { ...failing.fault, calls: "first" } } as const;
				const steps = [add(account, stream, once)];
				const leaving = leavingOf(random, answers[steps[0] ?? 0]);
				return { ...base, gateway: "plain", steps, attempts: 3, leaving };
			}
			case "plain":
			case "resumable": {
				const steps = [add(account, stream, {})];
				return { ...base, gateway: "plain", steps, leaving: leavingOf(random, answers[steps[0] ?? 0]) };
			}
			default:
				return kind satisfies never;
		}
	});
	return { requests: planned, answers };
}

/** The engine reports usage with every event, so that an interrupted answer names its call, too. */
function answerOf(
	template: Planned,
	{
		index,
		account,
		stream,
		mark = "",
		fault = template.fault,
	}: Pick<Planned, "index" | "account" | "stream"> & Partial<Planned> & { mark?: string },
): Planned {
	const { fault: _, ...remaining } = template;
	const outputEvents = Math.min(MAX_EVENTS, template.outputEvents + 2);
	const promptTokens = promptTokensOf(index);
	return {
		...remaining,
		index,
		account,
		credential: "operator",
		api: "chat",
		stream,
		maxTokens: outputEvents * template.tokensPerEvent + 1,
		// A reservation has a token for each byte.
		prompt: `${"a ".repeat(promptTokens / 2)}soak-${index}- ${mark}`,
		promptTokens,
		cachedTokens: 0,
		outputEvents,
		usage: "every",
		leaving: { when: "never" },
		...(fault && { fault: { ...fault, after: Math.min(fault.after, outputEvents - 1) } }),
	};
}

function leavingOf(random: Random, answer: Planned | undefined): Leaving {
	const when = random.weighted({ never: 74, after: 6, before: 6, during: 14 });
	if (when === "before") return { when, ms: random.int(0, 120) };
	if (when !== "during") return { when };
	const event = random.int(1, Math.max(1, (answer?.outputEvents ?? 2) - 1));
	return answer?.stream ? { when, event, inStep: false } : { when: "never" };
}
