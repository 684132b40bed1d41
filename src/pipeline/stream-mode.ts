/**
 * Decides how the stream of a request reaches its caller. `rewrite`: the gateway reads each event before it sends it.
 * `passthrough`: the runtime moves the engine's bytes, and the gateway reads a copy.
 *
 * `passthrough` is never the default: a caller can always see a difference ({@link StreamMode.differences}).
 */
import type { Model } from "../models/model.ts";
import type { StreamErrorFormatter } from "../tasks/task.ts";
import { isResumable } from "../tasks/traits.ts";
import { isPooled, type Plan } from "./plan.ts";
import type { Parsed } from "./prepare.ts";

export interface StreamMode {
	mode: "rewrite" | "passthrough";
	why: string;
	/** How a stream in the mode `passthrough` differs from one in the mode `rewrite`. Absent if only `rewrite` is possible. */
	differences?: string[];
}

interface DecidedStream {
	stream: StreamMode;
	/** For the mode `passthrough`. */
	formatStreamError?: StreamErrorFormatter;
}

type StreamPlan = Pick<Plan, "passthrough" | "targets" | "hedgeMs">;

/** `undefined` if the answer is not a stream. */
export function decideStream(plan: StreamPlan, request: Parsed, model: Model): DecidedStream | undefined {
	const { call, writer } = request;
	if (!isResumable(call) || !call.input.stream) return undefined;
	const possible = writer.canPassThrough?.(request, model) ?? { why: "this interface has its own events" };
	if ("why" in possible) return rewrite(possible.why);
	if (plan.targets.some(({ kind }) => kind !== "openai"))
		return rewrite('not every target is of the kind "openai"');
	if (plan.hedgeMs !== undefined) return rewrite('the route sets "hedge_ms"');
	if (plan.targets.some((target) => isPooled(target) && target.pool.prefill))
		return rewrite("the usage of a prefill and a decode replica is combined");
	const { formatStreamError, requestsUsage } = possible;
	const differences = [
		"an engine's error inside the stream is sent unredacted",
		"an incomplete or malformed event is sent before the error",
		"without usage from the engine there is no usage chunk",
		...(plan.targets.some((target) => target.model !== model.id)
			? ["chunks have the engine's name of the model"]
			: []),
		...(requestsUsage ? [] : ["the engine's usage chunk is sent, although it is not requested"]),
		...(model.prices.length > 0 ? ["the usage chunk has no neurons"] : []),
		...(plan.targets.length > 1 || plan.targets.some(isPooled)
			? ["no other target continues the stream"]
			: []),
	];
	if (!plan.passthrough) return rewrite('the route does not set "passthrough"', differences);
	return {
		stream: { mode: "passthrough", why: 'the route sets "passthrough"', differences },
		formatStreamError,
	};
}

const rewrite = (why: string, differences?: string[]): DecidedStream => ({
	stream: { mode: "rewrite", why, ...(differences && { differences }) },
});
