/**
 * Explains what would happen to a request: runs the same preparation as `run.ts` and describes the result of each step, the
 * state of the account's limits, and the plan. Changes nothing and calls no engine.
 */

import { type Admission, type BudgetPeriod, MICRO_NEURONS } from "../accounts/admission.ts";
import { refusal } from "../accounts/client/accounts.ts";
import { maxCost } from "../accounts/durable/budgets.ts";
import type { LimitStatus } from "../accounts/durable/limit-status.ts";
import type { Timeouts } from "../backends/backend.ts";
import { backendsOf } from "../backends/index.ts";
import { toAiError } from "../core/errors.ts";
import { hostOf } from "../fleet/health.ts";
import type { Model } from "../models/model.ts";
import { shownNeurons } from "../models/neurons.ts";
import type { TaskCall } from "../tasks/task.ts";
import { admissionOf } from "./admit.ts";
import { modelOf } from "./aliases.ts";
import type { EstimatedCost } from "./cost-estimate.ts";
import { requestKey } from "./dispatch/request-key.ts";
import type { Plan, PlannedTarget, Routed } from "./plan.ts";
import { type PreparationSteps, prepare, type StepRunner } from "./prepare.ts";
import type { InferenceRequest } from "./request.ts";
import { route } from "./route.ts";
import type { Services } from "./services.ts";
import { decideStream, type StreamMode } from "./stream-mode.ts";

export interface Explanation {
	/** The name that the caller used, if it is an alias. */
	alias?: string;
	model: string;
	task?: string;
	/** Whether inputs are validated as Workers AI does (setting `strict` of the route). Absent if no route serves the model. */
	strict?: boolean;
	/** Engines in the order in which they are tried. */
	targets?: ExplainedTarget[];
	retries?: { attempts: number; base_ms: number; max_ms: number };
	hedge_ms?: number;
	total_ms?: number;
	/** For a stream: whether the gateway rewrites its events or passes the engine's bytes through. */
	stream?: StreamMode;
	/** `source`: `model` is the catalogue or `MODELS`; `none` means that the model costs nothing. */
	price?: {
		source: "model" | "backend" | "default" | "none";
		rows: { unit: string; neurons: number }[];
		/** The setting to add, if a price is missing or assumed. */
		note?: string;
	};
	/** The maximum cost, which would be reserved. */
	estimate?: {
		neurons: number;
		/** 0 for a model that is not priced by tokens. */
		input_tokens: number;
		output_tokens: number;
		/** Whether the caller set no output limit, so that a budget may grant less output. */
		output_open: boolean;
	};
	limits?: {
		rates: { key: string; per_minute: number; used: number; room: number }[];
		budgets: {
			key: string;
			period?: BudgetPeriod;
			neurons: number;
			spent: number;
			reserved: number;
			room: number;
		}[];
	};
	/** The same for identical requests. Absent if the answer cannot be shared. */
	cache_key?: string;
	/** The failures of the steps, in order. A caller would receive the first. */
	refused: { step: string; code: number; status: number; message: string }[];
}

export interface ExplainedTarget {
	backend: string;
	kind: string;
	/** Number of the address in the backend's configuration. Only the operator sees the host. */
	replica?: { number: number; of: number; host?: string };
	/** The engine's name of the model. */
	model: string;
	/** State of its circuit breaker. */
	circuit: string;
	why: string;
	timeouts: { header_ms: number; first_token_ms: number; idle_ms: number; total_ms: number };
}

/** Thrown when a step has failed whose result the following steps need. */
class Stopped extends Error {}

/** Runs the steps of a preparation, keeps their results, and records their failures. */
class StepRecorder {
	readonly results: { [Name in keyof PreparationSteps]?: PreparationSteps[Name] } = {};
	readonly refused: Explanation["refused"] = [];

	readonly run: StepRunner = async (name, work) => {
		try {
			const result = await work();
			this.results[name] = result;
			return result;
		} catch (thrown) {
			this.record(name, thrown);
			// A check has no result that a later step could miss.
			if (name === "plan" || name === "fit") return undefined as never;
			throw new Stopped();
		}
	};

	record(step: string, thrown: unknown): void {
		const { code, status, description } = toAiError(thrown);
		this.refused.push({ step, code, status, message: description });
	}
}

export async function explain(request: InferenceRequest, services: Services): Promise<Explanation> {
	const recorder = new StepRecorder();
	const { refused, results } = recorder;
	const prepared = await prepare(request, services, recorder.run).catch((error: unknown) => {
		if (!(error instanceof Stopped)) throw error;
	});
	const { authorize: resolved, parse: parsed } = results;
	const id = resolved?.model.id ?? (await modelOf(request.model, request.caller, services));
	const explanation: Explanation = {
		...(id !== request.model && { alias: request.model }),
		model: id,
		refused,
	};
	if (!resolved) return explanation;
	const { model, routed } = resolved;
	explanation.task = model.task;
	explanation.price = describePrice(model);
	if (routed) explanation.strict = routed.strict;
	if (prepared) {
		const { estimated } = prepared;
		explanation.estimate = describeEstimate(estimated);
		const admission = admissionOf(request, prepared, services.limits);
		const limits = await limitStatus(request.caller.account, admission, services, recorder);
		if (limits) explanation.limits = limits;
		const key = await requestKey(request.caller.account, model.id, prepared.call);
		if (key !== undefined) explanation.cache_key = key;
	}
	let plan: Plan;
	try {
		plan = route(model.id, routed, services, request.session);
	} catch (thrown) {
		recorder.record("route", thrown);
		return explanation;
	}
	const decided = parsed && decideStream(plan, parsed, model);
	return {
		...explanation,
		...(await describePlan(plan, routed, parsed?.call, {
			services,
			isOperator: request.caller.credential.kind === "operator",
		})),
		...(decided && { stream: decided.stream }),
	};
}

function describePrice({ id, prices, priceSource }: Model): NonNullable<Explanation["price"]> {
	const rows = prices.map(({ unit, neurons }) => ({ unit, neurons }));
	if (rows.length > 0 && priceSource !== "default") return { source: priceSource ?? "model", rows };
	const where = `set BACKENDS.{name}.price or MODELS["${id}"].prices`;
	return rows.length > 0
		? { source: "default", rows, note: `No price is set, and LIMITS has a budget: ${where}` }
		: { source: "none", rows, note: `No price is set, and no budget counts it: ${where}` };
}

const describeEstimate = (cost: EstimatedCost): NonNullable<Explanation["estimate"]> => ({
	neurons: shownNeurons(maxCost(cost)),
	input_tokens: cost.inputTokens,
	output_tokens: cost.outputTokens,
	output_open: cost.outputUnbounded,
});

/** The state of the account's limits. Records the refusal that the request would receive. */
async function limitStatus(
	account: string,
	{ budgets, credential, model, rates, cost, unpriced }: Admission,
	{ ledgers }: Pick<Services, "ledgers">,
	recorder: StepRecorder,
): Promise<Explanation["limits"]> {
	const request = { model, cost, ...(unpriced && { unpriced }) };
	try {
		const status = await ledgers.of(account).limitStatus({ credential, rates, budgets, request });
		if (status.answer && !status.answer.ok) recorder.record("admit", refusal(status.answer));
		return describeLimits(status);
	} catch (thrown) {
		recorder.record("admit", thrown);
		return undefined;
	}
}

const describeLimits = ({ rates, budgets }: LimitStatus): NonNullable<Explanation["limits"]> => ({
	rates: rates.map(({ key, perMinute, used, remaining }) => ({
		key,
		per_minute: perMinute,
		used,
		room: remaining,
	})),
	budgets: budgets.map((budget) => ({
		key: budget.key,
		...(budget.period && { period: budget.period }),
		neurons: budget.microNeurons / MICRO_NEURONS,
		spent: budget.spentMicroNeurons / MICRO_NEURONS,
		reserved: budget.reservedMicroNeurons / MICRO_NEURONS,
		room: budget.remainingMicroNeurons / MICRO_NEURONS,
	})),
});

async function describePlan(
	plan: Plan,
	routed: Routed | undefined,
	call: TaskCall | undefined,
	{ services, isOperator }: { services: Services; isOperator: boolean },
): Promise<Pick<Explanation, "targets" | "retries" | "hedge_ms" | "total_ms">> {
	const { targets: weighted = [], named } = routed ?? {};
	const total = weighted.reduce((sum, { weight = 0 }) => sum + weight, 0);
	const backends = await backendsOf(plan.targets);
	const whyOf = (target: PlannedTarget): string => {
		const { backend, model, kind, circuit } = target;
		const tasks = backends.get(kind)?.(target, services) ?? {};
		if (call && !(call.task in tasks)) return `passed over: a ${kind} backend has no ${call.task}`;
		if (circuit === "open") return "asked last: it failed again and again a short while ago";
		const { weight, urls } = weighted.find((one) => one.backend === backend && one.model === model) ?? {};
		const withoutWeight = total > 0 ? "stands in, in the order of the route" : "in the order of the route";
		const share = weight === undefined ? withoutWeight : `weight ${weight} of ${total}`;
		const replicas = urls && urls.length > 1 ? `, one of ${urls.length} replicas` : "";
		return (named ? share : "the default backend: no route names the model") + replicas;
	};
	const replicaOf = ({ backend, model, url }: PlannedTarget): ExplainedTarget["replica"] => {
		const urls: readonly string[] =
			weighted.find((one) => one.backend === backend && one.model === model)?.urls ?? [];
		if (urls.length < 2) return undefined;
		const host = isOperator ? { host: hostOf(url) } : {};
		return { number: urls.indexOf(url) + 1, of: urls.length, ...host };
	};
	const { retries, hedgeMs, totalMs } = plan;
	return {
		targets: plan.targets.map((target) => {
			const { backend, kind, model, circuit, timeouts } = target;
			const replica = replicaOf(target);
			return {
				backend,
				kind,
				...(replica && { replica }),
				model,
				circuit,
				why: whyOf(target),
				timeouts: describeTimeouts(timeouts),
			};
		}),
		retries: { attempts: retries.attempts, base_ms: retries.baseMs, max_ms: retries.maxMs },
		...(hedgeMs !== undefined && { hedge_ms: hedgeMs }),
		...(totalMs !== undefined && { total_ms: totalMs }),
	};
}

const describeTimeouts = ({
	headerMs,
	firstTokenMs,
	idleMs,
	totalMs,
}: Timeouts): ExplainedTarget["timeouts"] => ({
	header_ms: headerMs,
	first_token_ms: firstTokenMs ?? idleMs,
	idle_ms: idleMs,
	total_ms: totalMs,
});
