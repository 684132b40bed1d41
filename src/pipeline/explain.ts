/**
 * Explains what would happen to a request: runs the same preparation as `run.ts` and describes the result of each step, the
 * state of the account's limits, and the plan. Changes nothing and calls no engine.
 */
import { type Admission, type BudgetPeriod, MICRO_NEURONS } from "../accounts/admission.ts";
import { refusal } from "../accounts/client/account-reader.ts";
import { maxCost } from "../accounts/durable/budgets.ts";
import type { LimitStatus } from "../accounts/durable/limit-status.ts";
import { AiError, toAiError } from "../core/errors.ts";
import type { Model } from "../models/model.ts";
import { shownNeurons } from "../models/neurons.ts";
import { admissionOf } from "./admit.ts";
import { requestKey } from "./dispatch/request-key.ts";
import { describePlan, type ExplainedPlan } from "./explain-plan.ts";
import { limitsOf } from "./limits.ts";
import type { Plan, ResolvedRoute } from "./plan.ts";
import { type EstimatedCost, estimateCost, fitContext, isUnpriced, parse, refuseByPlan } from "./prepare.ts";
import type { InferenceRequest } from "./request.ts";
import { modelOf, resolveModel } from "./resolve-model.ts";
import { route } from "./route.ts";
import type { PipelineServices } from "./services.ts";
import { explainStream, type StreamMode } from "./stream-mode.ts";

export interface Explanation extends Partial<ExplainedPlan> {
	/** The name that the caller used, if it is an alias. */
	alias?: string;
	model: string;
	task?: string;
	/** Whether inputs are validated as Workers AI does (setting `strict` of the route). Absent if no route serves the model. */
	strict?: boolean;
	/** For a stream: whether the gateway rewrites its events or passes the engine's bytes through. */
	stream?: StreamMode;
	/** `source`: `model` is the catalogue or `MODELS`; `none` means that the model costs nothing. */
	price?: {
		source: "model" | "backend" | "default" | "none";
		rows: { unit: string; neurons: number; above_input_tokens?: number }[];
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

/** Records the failures of steps. */
class StepRecorder {
	readonly refused: Explanation["refused"] = [];

	/** `undefined`: the step has failed. */
	async run<Result>(step: string, work: () => Result | Promise<Result>): Promise<Result | undefined> {
		try {
			return await work();
		} catch (thrown) {
			this.record(step, thrown);
			return undefined;
		}
	}

	record(step: string, thrown: unknown): void {
		const { code, status, description } = toAiError(thrown);
		this.refused.push({ step, code, status, message: description });
	}
}

export async function explain(request: InferenceRequest, services: PipelineServices): Promise<Explanation> {
	const recorder = new StepRecorder();
	const { account } = request.caller;
	const resolved = await recorder.run("authorize", () =>
		resolveModel(request.model, request.caller, services),
	);
	const id = resolved?.model.id ?? (await modelOf(request.model, request.caller, services));
	const explanation: Explanation = {
		...(id !== request.model && { alias: request.model }),
		model: id,
		refused: recorder.refused,
	};
	if (!resolved) return explanation;
	const { model, routed } = resolved;
	explanation.task = model.task;
	explanation.price = describePrice(model, routed);
	if (routed) explanation.strict = routed.strict;
	const parsed = await recorder.run("parse", async () =>
		parse(request.inputs, await request.dialect(model), resolved),
	);
	const { call } = parsed ?? {};
	if (call) await recorder.run("fit", () => fitContext(call, model, routed));
	await recorder.run("plan", () => refuseByPlan(model, limitsOf(services.limits, account), routed));
	const estimated = call && (await recorder.run("estimate", () => estimateCost(call, model, routed)));
	if (parsed && estimated) {
		explanation.estimate = describeEstimate(estimated);
		const admission = admissionOf(request, { ...parsed, ...resolved, estimated }, services.limits);
		const limits = await limitStatus(account, admission, services, recorder);
		if (limits) explanation.limits = limits;
		const key = await requestKey(account, model.id, parsed.call);
		if (key !== undefined) explanation.cache_key = key;
	}
	await services.pools.refresh(routed?.targets ?? []);
	let plan: Plan;
	try {
		plan = route(model.id, routed, services, request.session);
	} catch (thrown) {
		recorder.record("route", thrown);
		return explanation;
	}
	const { unchangedStreams } = services;
	const has = unchangedStreams.has.bind(unchangedStreams);
	const stream = parsed && explainStream(plan, { ...parsed, model }, { has, canPass: has });
	const described = await describePlan(plan, routed, parsed?.call, { services, request });
	// All replicas of the pools are drained, or a list of replicas is empty.
	if (described.targets.length === 0) recorder.record("dispatch", new AiError("outOfCapacity"));
	return {
		...explanation,
		...described,
		...(stream && { stream }),
	};
}

function describePrice(
	{ id, prices, priceSource }: Model,
	routed: ResolvedRoute | undefined,
): NonNullable<Explanation["price"]> {
	const rows = prices.map(({ unit, neurons, aboveInputTokens }) => ({
		unit,
		neurons,
		...(aboveInputTokens !== undefined && { above_input_tokens: aboveInputTokens }),
	}));
	if (rows.length > 0 && priceSource !== "default") return { source: priceSource ?? "model", rows };
	const where = `set BACKENDS.{name}.price or MODELS["${id}"].prices`;
	return rows.length > 0
		? { source: "default", rows, note: `No price is set, and LIMITS has a budget: ${where}` }
		: {
				source: "none",
				rows,
				note: isUnpriced({ prices }, routed)
					? `No price is set. A token with a budget gets 2021, and other requests cost 0 neurons: ${where}`
					: `No price is set. A request costs 0 neurons on the simulator. On an engine, a token with a budget gets 2021: ${where}`,
			};
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
	{ ledgers }: Pick<PipelineServices, "ledgers">,
	recorder: StepRecorder,
): Promise<Explanation["limits"]> {
	const request = { model, cost, ...(unpriced && { unpriced }) };
	const statusIn = (gateway: typeof credential.gateway): Promise<LimitStatus> =>
		ledgers.of(account).limitStatus({ credential: { ...credential, gateway }, rates, budgets, request });
	try {
		let status = await statusIn(credential.gateway);
		const { answer } = status;
		// Such a request runs in the gateway that its token or its account binds.
		if (credential.gateway === null && answer && !answer.ok && answer.failure === "gatewayRequired")
			status = await statusIn(answer.gateway?.id);
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
