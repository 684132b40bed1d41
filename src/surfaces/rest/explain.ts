/** `POST …/ai/explain/…`: shows the plan of a request, without a call of a model. Not in the product. */
import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { OPENAI_CHAT, onlyFor, requireModel } from "../../dialects/route-dialect.ts";
import { optionsInHeaders } from "../../gateways/options.ts";
import { explainDynamic } from "../../gateways/run/explain-dynamic.ts";
import { explainPool } from "../../gateways/run/explain-pool.ts";
import { choosesModel, gatewayOfHeaders } from "../../gateways/run/model-in-gateway.ts";
import { dynamicRouteName } from "../../gateways/run/provider-names.ts";
import { DEFAULT_GATEWAY } from "../../gateways/settings.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { readInputs, readJson } from "../../http/body.ts";
import { envelope } from "../../http/envelope.ts";
import { BY_MODEL, pathParameter } from "../../http/route.ts";
import { explain } from "../../pipeline/explain.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { isNamed, type RunInputs, requestOf } from "./run.ts";

/** OpenAI's routes whose requests have exactly one plan. */
const EXPLAINED_ROUTES = Object.entries(OPENAI_ROUTES).filter(([, { splits }]) => !splits);

/** The refusal of a route that cannot be explained. Otherwise its path would be taken for the id of a model. */
const NOT_EXPLAINED = `No route for that URI: below /ai/explain/v1 there are ${EXPLAINED_ROUTES.map(([path]) => path.slice(1)).join(", ")}; a model is explained at /ai/explain/{model}`;

export const explainRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/explain")], tag: "Explain" },
	[
		...EXPLAINED_ROUTES.map(
			([path, route]) =>
				({
					method: "POST",
					path: `/v1${path}`,
					summary: `Explains a request for ${path}`,
					input: { ...BY_MODEL, example: route.example },
					permission: "read",
					output: answer("explainAnswer"),
					handler: async (c: Context, call: AppCall) => {
						const fields = requireModel(await readJson(c.req.raw, call.services));
						return explainRequest(c, call, {
							model: fields.model,
							inputs: { fields },
							dialect: onlyFor(route),
						});
					},
				}) as const,
		),
		{
			method: "POST",
			path: "/:model{.+}",
			summary: "Explains a run of a model",
			input: { ...BY_MODEL, example: { prompt: "Hello, who are you?" } },
			permission: "read",
			output: answer("explainAnswer"),
			handler: explainRun,
		},
	],
);

async function explainRun(c: Context, call: AppCall): Promise<Response> {
	const model = pathParameter(c, "model");
	if (model.startsWith("v1/") && !(await isNamed(model, call))) throw new AiError("noRoute", NOT_EXPLAINED);
	const inputs = await readInputs(c.req.raw, call.services);
	return explainRequest(c, call, { model, inputs });
}

async function explainRequest(c: Context, call: AppCall, inputs: RunInputs): Promise<Response> {
	const { services } = call;
	const { headers } = c.req.raw;
	const named = gatewayOfHeaders(headers);
	const caller = {
		...call.caller,
		credential: { ...call.caller.credential, gateway: named ?? null },
	};
	const explainInputs = async (explained: RunInputs) => {
		const explanation = await explain({ ...requestOf(c, call, explained), caller }, services);
		const shadow = explainShadow(explanation.model, services);
		return { ...explanation, ...(shadow && { shadow }) };
	};
	const explainModel = (model: string) => {
		const fields = isRecord(inputs.inputs.fields) ? { ...inputs.inputs.fields, model } : inputs.inputs.fields;
		const dialect = inputs.dialect ?? onlyFor(OPENAI_CHAT);
		return explainInputs({ model, inputs: { fields }, dialect });
	};
	const { model } = inputs;
	if (!choosesModel(model)) return envelope(await explainInputs(inputs));
	const options = optionsInHeaders(headers);
	const body = inputs.inputs.fields;
	const gateway =
		named ?? (await identifyCaller(caller, services.ledgers)).identity?.gateway?.id ?? DEFAULT_GATEWAY;
	const name = dynamicRouteName(model);
	if (name === undefined) {
		const { account } = caller;
		return envelope(
			await explainPool({ account, gateway, model, body, options, explain: explainModel }, services),
		);
	}
	const facts = { metadata: options.metadata ?? {}, body, headers: {} };
	return envelope(await explainDynamic({ caller, gateway, name, facts, explain: explainModel }, services));
}

/** The shadow of the model's route. */
function explainShadow(model: string, { shadowRoutes }: AppCall["services"]): object | undefined {
	const found = shadowRoutes.find(model);
	const [target] = found?.routed.targets ?? [];
	return (
		found && target && { name: found.name, backend: target.backend, model: target.model, share: found.share }
	);
}
