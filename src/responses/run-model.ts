/** Runs a model, after the compaction of its conversation if the request asks for it. */
import { isRecord } from "../core/json.ts";
import { requestsCompaction } from "../dialects/responses/summary.ts";
import type { InferenceRequest, Reply } from "../pipeline/request.ts";
import type { SearchServices } from "../websearch/services.ts";
import { runOnce } from "./run-once.ts";

export function runResponses(request: InferenceRequest, services: SearchServices): Promise<Reply> {
	const { fields } = request.inputs;
	return isRecord(fields) && fields.context_management && !requestsCompaction(fields.input)
		? import("./automatic-compaction.ts").then(({ runCompacted }) => runCompacted(request, services))
		: runOnce(request, services);
}
