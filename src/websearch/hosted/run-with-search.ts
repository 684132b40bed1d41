/**
 * Runs a request for a chat. If it has a hosted web search tool that its model does not have, the gateway runs the searches. A surface calls
 * this instead of the pipeline's `run`.
 */
import { searchesItself } from "../../backends/own-features.ts";
import { isRecord } from "../../core/json.ts";
import { withChatInput } from "../../dialects/chat/call.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import type { Model } from "../../models/model.ts";
import type { InferenceRequest, Reply } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { run } from "../../pipeline/run.ts";
import type { ChatInput, EngineSearch } from "../../tasks/text-generation/types.ts";
import { chooseHostedProvider } from "../choose-provider.ts";
import type { SearchServices } from "../services.ts";
import { SIMULATOR } from "../simulated-search.ts";
import type { HostedFormat, HostedRequest, RoutedTarget } from "./hosted-request.ts";
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
	const route = await routeOf(request, services);
	if (route?.targets.every((target) => format.isAtUpstream(target, route.model)))
		return run(withFields(format.forUpstream(fields)), services);
	const seals = await SearchSeals.load(request.caller.account, services);
	const provider = chooseHostedProvider((await services.searchKeys?.find()) ?? [], services.webSearch);
	const isConfigured = provider !== undefined && provider.provider.kind !== SIMULATOR;
	const enginesSearch = !isConfigured && route !== undefined && route.targets.every(searchesItself);
	const hosted = provider || enginesSearch ? format.read(fields) : undefined;
	const engines = enginesSearch && hosted ? engineSearch(hosted) : undefined;
	if (!hosted || !provider || engines) {
		const others = format.withoutTool(fields);
		const sent = engines?.isForced ? { ...others, tool_choice: undefined } : others;
		const withoutTool = restored(withFields(sent), seals);
		if (provider && !engines) return run(withoutTool, services);
		return run(withEngineSearch(withoutTool, engines, format), services);
	}
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
const restored = (request: InferenceRequest, seals: SearchSeals | undefined): InferenceRequest =>
	withDialect(request, (dialect) => restoring(dialect, seals));

function withDialect(
	{ dialect, ...request }: InferenceRequest,
	change: (dialect: Dialect) => Dialect,
): InferenceRequest {
	return {
		...request,
		dialect(model) {
			const loaded = dialect(model);
			return loaded instanceof Promise ? loaded.then(change) : change(loaded);
		},
	};
}

const engineSearch = ({ settings, style, isForced }: HostedRequest): Omit<EngineSearch, "name"> => ({
	...settings,
	showsSearches: style.showsSearches,
	...(isForced && { isForced }),
});

/** The request with the search of its engines. Without one, the tool's name is reported as dropped. */
function withEngineSearch(
	request: InferenceRequest,
	search: Omit<EngineSearch, "name"> | undefined,
	{ toolName: name, removesTool }: HostedFormat,
): InferenceRequest {
	const withSearch = ({ dropped = [], ...input }: ChatInput): ChatInput => {
		const others = dropped.filter((part) => !part.startsWith(name));
		const reported = search ? others : removesTool ? [...others, name] : dropped;
		return {
			...input,
			...(reported.length > 0 && { dropped: reported }),
			...(search && { web_search: { ...search, name } }),
		};
	};
	return withDialect(request, ({ reader, writer }) => ({
		reader: { ...reader, read: (...sent) => withChatInput(reader.read(...sent), withSearch) },
		writer,
	}));
}

/** `undefined`: there is none. */
async function routeOf(
	{ model: name, caller }: InferenceRequest,
	services: SearchServices,
): Promise<{ model: Model; targets: readonly RoutedTarget[] } | undefined> {
	try {
		const { model, routed } = await resolveModel(name, caller, services);
		return routed && { model, targets: routed.targets };
	} catch {
		// The pipeline resolves the model again, and its failure has what the surface needs.
		return undefined;
	}
}
