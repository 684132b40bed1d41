/**
 * Runs a request for a chat. If it has a hosted web search tool that its model does not have, the gateway runs the searches. A surface calls
 * this instead of the pipeline's `run`.
 */
import { isRecord } from "../../core/json.ts";
import type { InferenceRequest, Reply } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { run } from "../../pipeline/run.ts";
import { chooseHostedProvider } from "../choose-provider.ts";
import type { SearchServices } from "../services.ts";
import type { HostedFormat } from "./hosted-request.ts";
import { SearchLoop } from "./search-loop.ts";
import { restoring, SearchSeals } from "./search-seals.ts";
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
	const seals = await SearchSeals.load(request.caller.account, services);
	const provider = chooseHostedProvider((await services.searchKeys?.find()) ?? [], services.webSearch);
	const hosted = provider && format.read(fields);
	if (!hosted) return run(restored(withFields(format.withoutTool(fields)), seals), services);
	const searches = new Searches(request, { settings: hosted.settings, provider }, services);
	const continued = await Promise.all(hosted.pending.map((call) => searches.run(call, request.signal)));
	const searchable = restored(withFields(hosted.fields(continued)), seals);
	const loop = new SearchLoop(searchable, { hosted, searches, seals }, services);
	const first = await loop.next();
	return first.answer.kind === "stream"
		? streamedAnswer(first, loop, continued)
		: wholeAnswer(first, loop, continued);
}

/** The request with the searches that the caller sends back in seals. */
function restored(request: InferenceRequest, seals: SearchSeals | undefined): InferenceRequest {
	const { dialect } = request;
	return {
		...request,
		dialect(model) {
			const loaded = dialect(model);
			return loaded instanceof Promise
				? loaded.then((each) => restoring(each, seals))
				: restoring(loaded, seals);
		},
	};
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
