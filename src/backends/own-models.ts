/**
 * Models of providers, in the place of a model of the catalogue. The catalogue's defaults are those of the engine that serves the model
 * in Workers AI. For a provider's model, a limit of 256 tokens would end the answer early, and reasoning models refuse a temperature.
 */
import type { ChatInput } from "../tasks/text-generation/types.ts";
import type { Target } from "./backend.ts";
import { type OpenAiService, serviceAt } from "./openai/hosts.ts";
import type { Call } from "./transport/upstream-failure.ts";

/** Models that only their providers serve, under any address: also at resellers (`openai/gpt-6-sol`) and behind other gateways. */
const CLOSED_MODEL = /claude|gemini|grok|(?:^|[/.:])(?:chatgpt-|gpt-\d|o\d(?:-|$)|sonar)/i;

/** Whether the target serves a provider's own model, and not an open model that the catalogue may have. */
export const servesOwnModels = ({ kind, url, model }: Pick<Target, "kind" | "url" | "model">): boolean =>
	CLOSED_MODEL.test(model) || (kind === "openai" && hasOwnModels(serviceAt({ url })));

const hasOwnModels = ({ host, isOpenAi }: OpenAiService): boolean => isOpenAi || host?.ownModels === true;

/** The input without the catalogue's defaults, for such a model. A limit that admission has set stays. */
export function withoutDefaults(input: ChatInput, { target, model }: Call): ChatInput {
	if (!input.defaults?.length || !servesOwnModels(target)) return input;
	const changed = { ...input };
	for (const name of input.defaults) if (changed[name] === model.defaults[name]) delete changed[name];
	return changed;
}
