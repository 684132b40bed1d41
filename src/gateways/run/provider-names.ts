/**
 * Names of providers: AI Gateway's slugs, and the authors in the ids of models, which differ for some. Workers AI's slug is
 * `workers-ai`. A model's name can also name a dynamic route.
 */
import { asQuestion, didYouMean } from "../../core/did-you-mean.ts";
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import type { Catalog } from "../../models/catalog.ts";
import { authorOf, isThirdPartyId, THIRD_PARTY_AUTHORS } from "../../models/third-party.ts";
import type { Caller } from "../../pipeline/request.ts";
import { modelOf } from "../../pipeline/resolve-model.ts";
import { matches } from "../../pipeline/route.ts";
import { modelNamed, modelOfProvider } from "../../providers/provider-models.ts";
import { PROVIDERS } from "../../providers/providers.ts";
import { isProvider, PROVIDER_SLUGS } from "../providers/addresses.ts";
import { customSlug } from "../providers/custom-providers.ts";
import { WORKERS_AI } from "../request.ts";
import type { GatewayServices } from "../services.ts";

/** OpenAI's API for the models of all providers. */
export const COMPAT = "compat";

/** All slugs in addresses of gateways but those of custom providers. */
export const SLUGS: ReadonlySet<string> = new Set([WORKERS_AI, COMPAT, ...PROVIDER_SLUGS]);

/** The prefix of a dynamic route's name. */
export const DYNAMIC_ROUTE = "dynamic/";

/** A model that chooses among others: the Auto Router. */
const AUTO = "cloudflare/auto";
export const isAuto = (model: unknown): boolean => model === AUTO;

const AUTHOR_OF_SLUG: Readonly<Record<string, string>> = {
	"google-ai-studio": "google",
	grok: "xai",
	"perplexity-ai": "perplexity",
};
const SLUG_OF_AUTHOR: ReadonlyMap<string, string> = new Map(
	Object.entries(AUTHOR_OF_SLUG).map(([slug, author]) => [author, slug]),
);

/** Callers may send names of any length. */
const MAX_SHOWN_CHARACTERS = 64;

/** 2008, with the product's message and the reason. */
export const invalidProvider = (name: string, reason: string): AiError =>
	new AiError(
		"invalidProvider",
		`Invalid provider: ${JSON.stringify(name.slice(0, MAX_SHOWN_CHARACTERS).toWellFormed())} ${reason}`,
	);

/** What callers probably mean by names that are not similar. OpenAI's clients append their routes to the address of a gateway. */
const MEANT: Readonly<Record<string, string>> = {
	"@cf": `${WORKERS_AI}/@cf`,
	chat: `${COMPAT}/chat`,
	claude: "anthropic",
	gemini: "google-ai-studio",
	v1: `${COMPAT}/v1`,
};

/** 2008, with the provider that is probably meant. */
export function unknownProvider(slug: string): AiError {
	const meant = own(MEANT, slug);
	const shown = slug.slice(0, MAX_SHOWN_CHARACTERS);
	return invalidProvider(
		slug,
		`is unknown${meant === undefined ? didYouMean(shown, [...SLUGS]) : asQuestion(meant)}`,
	);
}

/** The author in the ids of a provider's models: for a custom provider, its slug. Throws 2008 for an unknown provider. */
export function authorOfSlug(slug: string): string {
	const author = customSlug(slug) === undefined ? authorIfKnown(slug) : slug;
	if (author === undefined) throw unknownProvider(slug);
	return author;
}

/** `undefined`: the models of the provider are in no catalogue, so that only its own routes can be called. */
export function authorIfKnown(slug: string): string | undefined {
	const author = own(AUTHOR_OF_SLUG, slug) ?? slug;
	return Object.hasOwn(PROVIDERS, author) ? author : undefined;
}

/** Whether gateways have the provider. The name of a custom one is known, also if the account has no such provider. */
export const isKnownProvider = (slug: string): boolean =>
	SLUGS.has(slug) || [customSlug(slug), authorIfKnown(slug)].some((name) => name !== undefined);

/** The name of the dynamic route, if `model` names one. */
export const dynamicRouteName = (model: unknown): string | undefined =>
	typeof model === "string" && model.startsWith(DYNAMIC_ROUTE)
		? model.slice(DYNAMIC_ROUTE.length)
		: undefined;

/** Whether the id is `author/model` with the author of a known provider, or `custom-{slug}/model`. */
export function isProviderModel(id: string): boolean {
	const author = id.slice(0, Math.max(0, id.indexOf("/")));
	return isThirdPartyId(id) && (Object.hasOwn(PROVIDERS, author) || customSlug(author) !== undefined);
}

/**
 * The id of a model whose name begins with the slug of its provider: `google/…` of `google-ai-studio/…`. Others stay as they are, and names
 * of routes and aliases.
 */
export async function idOfNamed(name: string, caller: Caller, services: GatewayServices): Promise<string> {
	const slug = name.slice(0, Math.max(0, name.indexOf("/")));
	const author = own(AUTHOR_OF_SLUG, slug);
	if (author === undefined || services.routing.find(name)?.named) return name;
	if ((await modelOf(name, caller, services)) !== name) return name;
	return `${author}${name.slice(slug.length)}`;
}

/** The slug of the provider that has a model, by the model's id. A model of the operator's own (`acme/chat`) has that of Workers AI. */
export function slugOf(model: string): string {
	if (!isThirdPartyId(model)) return WORKERS_AI;
	const author = authorOf(model);
	const slug = SLUG_OF_AUTHOR.get(author) ?? author;
	return isProvider(slug) || THIRD_PARTY_AUTHORS.has(author) || customSlug(slug) !== undefined
		? slug
		: WORKERS_AI;
}

/** The id that logs have for a model: that of the catalogue (`anthropic/claude-haiku-4.5`), if `id` has the provider's own name. */
export const loggedId = (id: string, catalog: Catalog): string =>
	isThirdPartyId(id) ? (modelNamed(authorOf(id), id.slice(authorOf(id).length + 1), catalog)?.id ?? id) : id;

/**
 * Whether the operator serves a model of this id, which names neither a provider nor a model of Workers AI: `acme/chat`, `qwen4`. A route
 * for every model (`*`) names none.
 */
const isOwnModel = (id: string, { catalog, routing }: OwnModels): boolean =>
	!id.startsWith("@") &&
	!id.startsWith(`${WORKERS_AI}/`) &&
	slugOf(id) === WORKERS_AI &&
	(catalog.find(id) !== undefined ||
		routing.list().some(({ pattern }) => pattern !== "*" && matches(pattern, id)));

export type OwnModels = Pick<GatewayServices, "catalog" | "routing">;

/**
 * The id with which a provider's model runs: that of the catalogue's model, if `id` has the provider's own name (`claude-haiku-4-5`) and
 * neither a route nor an alias has that name.
 */
export async function servedId(id: string, caller: Caller, services: GatewayServices): Promise<string> {
	const { catalog, routing } = services;
	if (!isThirdPartyId(id) || catalog.find(id) || routing.find(id)?.named) return id;
	if ((await modelOf(id, caller, services)) !== id) return id;
	const author = authorOf(id);
	return modelOfProvider(author, id.slice(author.length + 1), catalog)?.id ?? id;
}

/** The parts of a model's name at `compat`. `undefined`: it has no provider. */
export function compatParts(
	name: string,
	services: OwnModels,
): { provider: string; model: string } | undefined {
	if (isOwnModel(name, services)) return { provider: WORKERS_AI, model: name };
	const slash = name.indexOf("/");
	if (slash < 1) return undefined;
	const slug = name.slice(0, slash);
	return { provider: SLUG_OF_AUTHOR.get(slug) ?? slug, model: name.slice(slash + 1) };
}

/**
 * The id in the catalogue of a model that `compat` names: `workers-ai/@cf/…` is a model of Workers AI, `{slug}/{model}` one of another
 * provider. A model of the operator's own has its id, with or without `workers-ai/`. Throws 2008 for an unknown provider.
 */
export function compatModel(name: string, services: OwnModels): string {
	if (isOwnModel(name, services)) return name;
	const slash = name.indexOf("/");
	if (slash < 1) throw invalidProvider(name, "does not begin with a provider (example: openai/gpt-5)");
	const [slug, model] = [name.slice(0, slash), name.slice(slash + 1)];
	if (slug === WORKERS_AI) return model;
	return `${authorOfSlug(slug)}/${model}`;
}
