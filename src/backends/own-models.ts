/**
 * Hosts that serve only models of their own. The catalogue's defaults of a model are those of the engine that serves it in Workers
 * AI: for a model of OpenAI, Anthropic or Google in its place, a limit of 256 tokens would end the answer early, and reasoning models
 * refuse a temperature.
 */
import type { ChatInput } from "../tasks/text-generation/types.ts";
import type { Target } from "./backend.ts";
import { hostedService, isOpenAiService } from "./openai/hosts.ts";
import type { Call } from "./transport/upstream-failure.ts";

export function servesOwnModels({ kind, url, model }: Pick<Target, "kind" | "url" | "model">): boolean {
	if (kind === "anthropic") return model.includes("claude");
	if (kind === "gemini") return model.includes("gemini");
	// Google's route for OpenAI's clients signs the calls of its models.
	return kind === "openai" && (isOpenAiService({ url }) || hostedService({ url })?.signed === true);
}

/** The input without the catalogue's defaults, for such a host. A limit that admission has set stays. */
export function withoutDefaults(input: ChatInput, { target, model }: Call): ChatInput {
	if (!input.defaults?.length || !servesOwnModels(target)) return input;
	const changed = { ...input };
	for (const name of input.defaults) if (changed[name] === model.defaults[name]) delete changed[name];
	return changed;
}
