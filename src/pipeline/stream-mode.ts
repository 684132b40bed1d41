/**
 * Decides how the stream of a request reaches its caller. `rewrite`: the gateway reads each event before it sends it.
 * `passthrough`: the runtime moves the engine's bytes, and the gateway reads a copy.
 *
 * Without a setting of the route, a stream passes through if it needs no change: its caller could not see a difference while
 * the engine works (`unchanged-streams.ts`). With the setting it passes through even if there are differences
 * ({@link StreamMode.differences}).
 *
 * Only what the runtime moves by itself is cheap: a loop in JavaScript that sends each chunk as it is costs 3.3 times the CPU of a plain
 * proxy, the rewriting stream 4.0, a stream that passes 1.65 (chunks 10 ms apart). So nothing can be withheld from a stream that
 * passes, neither an error nor the usage chunk before `[DONE]`. What needs that is rewritten; `coalesce_ms` of the route makes it
 * cheaper.
 */
import { streamChange } from "../backends/openai/choose-api.ts";
import { hasSecrets } from "../backends/transport/upstream-failure.ts";
import type { Measured } from "../counting/quantities.ts";
import type { PassThrough } from "../dialects/dialect.ts";
import { isOperatorModel, type Model } from "../models/model.ts";
import { microNeurons, shownNeurons } from "../models/neurons.ts";
import type { StreamEndFormatter } from "../tasks/task.ts";
import { definitionOf, isResumable, isStreamed, measureStream, type ResumableCall } from "../tasks/traits.ts";
import { isPooled, type Plan } from "./plan.ts";
import type { Parsed } from "./prepare.ts";
import type { UnchangedStreams } from "./unchanged-streams.ts";

export interface StreamMode {
	mode: "rewrite" | "passthrough";
	why: string;
	/** For the mode `rewrite`: everything that must change before the stream can pass through without a setting, `why` included. */
	obstacles?: string[];
	/** How a stream in the mode `passthrough` differs from one in the mode `rewrite`. Absent if only `rewrite` is possible. */
	differences?: string[];
}

interface DecidedStream extends Pick<StreamMode, "mode" | "why"> {
	/** For the mode `passthrough`. */
	streamEnd?: StreamEndFormatter;
}

type StreamPlan = Pick<Plan, "passthrough" | "targets" | "hedgeMs">;

interface StreamRequest extends Pick<Parsed, "call" | "inputs" | "writer"> {
	model: Model;
}

/** `undefined` if the answer is not a stream. `streams`: which engines' streams need no change. */
export function decideStream(
	plan: StreamPlan,
	request: StreamRequest,
	streams: Pick<UnchangedStreams, "has" | "canPass">,
): DecidedStream | undefined {
	const { call, model } = request;
	if (!isStreamed(call)) return undefined;
	const possible = passThroughOf(plan, request);
	if ("why" in possible) return { mode: "rewrite", why: possible.why };
	const { formatCost, formatError: onFailure } = possible;
	if (plan.passthrough)
		return {
			mode: "passthrough",
			why: 'the route sets "passthrough"',
			streamEnd: { onFailure, acceptsFaults: true },
		};
	const [why] = obstaclesTo(plan, request, possible, streams);
	if (why !== undefined) return { mode: "rewrite", why };
	return {
		mode: "passthrough",
		why: "the engine's last stream needed no change",
		streamEnd: {
			onFailure,
			onComplete: (progress) =>
				model.prices.length > 0 ? formatCost(costOf(measureStream(call, progress, model), model)) : "",
		},
	};
}

/** For `explain`: the decision about a stream, and what the setting `passthrough` would change. */
export function explainStream(
	...[plan, request, streams]: Parameters<typeof decideStream>
): StreamMode | undefined {
	const decision = decideStream(plan, request, streams);
	if (!decision) return undefined;
	const { mode, why } = decision;
	const possible = passThroughOf(plan, request);
	if ("why" in possible) return { mode, why };
	const differences = differencesOf(plan, request, possible);
	return mode === "rewrite"
		? { mode, why, obstacles: [...obstaclesTo(plan, request, possible, streams)], differences }
		: { mode, why, differences };
}

/** What must be rewritten whatever the route's setting is. */
function passThroughOf(
	plan: StreamPlan,
	{ call, inputs, writer, model }: StreamRequest,
): PassThrough | { why: string } {
	const possible = writer.canPassThrough?.({ call, inputs }, model) ?? {
		why: "this interface has its own events",
	};
	if ("why" in possible) return possible;
	if (plan.targets.some(({ kind }) => kind !== "openai"))
		return { why: 'not every target is of the kind "openai"' };
	const change = isResumable(call) ? changeOf(plan, call, model) : undefined;
	if (change) return { why: change };
	if (plan.hedgeMs !== undefined) return { why: 'the route sets "hedge_ms"' };
	if (plan.targets.some((target) => isPooled(target) && target.pool.prefill))
		return { why: "the usage of a prefill and a decode replica is combined" };
	return possible;
}

/** Why the stream is rewritten although the runtime could pass it. What the engine's streams have shown is asked last. */
function* obstaclesTo(
	plan: StreamPlan,
	{ call, model }: StreamRequest,
	{ offersTools, requestsUsage }: PassThrough,
	streams: Pick<UnchangedStreams, "has" | "canPass">,
): Generator<string> {
	const { targets } = plan;
	if (plan.passthrough === false) yield 'the route sets "passthrough" to false';
	if (!requestsUsage) yield "the caller does not request usage";
	if (hasFailover(plan)) yield "another target can continue the stream";
	if (!isOperatorModel(model)) yield "a model of the catalogue has neurons in its usage";
	if (targets.some(hasSecrets)) yield "an engine's error could repeat the backend's key or headers";
	if ((definitionOf(call).choices?.(call.input) ?? 1) > 1)
		yield "the usage of several choices may have to be added";
	// Only the stream of the first target is read again when it is due; the others answer if it fails.
	const isUnchanged = targets.every((target, i) => {
		const source = { backend: target.backend, engineModel: target.model, model: model.id };
		return i === 0 ? streams.canPass(source, offersTools) : streams.has(source, offersTools);
	});
	if (!isUnchanged)
		yield offersTools
			? "no stream of the engine with several tool calls was unchanged yet"
			: "the engine's last stream was changed, or there was none";
}

/** Whether an interrupted stream can go on at another target, or at another replica. */
function hasFailover({ targets }: StreamPlan): boolean {
	const hasOther = targets.length > 1 || targets.some(isPooled);
	return hasOther && targets.some(({ continues }) => continues !== false);
}

function differencesOf(plan: StreamPlan, { model }: StreamRequest, { requestsUsage }: PassThrough): string[] {
	return [
		"an engine's error inside the stream is sent unredacted",
		"an incomplete or malformed event is sent before the error",
		"without usage from the engine there is no usage chunk",
		...(plan.targets.some((target) => target.model !== model.id)
			? ["chunks have the engine's name of the model"]
			: []),
		...(requestsUsage ? [] : ["the engine's usage chunk is sent, although it is not requested"]),
		...(model.prices.length > 0 ? ["the stream has no neurons"] : []),
		...(hasFailover(plan) ? ["no other target continues the stream"] : []),
	];
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
