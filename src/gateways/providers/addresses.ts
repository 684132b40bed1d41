/**
 * The addresses of AI Gateway's providers (developers.cloudflare.com/ai-gateway/usage/providers, 2026-10). A request reaches only
 * an address of this table, or that of a custom provider: its path cannot leave the base address.
 */
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";

export interface KeyHeader {
	name: string;
	/** In front of the key. */
	scheme?: "Bearer" | "Token" | "Key";
}

interface ProviderRow {
	/** The base address, or the function that makes it of the path. The latter returns the remaining path, too. */
	base: string | ((path: string) => readonly [base: string, path: string] | undefined);
	/** What the function expects. */
	form?: string;
	/** Absent, or without a result: `Authorization: Bearer`. The function gets the path. */
	key?: KeyHeader | ((path: string) => KeyHeader | undefined);
	/** The header in which the provider's SDK sends the complete address of a request to a proxy. */
	targetHeader?: string;
}

const BEARER: KeyHeader = { name: "authorization", scheme: "Bearer" };
const ANTHROPIC_KEY: KeyHeader = { name: "x-api-key" };
export const FAL_TARGET = "x-fal-target-url";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const REGION = new RegExp(`^(?:v\\d\\w*/)?projects/[^/]+/locations/(${LABEL})/`, "i");
const BEDROCK = new RegExp(`^(bedrock-runtime|bedrock-mantle)/(${LABEL})/(.*)$`, "i");
/** Bedrock's addresses with Anthropic's own API. */
const BEDROCK_MESSAGES = /^\/*bedrock-mantle\/[^/]+\/anthropic\//i;
const AZURE = new RegExp(`^(${LABEL})/([a-z0-9][\\w.-]{0,63})/(.*)$`, "i");
const FAL = /^(https:\/\/(?:[a-z0-9-]+\.)?fal\.(?:run|ai))\/(.*)$/i;
const BASETEN = new RegExp(`^model/(${LABEL})/(.*)$`, "i");

const PROVIDERS: Readonly<Record<string, ProviderRow>> = {
	anthropic: { base: "https://api.anthropic.com/v1", key: ANTHROPIC_KEY },
	"aws-bedrock": {
		base: (path) => {
			const [, service, region, remaining] = BEDROCK.exec(path) ?? [];
			if (service === undefined || region === undefined || remaining === undefined) return undefined;
			const domain = service === "bedrock-mantle" ? "api.aws" : "amazonaws.com";
			return [`https://${service}.${region}.${domain}`, remaining];
		},
		form: "the path bedrock-runtime/{region}/… or bedrock-mantle/{region}/…",
		key: (path) => (BEDROCK_MESSAGES.test(path) ? ANTHROPIC_KEY : undefined),
	},
	"azure-openai": {
		base: (path) => {
			const [, resource, deployment, remaining] = AZURE.exec(path) ?? [];
			if (resource === undefined || deployment === undefined || remaining === undefined) return undefined;
			return [`https://${resource}.openai.azure.com/openai/deployments/${deployment}`, remaining];
		},
		form: "the path {resource}/{deployment}/…",
		key: { name: "api-key" },
	},
	baseten: {
		base: (path) => {
			const [, model, remaining] = BASETEN.exec(path) ?? [];
			if (model === undefined || remaining === undefined) return ["https://inference.baseten.co/v1", path];
			return [`https://model-${model}.api.baseten.co`, remaining];
		},
	},
	cartesia: { base: "https://api.cartesia.ai", key: { name: "x-api-key" } },
	cerebras: { base: "https://api.cerebras.ai/v1" },
	cohere: { base: "https://api.cohere.ai/v1" },
	deepgram: { base: "https://api.deepgram.com/v1", key: { name: "authorization", scheme: "Token" } },
	deepseek: { base: "https://api.deepseek.com" },
	elevenlabs: { base: "https://api.elevenlabs.io/v1", key: { name: "xi-api-key" } },
	fal: {
		base: (path) => {
			const [, host, remaining] = FAL.exec(path) ?? [];
			if (host !== undefined && remaining !== undefined) return [host, remaining];
			return /^\w+:/.test(path) ? undefined : ["https://fal.run", path];
		},
		form: `an address of fal.run or fal.ai in ${FAL_TARGET}`,
		key: { name: "authorization", scheme: "Key" },
		targetHeader: FAL_TARGET,
	},
	fireworks: { base: "https://api.fireworks.ai/inference/v1" },
	"google-ai-studio": {
		base: "https://generativelanguage.googleapis.com",
		key: { name: "x-goog-api-key" },
	},
	"google-vertex-ai": {
		base: (path) => {
			const [, region] = REGION.exec(path) ?? [];
			if (region === undefined) return undefined;
			return [`https://${vertexHost(region.toLowerCase())}.googleapis.com/v1`, path];
		},
		form: "the path v1/projects/{project}/locations/{region}/…",
	},
	grok: { base: "https://api.x.ai/v1" },
	groq: { base: "https://api.groq.com/openai/v1" },
	huggingface: { base: "https://api-inference.huggingface.co/models" },
	ideogram: { base: "https://api.ideogram.ai", key: { name: "api-key" } },
	mistral: { base: "https://api.mistral.ai/v1" },
	openai: { base: "https://api.openai.com/v1" },
	openrouter: { base: "https://openrouter.ai/api/v1" },
	parallel: { base: "https://api.parallel.ai", key: { name: "x-api-key" } },
	"perplexity-ai": { base: "https://api.perplexity.ai" },
	replicate: { base: "https://api.replicate.com/v1" },
};

/** `us` and `eu` are several regions, with hosts of another form. */
function vertexHost(region: string): string {
	if (region === "global") return "aiplatform";
	return region === "us" || region === "eu" ? `aiplatform.${region}.rep` : `${region}-aiplatform`;
}

const rowOf = (slug: string): ProviderRow | undefined => own(PROVIDERS, slug);

/** The endpoint of a request: the address in a header of the provider's SDK, or else its path. */
export function endpointOf(provider: string, path: string, headers: Headers): string {
	const { targetHeader } = rowOf(provider) ?? {};
	return (targetHeader !== undefined && headers.get(targetHeader)) || path;
}

/** Where a provider takes its key. Custom providers take a bearer token. `path`: of the request, if the provider has several APIs. */
export function keyHeaderOf(slug: string, path = ""): KeyHeader {
	const { key } = rowOf(slug) ?? {};
	return (typeof key === "function" ? key(path) : key) ?? BEARER;
}

export const PROVIDER_SLUGS: readonly string[] = Object.keys(PROVIDERS);

export const isProvider = (slug: string): boolean => rowOf(slug) !== undefined;

/**
 * The address of a provider's endpoint: a path below the provider's address, with its query. The version of the API may be
 * omitted or repeated. Throws 2008 for an unknown provider, and for a path that the provider's address does not have.
 */
export function providerUrl(slug: string, endpoint: string): URL {
	const row = rowOf(slug);
	if (!row) throw new AiError("invalidProvider");
	const path = endpoint.replace(/^\/+/, "");
	if (typeof row.base === "string") return versionedUrl(row.base, path);
	const found = row.base(path);
	if (!found) throw new AiError("invalidProvider", `Invalid provider: ${slug} expects ${row.form}`);
	return versionedUrl(...found);
}

const VERSION = /^v\d\w*(?=\/|$)/;
const VERSION_AT_END = /\/v\d\w*$/;

/** The path may repeat the path of the base address. A path with another version replaces the version of the base address. */
function versionedUrl(base: string, path: string): URL {
	const repeated = `${new URL(base).pathname.slice(1)}/`;
	if (repeated !== "/" && path.startsWith(repeated)) return urlBelow(base, path.slice(repeated.length));
	return urlBelow(VERSION.test(path) ? base.replace(VERSION_AT_END, "") : base, path);
}

/** `path`: with its query. Throws 2008 if it leaves the base address. */
export function urlBelow(base: string, path: string): URL {
	const url = URL.parse(`${base}/${path.replace(/^\/+/, "")}`);
	const { origin, pathname } = new URL(base);
	const below = `${pathname.replace(/\/$/, "")}/`;
	if (url?.origin !== origin || !url.pathname.startsWith(below)) throw new AiError("invalidProvider");
	url.hash = "";
	return url;
}
