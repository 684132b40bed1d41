/**
 * `PROVIDER_KEYS`: keys of providers, by author. A key makes a backend of the author's name, for routes to name, and a
 * route `author/*` to it; a route of `ROUTES` that says more of an id, or as much, comes first.
 *
 * Addresses are those of the providers' public documentation.
 */
import type { BackendKind } from "../backends/backend.ts";
import { type ConfiguredBackend, keyedBackend } from "./backends.ts";
import { type Env, secret } from "./headers.ts";
import { expectedName, type Path, type Problems } from "./problems.ts";
import type { Route } from "./routes.ts";

export interface Author {
	kind: BackendKind;
	url: string;
	/** The provider's name of a model, from what comes after `author/` in the catalogue's id. Absent: the same. */
	nameOf?(model: string): string;
}

const openai = (url: string): Author => ({ kind: "openai", url });

/** Catalogue's names that a provider has another for; those not here are the same. */
const named =
	(names: Readonly<Record<string, string>>) =>
	(model: string): string =>
		(Object.hasOwn(names, model) && names[model]) || model;

const ANTHROPIC_NAMES = named({ "claude-sonnet-4": "claude-sonnet-4-0" });

const GOOGLE_NAMES = named({
	"gemini-3-flash": "gemini-3-flash-preview",
	"gemini-3.1-flash-lite": "gemini-3.1-flash-lite-preview",
	"gemini-3.1-flash-tts": "gemini-3.1-flash-tts-preview",
	"gemini-3.1-pro": "gemini-3.1-pro-preview",
	"imagen-4": "imagen-4.0-generate-001",
	"nano-banana": "gemini-2.5-flash-image",
	"nano-banana-2": "gemini-3.1-flash-image-preview",
	"nano-banana-pro": "gemini-3-pro-image-preview",
});

export const AUTHORS: Readonly<Record<string, Author>> = {
	alibaba: openai("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
	anthropic: {
		kind: "anthropic",
		url: "https://api.anthropic.com",
		// `claude-haiku-4.5` is `claude-haiku-4-5` there.
		nameOf: (model) => ANTHROPIC_NAMES(model).replaceAll(".", "-"),
	},
	cerebras: openai("https://api.cerebras.ai/v1"),
	cohere: openai("https://api.cohere.ai/compatibility/v1"),
	deepseek: openai("https://api.deepseek.com"),
	fireworks: openai("https://api.fireworks.ai/inference/v1"),
	google: { kind: "gemini", url: "https://generativelanguage.googleapis.com", nameOf: GOOGLE_NAMES },
	groq: openai("https://api.groq.com/openai/v1"),
	minimax: {
		...openai("https://api.minimax.io/v1"),
		// `m2.7` is `MiniMax-M2.7` there.
		nameOf: (model) => (/^m\d/.test(model) ? `MiniMax-M${model.slice(1)}` : model),
	},
	mistral: openai("https://api.mistral.ai/v1"),
	moonshotai: openai("https://api.moonshot.ai/v1"),
	openai: openai("https://api.openai.com/v1"),
	openrouter: openai("https://openrouter.ai/api/v1"),
	perplexity: openai("https://api.perplexity.ai"),
	xai: openai("https://api.x.ai/v1"),
	"z-ai": openai("https://api.z.ai/api/paas/v4"),
};

export interface Provider {
	backend: ConfiguredBackend;
	route: Route;
}

/** One for each key that is right. `taken`: names of `BACKENDS`. */
export function readProviderKeys(
	entries: readonly [string, unknown][],
	{ env, taken, problems }: { env: Env; taken: { has(name: string): boolean }; problems: Problems },
): Provider[] {
	return entries.flatMap(([name, entry]) => {
		const path: Path = ["PROVIDER_KEYS", name];
		const author = Object.hasOwn(AUTHORS, name) ? AUTHORS[name] : undefined;
		if (!author) problems.add(path, expectedName(Object.keys(AUTHORS), name));
		else if (taken.has(name))
			problems.add(path, "expected an author whose name no backend has, found one that BACKENDS has too");
		const key = problems.parse(secret(env), entry, path);
		return author && key !== undefined ? [provider(name, author, key)] : [];
	});
}

function provider(name: string, author: Author, key: string): Provider {
	const backend = keyedBackend(name, author, key);
	const prefix = `${name}/`;
	const rename = (modelId: string): string => {
		const model = modelId.slice(prefix.length);
		return author.nameOf?.(model) ?? model;
	};
	return { backend, route: { pattern: `${prefix}*`, targets: [{ backend, rename, headers: {} }] } };
}
