/**
 * OpenAI-compatible: `/client/v4/accounts/{account}/ai/v1/…`, for the `openai` SDK with only its `baseURL` changed; and
 * `/v1/…`, for the token's own account. Replies are bare, failures travel in the v4 envelope (`/responses` has OpenAI's
 * own, `/messages` Anthropic's), as the product does; the envelope also has OpenAI's `error`, which the product's lacks. The request's id comes under the name that each SDK reads, too.
 *
 * Beyond the product: `GET /models`, streaming `responses` for every chat model, `messages` for models of any kind and
 * `messages/count_tokens`, `images/generations`, `audio/speech` and `audio/transcriptions`.
 */
import { type Context, Hono } from "hono";
import { openaiCompletions } from "../dialects/chat/completions.ts";
import { openaiChat } from "../dialects/chat/openai-route.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { formText, parseMultipart } from "../dialects/media/media.ts";
import { openaiImages, openaiSpeech, openaiTranscription } from "../dialects/media/openai-media.ts";
import { anthropicMessages } from "../dialects/messages/messages.ts";
import { openAiError } from "../dialects/openai-error.ts";
import { responsesError, responsesStatus } from "../dialects/responses/errors.ts";
import { responses } from "../dialects/responses/responses.ts";
import { openaiEmbeddings } from "../dialects/text/openai-embeddings.ts";
import { AiError } from "../errors.ts";
import type { Model, TaskTitle } from "../models/model.ts";
import { modelOf } from "../pipeline/aliases.ts";
import { authorize } from "../pipeline/authorize.ts";
import { run } from "../pipeline/run.ts";
import type { Caller, Inputs, Services } from "../request.ts";
import { callerOf } from "./authenticate.ts";
import { readBody, readJson } from "./body.ts";
import { failureEnvelope, failureHeaders, REQUEST_ID, replyResponse, WRAPS } from "./envelope.ts";
import { countTokens, isAnthropicRequest, messagesFailure } from "./messages.ts";
import { mountModels } from "./model-list.ts";
import { namesModel } from "./names-model.ts";
import { OPENAI_PATHS } from "./permissions.ts";
import { preferencesOf } from "./preferences.ts";
import { methodNotAllowed } from "./routes.ts";
import { runEach } from "./several-images.ts";
import { isUpgrade } from "./socket.ts";
import { tellable } from "./tell.ts";

type Variables = { requestId: string; caller: Caller };

export interface OpenaiRoute {
	dialect: Dialect;
	/** The catalogue's task whose models it takes. */
	task: TaskTitle;
	/** Of a route where one request may be several. */
	run?: typeof run;
}

const MESSAGES: OpenaiRoute = { dialect: anthropicMessages, task: "Text Generation" };

/** Those with a JSON body. */
export const OPENAI_ROUTES: Readonly<Record<string, OpenaiRoute>> = {
	"/chat/completions": { dialect: openaiChat, task: "Text Generation" },
	"/completions": { dialect: openaiCompletions, task: "Text Generation" },
	"/responses": { dialect: responses, task: "Text Generation" },
	"/messages": MESSAGES,
	// An Anthropic SDK adds `/v1` to its base address, also to one that ends with it.
	"/v1/messages": MESSAGES,
	"/embeddings": { dialect: openaiEmbeddings, task: "Text Embeddings" },
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

const COUNT_ROUTES = ["/messages/count_tokens", "/v1/messages/count_tokens"];

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
			const fields = namesModel(await readJson(c.req.raw, limits));
			const model = authorize(await modelOf(fields.model, c.get("caller"), services), services);
			onlyFor(MESSAGES)(model);
			const counted = await countTokens(fields, model);
			for (const name of [REQUEST_ID, "request-id"]) counted.headers.set(name, c.get("requestId"));
			return counted;
		});

	app.post("/audio/transcriptions", async (c) => {
		const contentType = c.req.header("content-type") ?? "";
		const bytes = await readBody(c.req.raw, limits.uploadBytes);
		const model = formText(await parseMultipart(bytes, contentType), "model");
		if (!model) throw new AiError("badInput", "Error: required properties at '/' are 'model'");
		const route = { dialect: openaiTranscription, task: "Automatic Speech Recognition" } as const;
		return infer(c, model, route, { fields: {}, body: { bytes, contentType } });
	});

	mountModels(app, services);
	for (const path of BATCH_ROUTES)
		app.all(path, () => {
			throw new AiError("noRoute", NO_BATCHES);
		});

	app.get("/responses", (c, next) => {
		if (isUpgrade(c.req.raw)) throw new AiError("noWebsocket");
		return next();
	});
	methodNotAllowed(app, [
		...Object.keys(OPENAI_ROUTES),
		...COUNT_ROUTES,
		"/audio/transcriptions",
		"/models",
		"/models/*",
		"/v1/models",
		"/v1/models/*",
	]);
	return app;

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
				...preferencesOf(c.req.raw.headers, c.get("caller").account, inputs.fields),
			},
			services,
		);
		return replyResponse(reply, id, WRAPS.bare, {
			alsoId: route.dialect === anthropicMessages ? "request-id" : "x-request-id",
		});
	}
}

/** A route's dialect, for the models of its task and for those whose task nobody knows. */
export const onlyFor =
	({ dialect, task }: OpenaiRoute) =>
	(model: Model): Dialect => {
		const decides = model.input === "decision-clef";
		if ((model.task === task && !decides) || model.status === "adhoc") return dialect;
		const why = decides ? "it decides and does not chat, at /ai/run" : `its task is ${model.task}`;
		throw new AiError("noSuchModel", `No such model ${model.id} or task: ${why}`);
	};

const OPENAI_PATH = /^\/client\/v4\/accounts\/[^/]+\/ai\/v1(?:\/|$)/;
/** Below `/v1` AI Gateway has addresses, too, and failures of its own. */
const ALIASES = new Set(OPENAI_PATHS.map((path) => `/v1${path}`));

/** Whether failures of this path have an `error` for OpenAI's clients. */
export const isOpenAiPath = (path: string): boolean =>
	OPENAI_PATH.test(path) || ALIASES.has(path.replace(/\/$/, "")) || path.startsWith("/v1/models/");

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
