/**
 * Finds the end of an answer: it was read to its end, it broke off, or the caller disconnected. The observers (logs, spend limits,
 * export) receive it once, whether the request was answered or refused.
 */
import { unlessLeft } from "../../core/unless-left.ts";
import { completeBodyOf } from "../../streams/complete-body.ts";
import type { EndedRequest, EndObserver } from "../ended-request.ts";
import { type GatewayEnd, GatewayExchange, type GatewayExchangeInit } from "../exchange.ts";
import { collectsLog, collectsPayload } from "../logs/collection.ts";
import { type LoggedBody, payloadOf, tapped } from "../logs/payload.ts";
import type { GatewayOptions } from "../options.ts";
import type { GatewayStep } from "../request.ts";
import type { GatewaySettings } from "../settings.ts";

interface AnswerEndServices {
	now(): number;
	/**
	 * Keeps the context of the current request alive. Returns a promise if the request waits for a place. Throws and rejects with 3040 if too
	 * many requests of the account are under way.
	 */
	waitUntil(promise: Promise<unknown>, account?: string): Promise<void> | void;
	observers: readonly EndObserver[];
	/** Characters of a body that are kept. */
	maxPayload: number;
}

type Outcome = "complete" | "cancelled" | "failed";

export class AnswerEnd {
	readonly exchange: GatewayExchange;
	readonly #settings: GatewaySettings;
	readonly #signal: AbortSignal;
	readonly #now: () => number;
	readonly #maxPayload: number;
	readonly #ended = Promise.withResolvers<void>();
	readonly #place: Promise<void> | undefined;
	#answer: Pick<EndedRequest, "step" | "responseType"> & { read?: () => LoggedBody } = { responseType: null };
	#failed = false;
	#hasLeft = false;

	/** `signal`: fires when the caller disconnects. */
	constructor(
		{ settings, signal, ...init }: GatewayExchangeInit & { settings: GatewaySettings; signal: AbortSignal },
		{ now, waitUntil, observers, maxPayload }: AnswerEndServices,
	) {
		this.#settings = settings;
		this.#signal = signal;
		this.#now = now;
		this.#maxPayload = maxPayload;
		this.exchange = new GatewayExchange(init, {
			now,
			observers: [(_, end) => this.#report(end, observers)],
		});
		// A caller who disconnects cannot prevent the log.
		this.#place = waitUntil(this.#ended.promise, init.account) ?? undefined;
	}

	/** Returns a promise if the request waits for a place. It rejects with 3040, or if the caller leaves, and the request then has no end. */
	waitForPlace(): Promise<void> | undefined {
		if (!this.#place) return undefined;
		return unlessLeft(this.#place, this.#signal).catch((refusal) => {
			this.#ended.resolve();
			throw refusal;
		});
	}

	/** The options of the step that answered. */
	get #options(): GatewayOptions {
		return this.#answer.step?.options ?? this.exchange.options;
	}

	/** Whether the request has a log. */
	get isLogged(): boolean {
		return collectsLog(this.#options, this.#settings);
	}

	/** Returns the response with a body whose end is observed. `step`: absent if the request failed before its first one. */
	answered(response: Response, step?: GatewayStep): Response {
		const responseType = response.headers.get("content-type");
		this.#answer = { step, responseType };
		this.exchange.report({ status: response.status });
		const max = collectsPayload(this.#options, this.#settings, responseType) ? this.#maxPayload : 0;
		const complete = completeBodyOf(response);
		if (complete) {
			const body = (): LoggedBody => ({
				size: complete.size(),
				...(max > 0 && { payload: payloadOf(complete.text(), max) }),
			});
			this.#answer = { step, responseType, read: body };
			this.#begin();
			this.#end("complete");
			return response;
		}
		if (!response.body) {
			this.#end("complete");
			return response;
		}
		const tap = tapped(response.body, {
			max,
			begun: () => this.#begin(),
			ended: (outcome) => this.#end(outcome),
		});
		this.#answer = { step, responseType, read: tap.read };
		this.#signal.addEventListener("abort", this.#cancel);
		if (this.#signal.aborted) this.#cancel();
		return new Response(tap.body, response);
	}

	#begin(): void {
		const { facts, startedAt } = this.exchange;
		if (facts.firstByteMs === undefined) this.exchange.report({ firstByteMs: this.#now() - startedAt });
	}

	readonly #cancel = (): void => this.#end("cancelled");

	#end(outcome: Outcome): void {
		this.#signal.removeEventListener("abort", this.#cancel);
		this.#failed ||= outcome === "failed";
		this.#hasLeft ||= outcome === "cancelled";
		this.exchange.end();
	}

	#report(end: GatewayEnd, observers: readonly EndObserver[]): void {
		const { read, ...answer } = this.#answer;
		const request = {
			...answer,
			exchange: this.exchange,
			end,
			settings: this.#settings,
			options: this.#options,
			response: read?.(),
			failed: this.#failed || end.interrupted === true,
			hasLeft: this.#hasLeft,
		};
		for (const observer of observers) observer(request);
		this.#ended.resolve();
	}
}
