/**
 * Lets a request in: one call of the account's object looks at the credential, counts the request against its rates
 * and reserves what it may cost. What comes back is the ticket, which whoever holds it must settle; a ticket that
 * nobody settles becomes a bill of its whole reservation, some time after `holdMs`.
 *
 * Where the account had room for many more like it a moment ago, the request goes ahead (`ahead.ts`): its engine is
 * asked while the call is under way.
 */

import {
	type Admission,
	type Budget,
	type Granted,
	MICRO_NEURONS,
	type RateLimit,
	type Worth,
} from "../accounts/admission.ts";
import { describeUnpriced } from "../accounts/durable/budgets.ts";
import { AiError, toAiError } from "../core/errors.ts";
import { estimate } from "../metering/estimate.ts";
import { can, type Model } from "../models/model.ts";
import { microNeurons, microNeuronsPerOutputToken } from "../models/neurons.ts";
import { modelRate } from "../models/rates.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { AccountLimits, Limits } from "./limits.ts";
import type { Routing } from "./plan.ts";
import type { InferenceRequest } from "./request.ts";
import type { Services } from "./services.ts";
import { Ticket } from "./ticket.ts";

export type AdmitServices = Pick<
	Services,
	"analytics" | "ledgers" | "limits" | "now" | "routing" | "waitUntil"
>;

/** A request that was let in, or goes ahead. */
export interface Entry {
	ticket: Ticket;
	/** As it may be asked: with less output where a budget has no room for more. */
	call: TaskCall;
	/** Of a request that goes ahead. */
	ahead?: {
		/** How it may really be asked, by the account's word: `call` itself where that is as expected. */
		word: Promise<TaskCall>;
		/** It can do nothing more without the word. */
		needed(): void;
	};
}

/** Throws `AiError` where the account says no. */
export async function admit(
	{ id, caller, options }: Pick<InferenceRequest, "id" | "caller" | "options">,
	model: Model,
	call: TaskCall,
	services: AdmitServices,
): Promise<Entry> {
	const limits = limitsOf(services.limits, caller.account);
	const startedAt = services.now();
	const ledger = services.ledgers.of(caller.account);
	const wanted = await admission(id, caller.credential, model, call, limits);
	const asked = { ...onRoute(wanted, model, services.routing), holdMs: services.limits.holdMs };
	// Before the account is asked: a caller who leaves meanwhile must not take along who has to settle.
	const ticket = new Ticket({ asked, account: caller.account, model, startedAt, ledger, services });
	const hear = async (word: Promise<Granted>): Promise<Granted> => {
		try {
			const granted = await word;
			if (granted.limited) ticket.limit();
			caller.known = true;
			return granted;
		} catch (refused) {
			ticket.drop();
			// Whatever the object says of the request, it has looked at the credential first; unless it said nothing.
			if (toAiError(refused).key !== "ledgerUnavailable") caller.known = true;
			throw refused;
		}
	};
	// A session is not begun for nothing, and an answer that others share must be somebody's who pays for it.
	const waits = call.task === "live-transcription" || options?.singleFlight;
	const ahead = waits ? undefined : ledger.ahead(asked);
	if (!ahead) return { ticket, call: bounded(call, (await hear(ledger.admit(asked))).outputTokens) };
	const { outputTokens } = ahead.expected;
	const expected = bounded(call, outputTokens);
	const word = hear(ahead.word).then((granted) =>
		granted.outputTokens === outputTokens ? expected : bounded(call, granted.outputTokens),
	);
	// It may come before anybody looks.
	word.catch(() => {});
	return { ticket, call: expected, ahead: { word, needed: ahead.needed } };
}

export const limitsOf = ({ accounts, everyone }: Limits, account: string): AccountLimits =>
	accounts.get(account) ?? everyone;

/** Pure: what a request asks of its account. */
export async function admission(
	ticket: string,
	credential: Admission["credential"],
	model: Model,
	call: TaskCall,
	limits: AccountLimits,
): Promise<Omit<Admission, "holdMs">> {
	return {
		ticket,
		credential,
		model: model.id,
		task: model.task,
		rates: ratesOf(model, limits),
		budgets: budgetsOf(model, limits),
		worth: await worthOf(model, call),
	};
}

/**
 * Refuses a model that the account's plan does not have, and one without a price that would pass by the account's
 * budgets. Of a token's own budget the object knows.
 */
export function checkPlan(model: Model, limits: AccountLimits, routing: Routing): void {
	if (
		model.prices.length === 0 &&
		budgetsOf(model, limits).length > 0 &&
		isUnpriced(model, routing.find(model.id))
	)
		throw new AiError("missingProviderKey", describeUnpriced(model.id, "account"));
	if (limits.plan === "free" && can(model, "require_workers_paid"))
		throw new AiError(
			"paidPlanRequired",
			`Model ${model.id} is not available on the Workers Free plan. Upgrade to access this model: LIMITS.plan`,
		);
}

/** A model with a rate of its own does not count against its task's. */
function ratesOf(model: Model, { requestsPerMinute, productRates, models }: AccountLimits): RateLimit[] {
	const own = models.get(model.id)?.requestsPerMinute ?? (productRates ? modelRate(model) : undefined);
	if (own !== undefined) return [{ key: `model:${model.id}`, perMinute: own }];
	const shared = requestsPerMinute[model.task];
	return shared === undefined ? [] : [{ key: `task:${model.task}`, perMinute: shared }];
}

function budgetsOf({ id }: Model, { plan, dailyNeurons, monthlyNeurons, models }: AccountLimits): Budget[] {
	const budgets: Budget[] = [];
	const add = (neurons: number | undefined, budget: Omit<Budget, "microNeurons">) => {
		if (neurons !== undefined) budgets.push({ ...budget, microNeurons: Math.floor(neurons * MICRO_NEURONS) });
	};
	const failure = "budgetExceeded";
	const own = models.get(id);
	add(dailyNeurons, { key: "account", failure: plan === "free" ? "freeAllocationUsed" : failure });
	add(monthlyNeurons, { key: "account", period: "month", failure });
	add(own?.dailyNeurons, { key: `model:${id}`, failure });
	add(own?.monthlyNeurons, { key: `model:${id}`, period: "month", failure });
	return budgets;
}

async function worthOf(model: Model, call: TaskCall): Promise<Worth> {
	const { fixed, outputTokens, outputUnbounded: open } = await estimate(call, model);
	const choices = choicesOf(call);
	return {
		fixedMicroNeurons: microNeurons(model.prices, fixed),
		microNeuronsPerOutputToken: microNeuronsPerOutputToken(model.prices),
		outputTokens,
		...(choices > 1 && { leastOutputTokens: choices }),
		open,
	};
}

/** What a request asks of its account when these engines may answer it. */
export function onRoute<T extends Pick<Admission, "credential" | "worth">>(
	asked: T,
	model: Model,
	routing: Routing,
): T & Pick<Admission, "unpriced"> {
	const unpriced = asked.credential.kind === "token" && isUnpriced(model, routing.find(model.id));
	const worth = worthOfAll(asked.worth, routing.find(model.id));
	return { ...asked, worth, ...(unpriced && { unpriced }) };
}

/** Where a second engine is asked beside a slow one, both are paid for what they do. */
function worthOfAll(worth: Worth, route: ReturnType<Routing["find"]>): Worth {
	const engines = route?.targets.reduce((sum, { urls }) => sum + urls.length, 0) ?? 0;
	if (route?.settings?.hedgeMs === undefined || engines < 2) return worth;
	return {
		...worth,
		fixedMicroNeurons: 2 * worth.fixedMicroNeurons,
		microNeuronsPerOutputToken: 2 * worth.microNeuronsPerOutputToken,
	};
}

/** An engine that is told how much may be said cannot cost more than was reserved. */
function bounded(call: TaskCall, outputTokens: number | undefined): TaskCall {
	if (outputTokens === undefined || call.task !== "text-generation") return call;
	const each = Math.max(1, Math.floor(outputTokens / choicesOf(call)));
	const { max_tokens = each } = call.input;
	return { ...call, input: { ...call.input, max_tokens: Math.min(max_tokens, each) } };
}

/** The model has no price, and its requests may cost the operator an unknown amount. */
const isUnpriced = ({ prices }: Pick<Model, "prices">, routed: ReturnType<Routing["find"]>): boolean =>
	prices.length === 0 && routed?.billed === true;

/** Each has the limit of output for itself. */
const choicesOf = (call: TaskCall): number => (call.task === "text-generation" ? (call.input.n ?? 1) : 1);
