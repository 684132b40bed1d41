/**
 * Runs a request for a chat. If it has a hosted web search tool that its model does not have, the gateway runs the searches. A surface calls
 * this instead of the pipeline's `run`.
 */
import { isRecord } from "../../core/json.ts";
import type { InferenceRequest, Reply } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { run } from "../../pipeline/run.ts";
import type { SearchServices } from "../services.ts";
import type { HostedFormat } from "./hosted-request.ts";
import { SearchLoop } from "./search-loop.ts";
import { Searches } from "./searches.ts";
import { streamedAnswer } from "./streamed-answer.ts";
import { wholeAnswer } from "./whole-answer.ts";

export async function runHosted(
	request: InferenceRequest,
	format: HostedFormat,
	services: SearchServices,
): Promise<Reply> {
	const { fields } = request.inputs;
	if (!isRecord(fields)) return run(request, services);
	const withFields = (changed: object): InferenceRequest => ({ ...request, inputs: { fields: changed } });
	if (await hasOwnTool(request, format, services))
		return run(withFields(format.forUpstream(fields)), services);
	const hosted = services.webSearch?.fallback && format.read(fields);
	if (!hosted) return run(withFields(format.withoutTool(fields)), services);
	const left = new Searches(request, hosted.settings, services);
	const continued = await Promise.all(hosted.pending.map((call) => left.run(call, request.signal)));
	const loop = new SearchLoop(withFields(hosted.fields(continued)), hosted, services);
	loop.searches.neurons = left.neurons;
	const first = await loop.next();
	const { answer } = first;
	if (answer.kind === "stream") return streamedAnswer(first, loop, continued);
	return wholeAnswer({ ...first, answer }, loop, continued);
}

/** Whether every engine of the route has the tool, and receives the caller's request with it. */
async function hasOwnTool(
	{ model: name, caller }: InferenceRequest,
	{ isAtUpstream }: HostedFormat,
	services: SearchServices,
): Promise<boolean> {
	try {
		const { model, routed } = await resolveModel(name, caller, services);
		return routed?.targets.every((target) => isAtUpstream(target, model)) ?? false;
	} catch {
		// The pipeline resolves the model again, and its failure has what the surface needs.
		return false;
	}
}
