/** The route that runs a model with OpenAI's Responses API, its websocket, and the count of its tokens. */
import type { Context } from "hono";
import { isRecord } from "../../core/json.ts";
import { onFirstUse } from "../../core/lazy.ts";
import { requireModel } from "../../dialects/route-dialect.ts";
import { readJson } from "../../http/body.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import { BY_MODEL, methodNotAllowed } from "../../http/route.ts";
import { isUpgrade } from "../../http/socket.ts";
import { answer } from "../answer.ts";
import { countBody } from "../openai/count-tokens.ts";
import { infer, type OpenaiRoute } from "../openai/openai-route.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { RESPONSES_DIALECT } from "./response-dialect.ts";
import { stateReply } from "./stored-routes.ts";

/** The room of stored responses. */
const room = onFirstUse(() => import("../../responses/run-stored.ts"));

const background = () => import("./background.ts");

/** For examples. */
const CHAT_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

export const RESPONSES: OpenaiRoute = {
	...RESPONSES_DIALECT,
	summary: "Answers a request of OpenAI's Responses API",
	example: { model: CHAT_MODEL, input: "Hello, who are you?" },
	failure: responsesFailure,
	intercept: (c, call, fields) =>
		"background" in fields && fields.background === true
			? background().then(({ answerInBackground }) => answerInBackground(c, call, fields))
			: undefined,
	complete: async (fields, { caller, services }) =>
		isRecord(fields)
			? (await room()).completed(fields as Record<string, unknown> & { model: string }, caller, services)
			: fields,
	run: async (request, services) => (await room()).runStored(request, services),
};

export const RESPONSE_ROUTES: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "/responses",
		summary: "Opens a websocket for requests of OpenAI's Responses API",
		upgrades: true,
		permission: "run",
		failure: responsesFailure,
		handler: openSocket,
	},
	{
		method: "POST",
		path: "/responses/compact",
		summary: "Compacts a conversation to a summary",
		input: { ...BY_MODEL, example: RESPONSES.example },
		output: answer("compactionAnswer"),
		permission: "run",
		lazy: true,
		failure: responsesFailure,
		handler: compact,
	},
	{
		method: "POST",
		path: "/responses/input_tokens",
		summary: "Counts the tokens of a request for /responses",
		input: { ...BY_MODEL, example: RESPONSES.example },
		output: answer("responseTokensAnswer"),
		permission: "run",
		lazy: true,
		handler: countResponses,
	},
];

async function openSocket(c: Context, call: AppCall): Promise<Response> {
	if (!isUpgrade(c.req.raw)) throw methodNotAllowed(c);
	const { responseSocket } = await import("./response-socket.ts");
	return responseSocket(c.req.raw, call);
}

/** Runs the model in its gateway, like the route that creates responses. */
function compact(c: Context, call: AppCall): Promise<Response> {
	return infer(c, call, {
		route: {
			...RESPONSES,
			run: async (request, services) =>
				(await import("../../responses/compact.ts")).runCompaction(request, services),
		},
		read: async () => {
			const fields = requireModel(await readJson(c.req.raw, call.services));
			return { model: fields.model, inputs: { fields } };
		},
	});
}

async function countResponses(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const complete = async (fields: { model: string }): Promise<object> => {
		const { contextOf, engineFields, readStateful } = await room();
		const record = { ...fields };
		const context = await contextOf(record, readStateful(record), caller, services);
		return context ? engineFields(record, context) : record;
	};
	const input_tokens = await countBody(c, call, { route: RESPONSES, search: "responses", complete });
	return stateReply({ object: "response.input_tokens", input_tokens }, call);
}
