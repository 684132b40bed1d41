/**
 * Decides how the stream of a request reaches its caller. `rewrite`: the gateway reads each event before it sends it.
 * `passthrough`: the runtime moves the engine's bytes, and the gateway reads a copy.
 *
 * Without a setting of the route, a stream passes through if it needs no change: its caller could not see a difference while
 * the engine works (`unchanged-streams.ts`). With the setting it passes through even if there are differences
 * ({@link StreamMode.differences}).
 */

import { streamChange } from "../backends/openai/stream-changes.ts";
import { hasSecrets } from "../backends/transport/upstream-failure.ts";
import type { Measured } from "../counting/quantities.ts";
import { isOperatorModel, type Model } from "../models/model.ts";
import { microNeurons, shownNeurons } from "../models/neurons.ts";
import type { StreamEndFormatter } from "../tasks/task.ts";
import { choicesOf, isResumable, measureStream, type ResumableCall } from "../tasks/traits.ts";
import { isPooled, type Plan } from "./plan.ts";
import type { Parsed } from "./prepare.ts";
import type { StreamSource } from "./unchanged-streams.ts";

export interface StreamMode {
	mode: "rewrite" | "passthrough";
	why: string;
	/** How a stream in the mode `passthrough` differs from one in the mode `rewrite`. Absent if only `rewrite` is possible. */
	differences?: string[];
}

interface DecidedStream {
	stream: StreamMode;
	/** For the mode `passthrough`. */
	streamEnd?: StreamEndFormatter;
}

type StreamPlan = Pick<Plan, "passthrough" | "targets" | "hedgeMs">;

interface StreamRequest extends Pick<Parsed, "call" | "inputs" | "writer"> {
	model: Model;
}

/** `undefined` if the answer is not a stream. `unchanged`: whether the streams of an engine need no change. */
export function decideStream(
	plan: StreamPlan,
	request: StreamRequest,
	unchanged: (source: StreamSource, offersTools: boolean) => boolean,
): DecidedStream | undefined {
	const { call, model, writer } = request;
	if (!isResumable(call) || !call.input.stream) return undefined;
	const possible = writer.canPassThrough?.(request, model) ?? { why: "this interface has its own events" };
	if ("why" in possible) return rewrite(possible.why);
	if (plan.targets.some(({ kind }) => kind !== "openai"))
		return rewrite('not every target is of the kind "openai"');
	const change = changeOf(plan, call, model);
	if (change) return rewrite(change);
	if (plan.hedgeMs !== undefined) return rewrite('the route sets "hedge_ms"');
	if (plan.targets.some((target) => isPooled(target) && target.pool.prefill))
		return rewrite("the usage of a prefill and a decode replica is combined");
	const { formatCost, formatError, offersTools, requestsUsage } = possible;
	const [target, ...others] = plan.targets;
	const hasFailover = others.length > 0 || isPooled(target);
	const differences = [
		"an engine's error inside the stream is sent unredacted",
		"an incomplete or malformed event is sent before the error",
		"without usage from the engine there is no usage chunk",
		...(plan.targets.some((target) => target.model !== model.id)
			? ["chunks have the engine's name of the model"]
			: []),
		...(requestsUsage ? [] : ["the engine's usage chunk is sent, although it is not requested"]),
		...(model.prices.length > 0 ? ["the stream has no neurons"] : []),
		...(hasFailover ? ["no other target continues the stream"] : []),
	];
	const passThrough = (why: string, end?: Pick<StreamEndFormatter, "onComplete">): DecidedStream => ({
		stream: { mode: "passthrough", why, differences },
		streamEnd: { onFailure: formatError, ...end },
	});
	if (plan.passthrough) return passThrough('the route sets "passthrough"');
	if (plan.passthrough === false) return rewrite('the route sets "passthrough" to false', differences);
	if (!requestsUsage) return rewrite("the caller does not request usage", differences);
	if (hasFailover) return rewrite("another target can continue the stream", differences);
	if (!isOperatorModel(model))
		return rewrite("a model of the catalogue has neurons in its usage", differences);
	if (hasSecrets(target))
		return rewrite("an engine's error could repeat the backend's key or headers", differences);
	if (choicesOf(call) > 1) return rewrite("the usage of several choices may have to be added", differences);
	const source = { backend: target.backend, engineModel: target.model, model: model.id };
	return unchanged(source, offersTools)
		? passThrough("the engine's last stream needed no change", {
				onComplete: (progress) =>
					model.prices.length > 0 ? formatCost(costOf(measureStream(call, progress, model), model)) : "",
			})
		: rewrite(
				offersTools
					? "no stream of the engine with several tool calls was unchanged yet"
					: "the engine's last stream was changed, or there was none",
				differences,
			);
}

function changeOf({ targets }: StreamPlan, call: ResumableCall, model: Model): string | undefined {
	const changes = targets.map((target) => {
		const [url = ""] = isPooled(target) ? target.pool.urls : [target.url];
		return streamChange(call.input, { target: { ...target, url }, model });
	});
	return changes.find(Boolean);
}

const costOf = ({ quantities }: Measured, { prices }: Model): number =>
	shownNeurons(microNeurons(prices, quantities));

const rewrite = (why: string, differences?: string[]): DecidedStream => ({
	stream: { mode: "rewrite", why, ...(differences && { differences }) },
});
