/** Writes the answer in the caller's dialect. */
import type { WriteContext, Writer } from "../dialects/dialect.ts";
import type { Model } from "../models/model.ts";
import { droppedOf } from "../tasks/traits.ts";
import type { Metered } from "./meter.ts";
import type { Dispatched, InferenceRequest, Reply } from "./request.ts";
import type { Services } from "./services.ts";

interface Written extends Omit<Dispatched, "answer"> {
	model: Model;
	/** As the caller sent them, validated. */
	inputs: unknown;
	writer: Writer;
	metered: Metered;
}

export function write(
	{ id: requestId }: Pick<InferenceRequest, "id">,
	{ model, inputs, writer, call, served, metered }: Written,
	{ now, unchangedStreams, uuid }: Pick<Services, "now" | "unchangedStreams" | "uuid">,
): Reply {
	const { answer, isUsageUnchanged, neurons, withCost } = metered;
	const cost = neurons === undefined ? {} : { neurons };
	const dropped = droppedOf(call);
	const context: WriteContext = { model, inputs, call, now: now(), requestId, uuid, withCost, ...cost };
	if (isUsageUnchanged)
		context.recordStream = ({ isUnchanged, hasToolCalls }) => {
			const source = { backend: served.backend, engineModel: served.model, model: model.id };
			unchangedStreams.record(source, { isUnchanged: isUnchanged && isUsageUnchanged(), hasToolCalls });
		};
	return { model, served, ...cost, ...(dropped && { dropped }), body: writer.write(answer, context) };
}
