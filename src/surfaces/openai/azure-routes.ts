/**
 * The addresses of Azure's clients (`AzureOpenAI` of the SDKs, `AzureChatOpenAI`): `/openai/deployments/{deployment}/chat/completions`, with
 * any `api-version`. The deployment is the model, also if the body names another: https://learn.microsoft.com/azure/ai-foundry/openai/reference.
 * The id of a model may contain slashes, so the end of the path decides which route it is.
 */
import { AiError } from "../../core/errors.ts";
import { BY_MODEL } from "../../http/route.ts";
import { AI, AZURE, below } from "../bases.ts";
import { type AppRoute, defineRoutes } from "../route.ts";
import { FORM_ROUTES, OPENAI, OPENAI_ROUTES } from "./openai.ts";
import { type RunRoute, runForm, runJson } from "./openai-route.ts";

const JSON_PATHS = [
	"/chat/completions",
	"/completions",
	"/embeddings",
	"/images/generations",
	"/audio/speech",
];

/** The longest first, because `/chat/completions` ends with `/completions`. */
const RUNS: readonly (readonly [string, RunRoute])[] = [
	...Object.entries(OPENAI_ROUTES).flatMap(([path, route]) =>
		JSON_PATHS.includes(path) ? [[path, runJson(route)] as const] : [],
	),
	...Object.entries(FORM_ROUTES).map(([path, route]) => [path, runForm(route)] as const),
].sort(([first], [second]) => second.length - first.length);

const NO_ENDPOINT = `No route for that URI: after the deployment, Azure's routes here are ${RUNS.map(([path]) => path.slice(1)).join(", ")}. Others are below /v1`;

export const azureRoutes: readonly AppRoute[] = defineRoutes(
	{ ...OPENAI, bases: [AZURE, below(AI, AZURE.path)] },
	[
		{
			method: "POST",
			path: "/:deployment{.+}",
			summary: "Runs a model at the address of Azure's clients",
			hidden: true,
			input: { ...BY_MODEL, example: OPENAI_ROUTES["/chat/completions"]?.example },
			permission: "run",
			lazy: true,
			handler(c, call) {
				const path = `/${c.req.param("deployment")}`;
				const [end, run] =
					RUNS.find(([route]) => path.endsWith(route) && path.length > route.length + 1) ?? [];
				if (!end || !run) throw new AiError("noRoute", NO_ENDPOINT);
				return run(c, call, path.slice(1, -end.length));
			},
		},
	],
);
