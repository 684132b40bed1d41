/**
 * One request to a gateway, from its arrival to the end of its answer. The middleware and the steps report facts to it; its
 * observers receive them once, when the answer has ended.
 *
 * It is not the pipeline's `Exchange`, which is one run with one bill: a request to a gateway has none (a cached answer, a provider's
 * own), one, or several (steps, retries, models of an alias). A chat without a gateway enters none of its functions (`npm run trace`).
 */
import type { FailureKey } from "../core/errors.ts";
import type { DlpReport } from "./dlp/findings.ts";
import { type GatewayUsage, sumOfUsage } from "./gateway-usage.ts";
import type { GuardrailResult } from "./guardrails/decision.ts";
import type { GatewayOptions } from "./options.ts";

/** Facts about a request at its end. A fact is absent if it does not apply, or if the request ended before. */
export interface GatewayFacts {
	/** The slug of the provider that answered. */
	provider?: string;
	model?: string | undefined;
	/** The task of the model. */
	modelType?: string | undefined;
	/** The provider's key is the account's or the caller's. */
	byok?: boolean;
	/** The dynamic route, the alias or `cloudflare/auto` that the request names. */
	route?: string;
	/** The model that an alias or `cloudflare/auto` chose. `reason`: absent for the first model of an alias. */
	routing?: { model: string; reason: string | undefined; decisionId: string };
	/** Models of the dynamic route or the alias that cannot be called: each was replaced by the next. */
	skipped?: readonly string[];
	/** The path below the provider's address. */
	path?: string;
	/** The index of the step that answered. */
	step?: number;
	status?: number;
	/** Why the gateway refused the step, or the plan. */
	failure?: FailureKey | undefined;
	cached?: boolean;
	/** Of all calls of the last step: also of attempts that were not awaited. */
	usage?: GatewayUsage | undefined;
	/** The stream of the answer broke off. Its last frame is an error. */
	interrupted?: boolean;
	/** Milliseconds until the first byte of the answer. */
	firstByteMs?: number;
	/** Calls of models and providers, with retries. */
	attempts?: number;
	/** The evaluations of prompt and answer, in their order. */
	guardrails?: readonly GuardrailResult[];
	/** The findings of data-loss prevention. */
	dlp?: DlpReport;
}

export interface GatewayEnd extends GatewayFacts {
	durationMs: number;
}

type GatewayObserver = (exchange: GatewayExchange, end: GatewayEnd) => void;

/** How a request arrived. The product names the first three. */
export interface RequestSource {
	type: "Universal" | "Workers AI Binding" | "WebSockets" | "Provider" | "REST";
	userAgent?: string | undefined;
}

export const sourceOf = (type: RequestSource["type"], headers: Headers): RequestSource => ({
	type,
	userAgent: headers.get("user-agent") ?? undefined,
});

export interface GatewayExchangeInit {
	/** UUIDv7: `cf-aig-request-id` and `cf-aig-log-id`. */
	id: string;
	account: string;
	gateway: string;
	/** The request's options. A step may have others. */
	options: GatewayOptions;
	source: RequestSource;
}

export class GatewayExchange {
	readonly id: string;
	readonly account: string;
	readonly gateway: string;
	readonly options: GatewayOptions;
	readonly source: RequestSource;
	/** Epoch milliseconds. */
	readonly startedAt: number;
	readonly #now: () => number;
	readonly #observers: GatewayObserver[];
	#facts: GatewayFacts = {};
	readonly #usageOfCalls = new Map<object, GatewayUsage>();
	#ended = false;
	readonly #pending: Promise<unknown>[] = [];
	readonly #lastReports: (() => void)[] = [];

	constructor(
		{ id, account, gateway, options, source }: GatewayExchangeInit,
		{ now, observers }: { now(): number; observers: readonly GatewayObserver[] },
	) {
		this.id = id;
		this.account = account;
		this.gateway = gateway;
		this.options = options;
		this.source = source;
		this.startedAt = now();
		this.#now = now;
		this.#observers = [...observers];
	}

	get facts(): Readonly<GatewayFacts> {
		return this.#facts;
	}

	get eventId(): string {
		return this.options.eventId ?? this.id;
	}

	/** A later fact replaces an earlier one of the same name. */
	report(facts: GatewayFacts): void {
		this.#facts = { ...this.#facts, ...facts };
	}

	/** What a call of the step has used until now. A later report of the same call replaces an earlier one. */
	reportUsage(call: object, usage: GatewayUsage): void {
		this.#usageOfCalls.set(call, usage);
		this.report({ usage: [...this.#usageOfCalls.values()].reduce(sumOfUsage) });
	}

	/** The next step has usage of its own. */
	resetUsage(): void {
		this.#usageOfCalls.clear();
		this.report({ usage: undefined });
	}

	/** Adds an observer of this request. */
	observe(observer: GatewayObserver): void {
		this.#observers.push(observer);
	}

	/** `work` reports facts, maybe after the answer has ended. The observers receive the end after it. */
	reportAfter(work: Promise<unknown>): void {
		this.#pending.push(work);
	}

	/** `report` adds facts that are known only when the answer ends. It must not throw. */
	reportAtEnd(report: () => void): void {
		this.#lastReports.push(report);
	}

	/** The answer has ended. Only the first call counts. */
	end(): void {
		if (this.#ended) return;
		this.#ended = true;
		for (const report of this.#lastReports) report();
		const durationMs = this.#now() - this.startedAt;
		const notify = (): void => {
			for (const observer of this.#observers) observer(this, { ...this.#facts, durationMs });
		};
		if (this.#pending.length === 0) notify();
		else void Promise.allSettled(this.#pending).then(notify);
	}
}
