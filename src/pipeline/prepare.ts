/** The steps of a request before admission, in order. They read only the configuration and the aliases. */
import type { CostEstimate } from "../accounts/admission.ts";
import { describeUnpriced } from "../accounts/durable/budgets.ts";
import { AiError } from "../core/errors.ts";
import { markDefaults, withoutDefaultLimit } from "../dialects/catalog-defaults.ts";
import type { Dialect, Reader, Writer } from "../dialects/dialect.ts";
import { asInputFailure } from "../dialects/invalid-input.ts";
import { parseMultipart } from "../dialects/media/multipart.ts";
import { validate } from "../dialects/validation/validation.ts";
import { can, type Model } from "../models/model.ts";
import { highestMicroNeurons } from "../models/neurons.ts";
import type { TaskCall } from "../tasks/task.ts";
import { definitionOf } from "../tasks/traits.ts";
import { type AccountLimits, limitsOf, rulesOf } from "./limits.ts";
import type { ResolvedRoute } from "./plan.ts";
import type { InferenceRequest, Inputs } from "./request.ts";
import { type ResolvedModel, requireKey, resolveModel } from "./resolve-model.ts";
import type { PipelineServices } from "./services.ts";

export interface Parsed {
	/** As the caller sent them, validated by the reader's schema. */
	inputs: unknown;
	call: TaskCall;
	writer: Writer;
	inputFailure?: Dialect["inputFailure"];
}

export type EstimatedRun = ResolvedModel & Parsed & { estimated: EstimatedCost };

/** A prepared call to answer. */
export interface AnswerRequest extends Parsed, ResolvedModel {
	request: InferenceRequest;
	/** Fires when the answer is no longer needed. */
	signal: AbortSignal;
}

/** `explain.ts` calls the same functions, and goes on after a refusal. */
export async function prepare(request: InferenceRequest, services: PipelineServices): Promise<EstimatedRun> {
	const { caller, inputs } = request;
	// First, because the model decides the dialect.
	const { model, routed } = await resolveModel(request.model, caller, services);
	const parsed = await parse(inputs, await request.dialect(model), { model, routed });
	fitContext(parsed.call, model, routed);
	refuseByPlan(model, limitsOf(services.limits, caller.account), routed);
	return { ...parsed, model, routed, estimated: estimateCost(parsed.call, model, routed) };
}

/**
 * Refuses third parties' models without a key, models of the paid plan, and models whose unknown price would bypass the account's budgets. The
 * account's object checks the budget of a token.
 */
export function refuseByPlan(model: Model, limits: AccountLimits, routed: ResolvedRoute | undefined): void {
	requireKey({ model, routed });
	if (isUnpriced(model, routed) && rulesOf(model, limits).budgets.length > 0)
		throw new AiError("missingProviderKey", describeUnpriced(model.id, "account"));
	if (limits.plan === "free" && can(model, "require_workers_paid"))
		throw new AiError(
			"paidPlanRequired",
			`Model ${model.id} is not available on the Workers Free plan. Upgrade to access this model: LIMITS.plan`,
		);
}

/** The model has no price, and its requests may cost the operator an unknown amount. */
export const isUnpriced = ({ prices }: Pick<Model, "prices">, routed: ResolvedRoute | undefined): boolean =>
	prices.length === 0 && routed?.billed === true;

/**
 * Converts what the caller sent to a task's input. A body that is not JSON becomes the value of one field. Validates as Workers AI does
 * if the route is `strict`; without a route, leniently.
 */
export async function parse(
	sent: Inputs,
	{ reader, writer, inputFailure }: Dialect,
	{ model, routed }: Pick<ResolvedModel, "model" | "routed">,
): Promise<Parsed> {
	const strict = routed?.strict ?? false;
	try {
		if (!reader.isBatch) refuseQueued(sent.fields);
		const fields = sent.body ? await joinBody(sent, sent.body, reader) : sent.fields;
		const inputs = validate(reader.schema(model, strict), fields);
		const call = reader.read(inputs as never, model, strict, routed?.targets);
		if (routed?.ownModels) markDefaults(call, fields, inputs, model);
		return { inputs, call, writer, ...(inputFailure && { inputFailure }) };
	} catch (thrown) {
		throw inputFailure ? asInputFailure(inputFailure, thrown) : thrown;
	}
}

const QUEUE_FIELDS = ["requests", "request_id"] as const;

/** Fields of the product's asynchronous queue. Without this check the error would be a 5006 that names another field. */
function refuseQueued(fields: unknown): void {
	if (typeof fields !== "object" || fields === null) return;
	for (const name of QUEUE_FIELDS)
		if (name in fields)
			throw new AiError(
				"invalidInput",
				`Invalid input: '${name}' needs the asynchronous queue: set queueRequest`,
			);
}

async function joinBody(
	{ fields, query }: Inputs,
	body: NonNullable<Inputs["body"]>,
	reader: Reader,
): Promise<unknown> {
	if (!reader.body)
		throw new AiError("badInput", `Error: a JSON body is expected, not '${body.contentType || "bytes"}'`);
	const { field, as } = reader.body;
	const others = { ...(reader.body.query && query), ...asRecord(fields) };
	if (as === "raw") return { ...others, [field]: body.bytes };
	const content = /^multipart\/form-data/i.test(body.contentType)
		? await parseMultipart(body.bytes, body.contentType)
		: body.bytes;
	return { ...others, [field]: { body: content, contentType: body.contentType } };
}

const asRecord = (fields: unknown): object => (typeof fields === "object" && fields !== null ? fields : {});

/** Checks that the call can fit the model's context window (5021), before it is reserved. */
export function fitContext(
	call: TaskCall,
	model: Model,
	routed: Pick<ResolvedRoute, "isSimulated"> | undefined,
): void {
	// The count for other engines than the simulator is an estimate.
	definitionOf(call).checkContext?.(call.input, model, routed?.isSimulated ?? false);
}

/** The most that a request can cost: the amount to reserve. */
export interface EstimatedCost extends CostEstimate {
	/** 0 for a model that is not priced by tokens. */
	inputTokens: number;
}

export function estimateCost(call: TaskCall, model: Model, routed: ResolvedRoute | undefined): EstimatedCost {
	const task = definitionOf(call);
	const { input } = routed?.ownModels ? withoutDefaultLimit(call) : call;
	const { fixed, outputTokens, outputUnbounded } = task.estimate(input, model);
	const choices = task.choices?.(call.input) ?? 1;
	// A hedged request may run on two engines, and both are paid.
	const isHedged =
		routed?.settings?.hedgeMs !== undefined &&
		routed.targets.reduce((sum, { urls }) => sum + urls.length, 0) > 1;
	const engines = isHedged ? 2 : 1;
	const highest = highestMicroNeurons(model.prices, fixed);
	return {
		inputTokens: fixed.inputTokens ?? 0,
		fixedMicroNeurons: engines * highest.fixed,
		microNeuronsPerOutputToken: engines * highest.perOutputToken,
		outputTokens,
		...(choices > 1 && { minOutputTokens: choices }),
		outputUnbounded,
	};
}
