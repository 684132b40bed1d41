/**
 * The model that a caller names, by id or alias, and its route. Throws 5007, 5028, or AI Gateway's 7003; and 2021 for an id of a provider
 * that only the provider could know. Aliases, in order of precedence: the configuration's of the account, the configuration's for all
 * accounts, and those that the account has set by the API.
 */
import { AiError } from "../core/errors.ts";
import type { Model } from "../models/model.ts";
import {
	authorOf,
	isThirdPartyId,
	THIRD_PARTY_AUTHORS,
	THIRD_PARTY_SOURCE,
	unservedTask,
} from "../models/third-party.ts";
import { namedModel } from "../providers/provider-models.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { hasEnded } from "./is-served.ts";
import { modelSuggestion } from "./model-suggestion.ts";
import type { ResolvedRoute } from "./plan.ts";
import type { Caller } from "./request.ts";
import type { PipelineServices } from "./services.ts";

/** Characters of an id that only a pattern matches. Callers invent such ids, and each is in memory and in the account's tables. */
const MAX_ID = 1_024;

type AliasServices = Pick<PipelineServices, "aliases" | "catalog" | "ledgers">;
type AliasCaller = Pick<Caller, "account" | "credential">;
export type AuthorizeServices = Pick<PipelineServices, "catalog" | "routing" | "now">;

export interface ResolvedModel {
	model: Model;
	/** Absent if no route and no default backend serves the model. */
	routed: ResolvedRoute | undefined;
}

export async function resolveModel(
	name: string,
	caller: AliasCaller,
	services: AliasServices & AuthorizeServices,
): Promise<ResolvedModel> {
	const id = await modelOf(name, caller, services);
	const routed = services.routing.find(id);
	return { model: authorize(id, routed, services), routed };
}

/** A deprecated model runs if a route names it: the operator serves it, whatever the product does. */
export function authorize(id: string, routed: ResolvedRoute | undefined, services: AuthorizeServices): Model {
	const { catalog, now } = services;
	// Half of a surrogate pair cannot be sent to an engine, nor back in a header.
	if (!id.isWellFormed()) throw new AiError("noSuchModel", `No such model ${id.toWellFormed()} or task`);
	const model = catalog.find(id);
	if (!model) {
		if (id.length > MAX_ID)
			throw new AiError(
				"noSuchModel",
				`No such model ${id.slice(0, 100).toWellFormed()}… or task: its name is too long`,
			);
		if (routed?.named && unservedTask(id) === undefined) return namedModel(id, catalog);
		throw unknown(id, routed !== undefined, services);
	}
	if (hasEnded(model, routed, now()))
		throw new AiError(
			"deprecatedModel",
			`${id} was ${model.deprecated ? `deprecated on ${model.deprecated}` : "removed"}. See the model catalog for alternatives, or serve it here by a route that names it (ROUTES)`,
		);
	return model;
}

/**
 * Throws 2021 for a known model of a third party that nothing serves. The product checks the id, the body and then the credits. Call this after
 * the body is read.
 */
export function requireKey({ model, routed }: ResolvedModel): void {
	if (!routed && model.source === THIRD_PARTY_SOURCE) throw missingKey(model.id);
}

/** Names of vendors' models, which coding agents and SDKs send by default: `gpt-5.6-sol`, `claude-opus-5-5`, `gemini-3.8-flash`, `o4-mini`. */
const BUILT_IN_NAME =
	/^(?:gpt-|chatgpt-|codex-|o\d|claude-|gemini-|text-embedding-|whisper-|(?:omni|text)-moderation-|dall-e-|tts-|grok-|deepseek-|mistral-)/;

/** The error of an unknown id: Workers AI's for its own models, AI Gateway's for those of third parties. */
function unknown(id: string, isServed: boolean, services: AuthorizeServices): AiError {
	if (!isThirdPartyId(id)) {
		const hint = BUILT_IN_NAME.test(id)
			? ": clients have this name built in. An alias (ALIASES) or a route (ROUTES) serves it by a model of yours"
			: modelSuggestion(id, services);
		return new AiError("noSuchModel", `No such model ${id} or task${hint}`);
	}
	const task = unservedTask(id);
	if (task !== undefined)
		return new AiError("unknownThirdPartyModel", `Model not found: ${id} (${task} is not available here)`);
	const author = authorOf(id);
	const isKnown = THIRD_PARTY_AUTHORS.has(author) || Object.hasOwn(PROVIDERS, author);
	// Without the author's key the gateway cannot know whether the author has the model.
	if (isKnown && !isServed) return missingKey(id);
	return new AiError("unknownThirdPartyModel", `Model not found: ${id}${modelSuggestion(id, services)}`);
}

function missingKey(id: string): AiError {
	const author = authorOf(id);
	const where = Object.hasOwn(PROVIDERS, author)
		? "PROVIDER_KEYS, or store a key in provider_configs of the gateway"
		: "ROUTES";
	return new AiError(
		"missingProviderKey",
		`Insufficient AI Gateway credits: nothing is set up here for ${author} (see ${where})`,
	);
}

/** The model id of a name; the name itself if it is not an alias. Calls the account only for unknown names. */
export function modelOf(
	name: string,
	caller: AliasCaller,
	services: AliasServices,
): string | Promise<string> {
	const { aliases, catalog, ledgers } = services;
	if (catalog.find(name)) return name;
	const configured = aliases.accounts.get(caller.account)?.get(name) ?? aliases.everyone.get(name);
	if (configured !== undefined) return configured;
	const reading = ledgers.of(caller.account).aliases(caller.credential);
	return reading.then((rows) => rows.find(({ alias }) => alias === name)?.model ?? name);
}

export interface KnownAlias {
	alias: string;
	model: string;
	source: "configuration" | "account";
	/** Epoch milliseconds. Only for an alias that was set by the API. */
	modifiedOn?: number;
}

/** All aliases of an account, sorted by name. */
export async function aliasesOf(
	caller: AliasCaller,
	{ aliases, ledgers }: AliasServices,
): Promise<KnownAlias[]> {
	const known = new Map<string, KnownAlias>();
	for (const { alias, model, modified_on } of await ledgers.of(caller.account).aliases(caller.credential))
		known.set(alias, { alias, model, source: "account", modifiedOn: modified_on });
	for (const table of [aliases.everyone, aliases.accounts.get(caller.account) ?? []])
		for (const [alias, model] of table) known.set(alias, { alias, model, source: "configuration" });
	return [...known.values()].sort((a, b) => (a.alias < b.alias ? -1 : 1));
}
