/** Writes the answer in the caller's dialect. */
import type { WriteContext } from "../dialects/dialect.ts";
import { droppedOf } from "../tasks/traits.ts";
import type { Metered } from "./meter.ts";
import type { Prepared } from "./prepare.ts";
import type { Dispatched, InferenceRequest, Reply } from "./request.ts";
import type { Services } from "./services.ts";

interface Written {
	answered: Dispatched;
	metered: Metered;
}

export function write(
	{ id: requestId }: Pick<InferenceRequest, "id">,
	{ model, inputs, writer }: Pick<Prepared, "model" | "inputs" | "writer">,
	{ answered: { call, served }, metered }: Written,
	{ now, unchangedStreams, uuid }: Pick<Services, "now" | "unchangedStreams" | "uuid">,
): Reply {
	const { answer, isUsageUnchanged, neurons, withCost } = metered;
	const context: WriteContext = { model, inputs, call, now: now(), requestId, uuid, withCost };
	if (neurons !== undefined) context.neurons = neurons;
	if (isUsageUnchanged)
		context.recordStream = ({ isUnchanged, hasToolCalls }) => {
			const source = { backend: served.backend, engineModel: served.model, model: model.id };
			unchangedStreams.record(source, { isUnchanged: isUnchanged && isUsageUnchanged(), hasToolCalls });
		};
	const reply: Reply = { model, served, body: writer.write(answer, context) };
	if (neurons !== undefined) reply.neurons = neurons;
	const dropped = droppedOf(call, served.kind);
	if (dropped) reply.dropped = dropped;
	return reply;
}
