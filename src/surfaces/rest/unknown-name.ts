/** The refusal of a name that is no model: product code 7000. */
import { AiError, FAILURES } from "../../core/errors.ts";
import { modelSuggestion } from "../../pipeline/model-suggestion.ts";
import { openAiAddress } from "../openai/openai-absent.ts";
import type { AppServices } from "../services.ts";

/** Its description has what the caller probably means: a route of the OpenAI-compatible API, or a model. `path`: of the request. */
export function unknownName(model: string, path: string, services: AppServices): AiError {
	const address = openAiAddress(path);
	if (address) return new AiError("noRoute", address);
	const suggestion = modelSuggestion(model.replace(/^\//, ""), services);
	return new AiError(
		"noRoute",
		suggestion ? `${FAILURES.noRoute.description}: no model ${model}${suggestion}` : undefined,
	);
}
