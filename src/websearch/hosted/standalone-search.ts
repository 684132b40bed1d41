/**
 * The commands of Codex's standalone search: https://github.com/openai/codex, `codex-rs/codex-api/src/search.rs`. Only searches are run:
 * the gateway opens no pages. As at OpenAI, a command that fails is a text of a successful answer.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { InferenceRequest } from "../../pipeline/request.ts";
import { chooseHostedProvider } from "../choose-provider.ts";
import type { SearchServices } from "../services.ts";
import { ContextSize, Domains, Location } from "./search-fields.ts";
import { resultText, searchToolSettings } from "./search-tool.ts";
import { Searches } from "./searches.ts";

const MAX_QUERIES = 10;
/** Characters of one token, about. */
const CHARACTERS_PER_TOKEN = 4;

const Query = z.looseObject({ q: z.string(), domains: z.array(z.string()).nullish() });
export const StandaloneSearch = lazy(() =>
	z.looseObject({
		id: z.string().nullish(),
		model: z.string().nullish(),
		commands: z.looseObject({ search_query: z.array(Query).max(MAX_QUERIES).nullish() }).nullish(),
		settings: z
			.looseObject({
				search_context_size: ContextSize(),
				user_location: Location(),
				filters: z.looseObject({ allowed_domains: Domains(), blocked_domains: Domains() }).nullish(),
			})
			.nullish(),
		max_output_tokens: z.int().min(1).nullish(),
	}),
);
export type StandaloneSearch = z.infer<ReturnType<typeof StandaloneSearch>>;

/** Commands that are settings of the others. */
const SETTINGS = new Set(["search_query", "response_length"]);

export async function runStandaloneSearch(
	{ commands, settings, max_output_tokens }: StandaloneSearch,
	request: Pick<InferenceRequest, "caller" | "signal" | "observers">,
	services: SearchServices,
): Promise<{ output: string }> {
	const provider = chooseHostedProvider((await services.searchKeys?.find()) ?? [], services.webSearch);
	const queries = commands?.search_query ?? [];
	const runs = queries.map(async ({ q, domains }) => {
		const settingsOfQuery = searchToolSettings({
			contextSize: settings?.search_context_size,
			allowedDomains: domains?.length ? domains : settings?.filters?.allowed_domains,
			blockedDomains: settings?.filters?.blocked_domains,
			location: settings?.user_location,
		});
		const call = { id: services.uuid(), query: q.trim() };
		if (!provider) return resultText(call);
		const searches = new Searches(request, { settings: settingsOfQuery, provider }, services);
		return resultText(await searches.run(call, request.signal));
	});
	const texts = (await Promise.all(runs)).map((text, index) => `Search: ${queries[index]?.q ?? ""}\n${text}`);
	const refused = Object.entries(commands ?? {})
		.filter(([name, value]) => !SETTINGS.has(name) && value != null)
		.map(
			([name]) =>
				`The command ${name.slice(0, 32)} is not available: this gateway searches, and opens no pages.`,
		);
	const output = [...texts, ...refused].join("\n\n") || "There is no command in the request.";
	return {
		output: max_output_tokens
			? output.slice(0, max_output_tokens * CHARACTERS_PER_TOKEN).toWellFormed()
			: output,
	};
}
