/** Repeats a call without a feature that its engine refuses. */
import { toAiError } from "../core/errors.ts";
import type { Call, Refusal } from "./transport/upstream-failure.ts";

/** Statuses for a request with an unknown field or value. */
const REFUSAL_STATUSES: readonly (number | undefined)[] = [400, 422];

interface FeatureCall<Output> {
	/** Matches a refusal that names the feature. */
	named: RegExp;
	request(call: Call): Promise<Output>;
	requestWithout(call: Call): Promise<Output>;
	/** The second request was answered. */
	learn(): void;
}

/** Makes the second request at most once, in the remaining time. */
export async function withoutIfRefused<Output>(
	call: Call,
	{ named, request, requestWithout, learn }: FeatureCall<Output>,
): Promise<Output> {
	const { target, services } = call;
	const { timeouts } = target;
	const startedAt = services.now();
	let isNamed = false;
	const refusal: Call["refusal"] = (refused) => {
		isNamed = named.test(messageIn(refused));
		return call.refusal?.(refused);
	};
	try {
		return await request({ ...call, refusal });
	} catch (error) {
		const { upstream } = toAiError(error);
		// The clock may have been set back.
		const totalMs = timeouts.totalMs - Math.max(0, services.now() - startedAt);
		if (!isNamed || !REFUSAL_STATUSES.includes(upstream?.status) || totalMs <= 0) throw error;
		const output = await requestWithout({
			...call,
			target: { ...target, timeouts: { ...timeouts, totalMs } },
		});
		learn();
		return output;
	}
}

/** The reply without the fields `input`, in which FastAPI quotes the request. */
const messageIn = ({ body }: Refusal): string =>
	String(JSON.stringify(body, (name, value) => (name === "input" ? undefined : value)));
