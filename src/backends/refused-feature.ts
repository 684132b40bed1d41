/** Features that an engine refuses: the call is repeated without them, and later calls do not try them. */
import { type AiError, toAiError } from "../core/errors.ts";
import type { Target } from "./backend.ts";
import type { Call, Refusal } from "./transport/upstream-failure.ts";

/** Statuses for a request with an unknown field or value. */
const REFUSAL_STATUSES: readonly (number | undefined)[] = [400, 422];

interface FeatureCall<Output> {
	/** Whether the refusal is that of the feature. */
	isNamed(refusal: Refusal): boolean;
	request(call: Call): Promise<Output>;
	/** `refused`: the failure of the first request. */
	requestWithout(call: Call, refused: AiError): Promise<Output>;
	/** The second request was answered. */
	learn?(): void;
}

/** Makes the second request at most once, in the remaining time. */
export async function withoutIfRefused<Output>(
	call: Call,
	{ isNamed, request, requestWithout, learn }: FeatureCall<Output>,
): Promise<Output> {
	const { target, services } = call;
	const { timeouts } = target;
	const startedAt = services.now();
	let isRefused = false;
	const refusal: Call["refusal"] = (refused) => {
		isRefused = isNamed(refused);
		return call.refusal?.(refused);
	};
	try {
		return await request({ ...call, refusal });
	} catch (thrown) {
		const error = toAiError(thrown);
		const { upstream } = error;
		// The clock may have been set back.
		const totalMs = timeouts.totalMs - Math.max(0, services.now() - startedAt);
		if (!isRefused || !REFUSAL_STATUSES.includes(upstream?.status) || totalMs <= 0) throw error;
		const second = { ...call, target: { ...target, timeouts: { ...timeouts, totalMs } } };
		const output = await requestWithout(second, error);
		learn?.();
		return output;
	}
}

/** Whether the text of a refusal matches. */
export const refusalMatches =
	(named: RegExp) =>
	(refusal: Refusal): boolean =>
		named.test(messageIn(refusal));

/** The reply without the fields `input`, in which FastAPI quotes the request. */
const messageIn = ({ body }: Refusal): string =>
	String(JSON.stringify(body, (name, value) => (name === "input" ? undefined : value)));

/** Models of one backend. Callers may name any, so there is a bound. */
const MAX_LEARNED_MODELS = 100;

/** Keeps that the target's model refuses a feature, for all calls of its backend. */
export function learnRefusal(
	{ observed, model }: Pick<Target, "observed" | "model">,
	feature:
		| "chatRefusesTools"
		| "refusesCallsWithoutTools"
		| "refusesNoToolChoice"
		| "refusesSummaries"
		| "withoutDecisions",
): void {
	if (!observed) return;
	observed[feature] ??= new Set();
	if (observed[feature].size >= MAX_LEARNED_MODELS) observed[feature].clear();
	observed[feature].add(model);
}
