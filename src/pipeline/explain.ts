/**
 * The plan of a request: the steps of `run.ts` up to the first call of an engine, in the same order, with the result of
 * each. Reads the state of the account and changes nothing.
 */

import { type Admission, type BudgetPeriod, MICRO_NEURONS, type Worth } from "../accounts/admission.ts";
import { refusal } from "../accounts/client/accounts.ts";
import type { LimitStatus } from "../accounts/durable/limit-status.ts";
import type { Timeouts } from "../backends/backend.ts";
import { backendsOf } from "../backends/index.ts";
import { type AiError, toAiError } from "../core/errors.ts";
import { hostOf } from "../fleet/health.ts";
import { estimate } from "../metering/estimate.ts";
import type { Model } from "../models/model.ts";
import { shownNeurons } from "../models/neurons.ts";
import type { TaskCall } from "../tasks/task.ts";
import { admission, checkPlan, limitsOf, onRoute } from "./admit.ts";
import { modelOf } from "./aliases.ts";
import { authorize } from "./authorize.ts";
import { fitContext } from "./context-window.ts";
import { identityOf } from "./dispatch/request-key.ts";
import { parse } from "./parse.ts";
import type { Plan, PlannedTarget } from "./plan.ts";
import type { InferenceRequest } from "./request.ts";
import { route } from "./route.ts";
import type { Services } from "./services.ts";

export interface Explanation {
	/** The name that the caller has used, where that is an alias. */
	alias?: string;
	model: string;
	task?: string;
	/** Whether inputs are validated as Workers AI does: setting `strict` of the route. Absent where nothing serves the model. */
	strict?: boolean;
	/** Engines in the order to ask them. */
	targets?: ExplainedTarget[];
	retries?: { attempts: number; base_ms: number; max_ms: number };
	hedge_ms?: number;
	total_ms?: number;
	/** Of a route with `passthrough`: whether this request's answer would be the engine's own stream. */
	passthrough?: boolean;
	/** What the model costs. `model`: from the catalogue or `MODELS`. `none`: it costs nothing. */
	price?: {
		source: "model" | "backend" | "default" | "none";
		rows: { unit: string; neurons: number }[];
		/** What to set, where a price is missing or assumed. */
		note?: string;
	};
	/** At most: what would be reserved. */
	estimate?: {
		neurons: number;
		/** Of a model that is not paid by tokens, 0. */
		input_tokens: number;
		output_tokens: number;
		/** Whether the caller left the output open, so that a budget may grant less of it. */
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
	/** Of identical requests; absent where an answer depends on chance or cannot be shared. */
	cache_key?: string;
	/** What would be refused, in the order of the steps; the first is what a caller would be told. */
	refused: { step: string; code: number; status: number; message: string }[];
}

export interface ExplainedTarget {
	backend: string;
	kind: string;
	/** Which of the backend's addresses, in the order of the configuration; the operator sees its host. */
	replica?: { number: number; of: number; host?: string };
	/** The engine's name of the model. */
	model: string;
	/** Of its circuit breaker. */
	circuit: string;
	why: string;
	timeouts: { header_ms: number; first_token_ms: number; idle_ms: number; total_ms: number };
}

export async function explain(request: InferenceRequest, services: Services): Promise<Explanation> {
	const explanation: Explanation = { model: request.model, refused: [] };
	/** A step that fails says so, and those after it that do not need it go on. */
	const step = async <T>(name: string, work: () => T | Promise<T>): Promise<T | undefined> => {
		try {
			return await work();
		} catch (thrown) {
			explanation.refused.push({ step: name, ...shownFailure(toAiError(thrown)) });
			return undefined;
		}
	};
	const model = await step("authorize", async () => {
		explanation.model = await modelOf(request.model, request.caller, services);
		if (explanation.model !== request.model) explanation.alias = request.model;
		return authorize(explanation.model, services);
	});
	if (!model) return explanation;
	const limits = limitsOf(services.limits, request.caller.account);
	explanation.task = model.task;
	explanation.price = priceShown(model);
	const routed = services.routing.find(model.id);
	if (routed) explanation.strict = routed.strict;
	await step("plan", () => checkPlan(model, limits, services.routing));
	const { call, writer } =
		(await step("parse", async () => {
			const { reader, writer } = request.dialect(model);
			return {
				writer,
				call: (await parse(request.inputs, reader, { model, strict: routed?.strict ?? false })).call,
			};
		})) ?? {};
	if (call) {
		await step("fit", () => fitContext(call, model, routed));
		const wanted = await admission(request.id, request.caller.credential, model, call, limits);
		const asked = onRoute(wanted, model, services.routing);
		const { inputTokens = 0 } = (await estimate(call, model)).fixed;
		explanation.estimate = estimateShown(asked.worth, inputTokens);
		Object.assign(explanation, await standing(asked, request, services, step));
		const key = await identityOf(request.caller.account, model.id, call);
		if (key !== undefined) explanation.cache_key = key;
	}
	const plan = await step("route", () => route(model.id, services, request.session));
	if (!plan) return explanation;
	const passthrough = call !== undefined && writer?.passesOn?.(call, model) !== undefined;
	return {
		...explanation,
		...(await explainPlan(plan, model, call, {
			services,
			operator: request.caller.credential.kind === "operator",
		})),
		...(plan.passthrough && { passthrough }),
	};
}

function priceShown({ id, prices, priceSource }: Model): NonNullable<Explanation["price"]> {
	const rows = prices.map(({ unit, neurons }) => ({ unit, neurons }));
	if (rows.length > 0 && priceSource !== "default") return { source: priceSource ?? "model", rows };
	const where = `set BACKENDS.{name}.price or MODELS["${id}"].prices`;
	return rows.length > 0
		? { source: "default", rows, note: `No price is set, and LIMITS has a budget: ${where}` }
		: { source: "none", rows, note: `No price is set, and no budget counts it: ${where}` };
}

const shownFailure = ({ code, status, description }: AiError) => ({ code, status, message: description });

type Step = <T>(name: string, work: () => T | Promise<T>) => Promise<T | undefined>;

const costOf = ({ fixedMicroNeurons, microNeuronsPerOutputToken }: Worth, outputTokens: number): number =>
	Math.ceil(fixedMicroNeurons + microNeuronsPerOutputToken * outputTokens);

const estimateShown = (worth: Worth, inputTokens: number): NonNullable<Explanation["estimate"]> => ({
	neurons: shownNeurons(costOf(worth, worth.outputTokens)),
	input_tokens: inputTokens,
	output_tokens: worth.outputTokens,
	output_open: worth.open,
});

async function standing(
	{ budgets, credential, model, rates, worth, unpriced }: Omit<Admission, "holdMs">,
	{ caller: { account } }: InferenceRequest,
	{ ledgers }: Services,
	step: Step,
): Promise<Pick<Explanation, "limits">> {
	const asked = { model, worth, ...(unpriced && { unpriced }) };
	const query = { credential, rates, budgets, asked };
	const now = await step("admit", () => ledgers.of(account).standing(query));
	if (!now) return {};
	const { would } = now;
	if (would && !would.ok)
		await step("admit", () => {
			throw refusal(would);
		});
	return { limits: limitsShown(now) };
}

const limitsShown = ({ rates, budgets }: LimitStatus): NonNullable<Explanation["limits"]> => ({
	rates: rates.map(({ key, perMinute, used, room }) => ({ key, per_minute: perMinute, used, room })),
	budgets: budgets.map((budget) => ({
		key: budget.key,
		...(budget.period && { period: budget.period }),
		neurons: budget.microNeurons / MICRO_NEURONS,
		spent: budget.spentMicroNeurons / MICRO_NEURONS,
		reserved: budget.reservedMicroNeurons / MICRO_NEURONS,
		room: budget.roomMicroNeurons / MICRO_NEURONS,
	})),
});

async function explainPlan(
	plan: Plan,
	{ id }: Model,
	call: TaskCall | undefined,
	{ services, operator }: { services: Services; operator: boolean },
): Promise<Pick<Explanation, "targets" | "retries" | "hedge_ms" | "total_ms">> {
	const { targets: routed = [], named } = services.routing.find(id) ?? {};
	const total = routed.reduce((sum, { weight = 0 }) => sum + weight, 0);
	const backends = await backendsOf(plan.targets);
	const whyOf = (target: PlannedTarget): string => {
		const { backend, model, kind, standing } = target;
		const tasks = backends.get(kind)?.(target, services) ?? {};
		if (call && !(call.task in tasks)) return `passed over: a ${kind} backend has no ${call.task}`;
		if (standing === "open") return "asked last: it failed again and again a short while ago";
		const { weight, urls } = routed.find((one) => one.backend === backend && one.model === model) ?? {};
		const standsIn = total > 0 ? "stands in, in the order of the route" : "in the order of the route";
		const share = weight === undefined ? standsIn : `weight ${weight} of ${total}`;
		const replicas = urls && urls.length > 1 ? `, one of ${urls.length} replicas` : "";
		return (named ? share : "the default backend: no route names the model") + replicas;
	};
	const replicaOf = ({ backend, model, url }: PlannedTarget): ExplainedTarget["replica"] => {
		const urls: readonly string[] =
			routed.find((one) => one.backend === backend && one.model === model)?.urls ?? [];
		if (urls.length < 2) return undefined;
		const host = operator ? { host: hostOf(url) } : {};
		return { number: urls.indexOf(url) + 1, of: urls.length, ...host };
	};
	const { retries, hedgeMs, totalMs } = plan;
	return {
		targets: plan.targets.map((target) => {
			const { backend, kind, model, standing, timeouts } = target;
			const replica = replicaOf(target);
			return {
				backend,
				kind,
				...(replica && { replica }),
				model,
				circuit: standing,
				why: whyOf(target),
				timeouts: timeoutsShown(timeouts),
			};
		}),
		retries: { attempts: retries.attempts, base_ms: retries.baseMs, max_ms: retries.maxMs },
		...(hedgeMs !== undefined && { hedge_ms: hedgeMs }),
		...(totalMs !== undefined && { total_ms: totalMs }),
	};
}

const timeoutsShown = ({
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
