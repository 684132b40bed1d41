/**
 * Sends a share of the requests of a route to its shadow, after their answers ended or their callers left. A request has a shadow if it ran on the
 * route and its gateway logs its contents: the answers are compared beside the log. A shadow runs in the background of its request, and is
 * dropped if too many run: it delays no caller. A process that ends drops those under way.
 */
import { OPERATOR_ACCOUNT } from "../../accounts/operator-account.ts";
import { counter, type Metric } from "../../core/metric.ts";
import { bufferedBytes, runningShadows } from "../../core/process-counts.ts";
import { CounterSeries } from "../../core/series.ts";
import type { Model } from "../../models/model.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import type { EndedRequest } from "../ended-request.ts";
import { collectsLog, collectsPayload } from "../logs/collection.ts";
import type { Log } from "../logs/log-row.ts";
import type { GatewayServices } from "../services.ts";
import type { GatewaySettings } from "../settings.ts";
import { RequestShare } from "../shadows/request-share.ts";
import type { FoundShadow } from "../shadows/shadow-routes.ts";
import { logOf } from "./log-observer.ts";

const MAX_MS = 5 * 60_000;
const MAX_LABEL_SETS = 100;
/** Of the buffered bytes of the process, for the contents of all shadows under way. Live requests have the rest. */
const SHARE_OF_BYTES = 1 / 8;

/** A request with its answer, for its shadow. */
export interface ShadowedRequest {
	shadow: FoundShadow;
	model: Model;
	account: string;
	settings: GatewaySettings;
	log: Log;
	/** The caller left, so the answer may be a part. */
	isPart: boolean;
}

/**
 * `compared`: both answers are stored. `failed`: the shadow failed, and its failure is stored. `refused`: a data-loss rule refused the request or the
 * answer. `unsent`: the request cannot be sent again. `unlogged`: the log does not exist, or no longer.
 */
export type ShadowOutcome = "compared" | "failed" | "refused" | "unsent" | "unlogged";

/** Calls the shadow, and stores the comparison. */
export type RunShadow<Services> = (
	request: ShadowedRequest,
	services: Services,
	signal: AbortSignal,
) => Promise<ShadowOutcome>;

export class Shadows<Services extends GatewayServices> {
	readonly #load: () => Promise<RunShadow<Services>>;
	readonly #shares = new Map<string, RequestShare>();
	readonly #running = new Set<AbortController>();
	readonly #outcomes = new CounterSeries({ names: ["shadow", "outcome"], max: MAX_LABEL_SETS });
	/** Characters of the contents of those that run. */
	#held = 0;
	#isClosed = false;

	constructor(load: () => Promise<RunShadow<Services>>) {
		this.#load = load;
	}

	/** An observer of requests. */
	ended(request: EndedRequest, services: Services): void {
		if (services.shadowRoutes.shadows.length === 0 || !isComparable(request)) return;
		const { step, exchange } = request;
		const named = step?.modelId ?? step?.model;
		if (named === undefined) return;
		const choose = ({ model }: { model: Model }): void => {
			const shadow = services.shadowRoutes.find(model.id);
			if (shadow && this.#shareOf(shadow, services).next()) this.#begin(shadow, model, request, services);
		};
		try {
			const caller = { account: exchange.account, credential: { kind: "operator" } as const };
			const resolved = resolveModel(named, caller, services);
			if (!(resolved instanceof Promise)) choose(resolved);
			else services.waitUntil(resolved.then(choose).catch(() => {}));
		} catch {
			// A name of a provider's model, which has no route.
		}
	}

	metrics(): Metric[] {
		return [
			counter(
				"shadow_requests_total",
				"Requests that were chosen for the shadow of their route. dropped: too many were running. refused: by a data-loss rule. unsent: the request cannot be sent again. unlogged: its log was gone.",
				this.#outcomes.samples(),
			),
		];
	}

	/** The process ends. */
	close(): void {
		this.#isClosed = true;
		for (const controller of this.#running) controller.abort();
	}

	#shareOf({ name, share }: FoundShadow, { random }: Services): RequestShare {
		const known = this.#shares.get(name);
		if (known?.share === share) return known;
		const created = new RequestShare(share, random);
		this.#shares.set(name, created);
		return created;
	}

	#begin(shadow: FoundShadow, model: Model, request: EndedRequest, services: Services): void {
		const { exchange, settings, hasLeft } = request;
		const { account } = exchange;
		const count = (outcome: ShadowOutcome | "dropped"): void => this.#outcomes.add([shadow.name, outcome]);
		const log = logOf(request, services.gatewayLogs.maxPayload);
		const held = (log.request?.text.length ?? 0) + (log.response?.text.length ?? 0);
		const hasPlace = !this.#isClosed && runningShadows.tryTake(account);
		if (!hasPlace || !this.#tryHold(held)) {
			if (hasPlace) runningShadows.release(account);
			count("dropped");
			return;
		}
		const controller = new AbortController();
		this.#running.add(controller);
		const timer = services.startTimer(MAX_MS, () => controller.abort());
		const shadowed = { shadow, model, account, settings, log, isPart: hasLeft };
		const run = async (): Promise<void> => {
			try {
				const runShadow = await this.#load();
				count(await runShadow(shadowed, services, controller.signal));
			} catch {
				count("failed");
			} finally {
				this.#running.delete(controller);
				this.#release(held);
				runningShadows.release(account);
				timer.cancel();
			}
		};
		services.waitUntil(run());
	}

	/** They count for the operator's account: an account whose shadows hang has all of its own room. */
	#tryHold(characters: number): boolean {
		if (this.#held + characters > bufferedBytes.report().limit * SHARE_OF_BYTES) return false;
		if (!bufferedBytes.tryTake(OPERATOR_ACCOUNT, characters)) return false;
		this.#held += characters;
		return true;
	}

	#release(characters: number): void {
		bufferedBytes.release(OPERATOR_ACCOUNT, characters);
		this.#held -= characters;
	}
}

/** The request ran on the route of its model, its answer is one, and the log has both. */
function isComparable({ step, end, failed, options, settings, response }: EndedRequest): boolean {
	if (!step || step.passed || step.providerKey !== undefined) return false;
	if (failed || end.cached || (end.status ?? 500) >= 400 || !response?.payload) return false;
	return collectsLog(options, settings) && collectsPayload(options, settings, step.body.contentType);
}
