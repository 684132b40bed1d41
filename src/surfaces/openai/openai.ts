/**
 * OpenAI-compatible routes: `/client/v4/accounts/{account}/ai/v1/…`, for the `openai` SDK with only its `baseURL` changed,
 * and `/v1/…` for the account of the token. Replies are bare. Failures are in the v4 envelope, as in the product, with
 * OpenAI's `error` added; `/responses` and `/messages` have OpenAI's and Anthropic's own formats. The request's id is also
 * in the header that the SDK reads.
 *
 * Not in the product: `GET /models`, streaming `responses` for every chat model, `messages` for models of any maker,
 * `messages/count_tokens`, `responses/input_tokens`, `rerank`, images and audio. Routes of OpenAI that this gateway lacks
 * are refused with a reason (`openai-absent.ts`).
 */

import { type Context, Hono } from "hono";
import { AiError } from "../../core/errors.ts";
import { openaiCompletions } from "../../dialects/chat/completions.ts";
import { openaiChat } from "../../dialects/chat/openai-route.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import { formText, parseMultipart } from "../../dialects/media/media.ts";
import {
	openaiImageEdit,
	openaiImages,
	openaiSpeech,
	openaiTranscription,
	openaiTranslation,
} from "../../dialects/media/openai-media.ts";
import { anthropicMessages } from "../../dialects/messages/messages.ts";
import { openAiError } from "../../dialects/openai-error.ts";
import { responsesError, responsesStatus } from "../../dialects/responses/errors.ts";
import { responses } from "../../dialects/responses/responses.ts";
import { openaiEmbeddings } from "../../dialects/text/openai-embeddings.ts";
import { rerankRoute } from "../../dialects/text/rerank-route.ts";
import { callerOf } from "../../http/authenticate.ts";
import { readBody, readJson } from "../../http/body.ts";
import { failureEnvelope, failureHeaders, REQUEST_ID, replyResponse, WRAPS } from "../../http/envelope.ts";
import { tellable } from "../../http/error-disclosure.ts";
import { isAnthropicRequest, messagesFailure } from "../../http/messages.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import { namesModel } from "../../http/model-body.ts";
import { OPENAI_PATHS } from "../../http/permissions.ts";
import { preferencesOf } from "../../http/request-options.ts";
import { isUpgrade } from "../../http/socket.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model, TaskTitle } from "../../models/model.ts";
import type { Caller, Inputs } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";
import { countRequest } from "../counted.ts";
import { mountModels } from "../model-list.ts";
import { countPrompt } from "../prompt-count.ts";
import { runEach } from "./image-batch.ts";
import { absentRoute } from "./openai-absent.ts";

type Variables = { requestId: string; caller: Caller };

export interface OpenaiRoute {
	dialect: Dialect;
	/** The catalogue's task whose models it takes. */
	task: TaskTitle;
	/** For a route that takes only some models of its task. */
	accepts?(model: Model): boolean;
	/** For a route where one request may become several. */
	run?: typeof run;
}

const RESPONSES: OpenaiRoute = { dialect: responses, task: "Text Generation" };
const MESSAGES: OpenaiRoute = { dialect: anthropicMessages, task: "Text Generation" };

/** Routes with a JSON body. */
export const OPENAI_ROUTES: Readonly<Record<string, OpenaiRoute>> = {
	"/chat/completions": { dialect: openaiChat, task: "Text Generation" },
	"/completions": { dialect: openaiCompletions, task: "Text Generation" },
	"/responses": RESPONSES,
	"/messages": MESSAGES,
	// An Anthropic SDK adds `/v1` to its base address, also to one that ends with it.
	"/v1/messages": MESSAGES,
	"/embeddings": { dialect: openaiEmbeddings, task: "Text Embeddings" },
	"/rerank": {
		dialect: rerankRoute,
		task: "Text Classification",
		accepts: (model) => inputFamily(model).reranks ?? false,
	},
	"/images/generations": { dialect: openaiImages, task: "Text-to-Image", run: runEach },
	"/audio/speech": { dialect: openaiSpeech, task: "Text-to-Speech" },
};

const BATCH_ROUTES = [
	"/messages/batches",
	"/messages/batches/*",
	"/v1/messages/batches",
	"/v1/messages/batches/*",
];
const NO_BATCHES = "Message batches are not available here: send each request to /messages";

/** Routes with a form. */
const FORM_ROUTES: Readonly<Record<string, OpenaiRoute>> = {
	"/audio/transcriptions": { dialect: openaiTranscription, task: "Automatic Speech Recognition" },
	"/audio/translations": { dialect: openaiTranslation, task: "Automatic Speech Recognition" },
	"/images/edits": { dialect: openaiImageEdit, task: "Text-to-Image" },
};

const COUNT_ROUTES = ["/messages/count_tokens", "/v1/messages/count_tokens"];
/** Messages requires `max_tokens`; requests for a count do not have it. */
const NO_OUTPUT = { max_tokens: 1 };

export function openai(services: Services): Hono<{ Variables: Variables }> {
	const app = new Hono<{ Variables: Variables }>({ strict: false });
	const { limits } = services;

	// Path by path: below `/v1` other surfaces have routes, too.
	for (const path of OPENAI_PATHS)
		app.use(path, (c, next) => {
			c.set("requestId", services.uuid());
			c.set("caller", callerOf(c));
			return next();
		});
	app.onError(async (thrown, c) => {
		const error = await tellable(thrown, c.get("caller"), services);
		const id = c.get("requestId");
		services.log(error, id);
		if (isAnthropicRequest(c.req)) return messagesFailure(error, id);
		if (error.failure.plane !== "inference") return openAiFailure(error, id);
		const response = /\/v1\/responses\/?$/.test(c.req.path)
			? responsesFailure(error, id)
			: openAiFailure(error, id);
		response.headers.set("x-request-id", id);
		return response;
	});

	for (const [path, route] of Object.entries(OPENAI_ROUTES))
		app.post(path, async (c) => {
			const fields = namesModel(await readJson(c.req.raw, limits));
			return infer(c, fields.model, route, { fields });
		});

	for (const path of COUNT_ROUTES)
		app.post(path, async (c) => {
			const input_tokens = await count(c, MESSAGES, NO_OUTPUT);
			const id = c.get("requestId");
			return Response.json({ input_tokens }, { headers: { [REQUEST_ID]: id, "request-id": id } });
		});

	app.post("/responses/input_tokens", async (c) => {
		const counted = { object: "response.input_tokens", input_tokens: await count(c, RESPONSES) };
		const id = c.get("requestId");
		return Response.json(counted, { headers: { [REQUEST_ID]: id, "x-request-id": id } });
	});

	mountModels(app, services);
	for (const path of BATCH_ROUTES)
		app.all(path, () => {
			throw new AiError("noRoute", NO_BATCHES);
		});
	for (const [path, route] of Object.entries(FORM_ROUTES))
		app.post(path, async (c) => {
			const contentType = c.req.header("content-type") ?? "";
			const bytes = await readBody(c.req.raw, limits.uploadBytes, limits.bodyMs);
			const model = formText(await parseMultipart(bytes, contentType), "model");
			if (!model) throw new AiError("badInput", "Error: required properties at '/' are 'model'");
			return infer(c, model, route, { fields: {}, body: { bytes, contentType } });
		});

	app.get("/responses", (c, next) => {
		if (isUpgrade(c.req.raw)) throw new AiError("noWebsocket");
		return next();
	});
	methodNotAllowed(app, [
		...Object.keys(OPENAI_ROUTES),
		...Object.keys(FORM_ROUTES),
		...COUNT_ROUTES,
		"/responses/input_tokens",
		"/models",
		"/models/*",
		"/v1/models",
		"/v1/models/*",
	]);
	return app;

	/** `defaults`: fields that a request for a count may omit. */
	async function count(
		c: Context<{ Variables: Variables }>,
		route: OpenaiRoute,
		defaults: object = {},
	): Promise<number> {
		await countRequest("Token Count", c.get("caller"), services);
		const fields = namesModel(await readJson(c.req.raw, limits));
		const model = await resolveModel(fields.model, c.get("caller"), services);
		const { reader } = onlyFor(route)(model);
		return countPrompt({ ...defaults, ...fields }, reader, { model });
	}

	async function infer(
		c: Context<{ Variables: Variables }>,
		modelId: string,
		route: OpenaiRoute,
		inputs: Inputs,
	): Promise<Response> {
		const id = c.get("requestId");
		const reply = await (route.run ?? run)(
			{
				id,
				caller: c.get("caller"),
				model: modelId,
				dialect: onlyFor(route),
				inputs,
				signal: c.req.raw.signal,
				...preferencesOf({
					headers: c.req.raw.headers,
					account: c.get("caller").account,
					fields: inputs.fields,
					options: optionsIn(inputs),
				}),
			},
			services,
		);
		return replyResponse(reply, id, WRAPS.bare, {
			alsoId: route.dialect === anthropicMessages ? "request-id" : "x-request-id",
		});
	}
}

const optionsIn = ({ fields }: Inputs): unknown =>
	typeof fields === "object" && fields !== null && "options" in fields ? fields.options : undefined;

/** A route's dialect, for the models of its task and for ad hoc models, whose task is not known. */
export const onlyFor =
	({ dialect, task, accepts }: OpenaiRoute) =>
	(model: Model): Dialect => {
		const { decides } = inputFamily(model);
		const fits = model.task === task && !decides && (accepts?.(model) ?? true);
		if (fits || model.status === "adhoc") return dialect;
		const why = decides ? "it decides and does not chat, at /ai/run" : `its task is ${model.task}`;
		throw new AiError("noSuchModel", `No such model ${model.id} or task: ${why}`);
	};

const OPENAI_PATH = /^\/client\/v4\/accounts\/[^/]+\/ai\/v1(?:\/|$)/;
/** AI Gateway's addresses are below `/v1`, too, and have their own failures. */
const V1_PATHS = new Set(OPENAI_PATHS.map((path) => `/v1${path}`));

/** Whether failures of this path contain OpenAI's `error`. */
export const isOpenAiPath = (path: string): boolean =>
	OPENAI_PATH.test(path) || V1_PATHS.has(path.replace(/\/$/, "")) || path.startsWith("/v1/models/");

/** A failure before any route. On an OpenAI path it contains OpenAI's `error`, and the reason why a route is missing. */
export function routingFailure(error: AiError, path: string): Response {
	const absent = error.key === "noRoute" ? absentRoute(path) : undefined;
	if (absent) return openAiFailure(new AiError("noRoute", absent), "");
	return isOpenAiPath(path) ? openAiFailure(error, "") : failureEnvelope(error, "");
}

/** The v4 envelope, and in it OpenAI's `error`. */
export const openAiFailure = (error: AiError, requestId: string): Response =>
	failureEnvelope(error, requestId, { error: openAiError(error, requestId) });

/** Bare, as the product has it, with all fields of OpenAI's `error`. */
function responsesFailure(error: AiError, requestId: string): Response {
	const { type, param } = openAiError(error, requestId);
	return Response.json(
		{ error: { ...responsesError(error, requestId), type, param } },
		{ status: responsesStatus(error), headers: failureHeaders(error, requestId) },
	);
}
