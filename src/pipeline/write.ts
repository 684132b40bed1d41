/** Writes the answer in the caller's dialect. */
import type { WriteContext } from "../dialects/dialect.ts";
import type { TaskCall } from "../tasks/task.ts";
import { definitionOf } from "../tasks/traits.ts";
import type { Metered } from "./meter.ts";
import type { EstimatedRun } from "./prepare.ts";
import type { EngineAnswer, InferenceRequest, Reply, Served } from "./request.ts";
import type { PipelineServices } from "./services.ts";

interface Written {
	answered: EngineAnswer;
	metered: Metered;
}

export function write(
	{ id: requestId }: Pick<InferenceRequest, "id">,
	{ model, inputs, writer }: Pick<EstimatedRun, "model" | "inputs" | "writer">,
	{ answered: { call, served }, metered }: Written,
	{ now, unchangedStreams, uuid }: Pick<PipelineServices, "now" | "unchangedStreams" | "uuid">,
): Reply {
	const { answer, isUsageUnchanged, neurons, withCost } = metered;
	const context: WriteContext = { model, inputs, call, now: now(), requestId, uuid, withCost };
	if (neurons !== undefined) context.neurons = neurons;
	const stream = answer.answer.kind === "stream" ? answer.answer : undefined;
	if (stream) {
		const { ended, progress } = stream;
		const source = { backend: served.backend, engineModel: served.model, model: model.id };
		const record = (isUnchanged: boolean) =>
			unchangedStreams.record(source, {
				isUnchanged: isUnchanged && !progress.isRepaired,
				toolCalls: progress.toolCalls ?? 0,
			});
		if (isUsageUnchanged) context.recordStream = (isUnchanged) => record(isUnchanged && isUsageUnchanged());
		// A stream that passed although it needed a change is the last one.
		if (ended) void ended.then(() => progress.isRepaired && record(false));
	}
	const reply: Reply = { model, served, body: writer.write(answer, context) };
	if (neurons !== undefined) reply.neurons = neurons;
	const dropped = droppedParts(call, served);
	if (dropped.length > 0) reply.dropped = dropped;
	return reply;
}

const NOTHING: readonly string[] = [];

/** The parts that the dialect or the backend dropped, each once. */
function droppedParts(call: TaskCall, { kind, report }: Pick<Served, "kind" | "report">): readonly string[] {
	const byDialect =
		(report?.verbatim ? undefined : definitionOf(call).dropped?.(call.input, kind)) ?? NOTHING;
	return report?.dropped.length ? [...new Set([...byDialect, ...report.dropped])] : byDialect;
}
