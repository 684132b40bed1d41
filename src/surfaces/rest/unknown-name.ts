/** The refusal of a name that is no model: product code 7000. */
import { AiError, FAILURES } from "../../core/errors.ts";
import { modelSuggestion } from "../../pipeline/model-suggestion.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import type { AppServices } from "../services.ts";

/** Its description has what the caller probably means: a route of the OpenAI-compatible API, or a model. `path`: of the request. */
export function unknownName(model: string, path: string, services: AppServices): AiError {
	const { description } = FAILURES.noRoute;
	const route = `/${model.replace(/^v1\//, "")}`;
	if (route in OPENAI_ROUTES)
		return new AiError(
			"noRoute",
			`${description}: the address is ${path.replace(/\/run\/.*/, `/v1${route}`)}`,
		);
	const suggestion = modelSuggestion(model.replace(/^\//, ""), services);
	return new AiError("noRoute", suggestion ? `${description}: no model ${model}${suggestion}` : undefined);
}
