/**
 * Google's Gemini API: `/client/v4/accounts/{account}/ai/v1beta/…`, and `/v1beta/…` for the token's account. For Gemini
 * CLI and Google's SDKs: `generateContent`, `streamGenerateContent`, `countTokens`, and the list of models. The credential
 * is `x-goog-api-key`, `?key=` or `Authorization`. Failures have Google's shape. Not in the product.
 *
 * A model's id may have its `@` and `/` percent-encoded or not. What follows the last `:` is the method.
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { clientStatus } from "../../dialects/client-failure.ts";
import { geminiError } from "../../dialects/gemini/errors.ts";
import { geminiContent } from "../../dialects/gemini/gemini.ts";
import { countedRequest } from "../../dialects/gemini/request.ts";
import { parseFields } from "../../http/account-request.ts";
import { callerOf } from "../../http/authenticate.ts";
import { readJson } from "../../http/body.ts";
import { failureHeaders, REQUEST_ID, replyResponse, WRAPS } from "../../http/envelope.ts";
import { tellable } from "../../http/error-disclosure.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import { preferencesOf } from "../../http/request-options.ts";
import type { Caller } from "../../pipeline/request.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";
import { mapEvents } from "../../streams/sse.ts";
import { type ListedModel, listModels } from "../model-list.ts";
import { onlyFor } from "../openai/openai.ts";
import { countPrompt } from "../prompt-count.ts";

export const geminiFailure = (error: AiError, requestId: string): Response =>
	Response.json(geminiError(error), {
		status: clientStatus(error),
		headers: failureHeaders(error, requestId),
	});

const ROUTE = { dialect: geminiContent, task: "Text Generation" } as const;
const METHODS = ["generateContent", "countTokens"];

type Variables = { requestId: string; caller: Caller };

export function gemini(services: Services): Hono<{ Variables: Variables }> {
	const app = new Hono<{ Variables: Variables }>({ strict: false });
	const { ledgers, limits, uuid } = services;

	app.use((c, next) => {
		c.set("requestId", uuid());
		c.set("caller", callerOf(c));
		return next();
	});
	app.onError(async (thrown, c) => {
		const error = await tellable(thrown, c.get("caller"), services);
		services.log(error, c.get("requestId"));
		return geminiFailure(error, c.get("requestId"));
	});

	app.get("/models", async (c) => {
		const { pageSize, pageToken } = parseFields(PageQuery, c.req.query(), "query");
		const listed = (await listModels(c.get("caller"), services)).filter(
			({ model }) => model.task === ROUTE.task,
		);
		const end = pageToken + pageSize;
		const next = end < listed.length ? { nextPageToken: String(end) } : {};
		return Response.json({ models: listed.slice(pageToken, end).map(shown), ...next });
	});
	app.get("/models/:model{.+}", async (c) => {
		const id = c.req.param("model").replace(/\/$/, "");
		const found = (await listModels(c.get("caller"), services)).find((listed) => listed.id === id);
		if (!found) throw new AiError("notFound", `models/${id} is not found`);
		return Response.json(shown(found));
	});
	app.post("/models/:call{.+}", async (c) => {
		const [, model = "", method] = /^(.+):(\w+)$/.exec(c.req.param("call")) ?? [];
		switch (method) {
			case "generateContent":
				return generate(c, model, false);
			case "streamGenerateContent":
				return generate(c, model, true);
			case "countTokens":
				return count(c, model);
			default:
				throw new AiError(
					"noRoute",
					`A model has no method ${method ?? "here"}: there are generateContent, streamGenerateContent and countTokens`,
				);
		}
	});
	methodNotAllowed(app, ["/models", "/models/*"]);
	return app;

	async function generate(
		c: Context<{ Variables: Variables }>,
		model: string,
		stream: boolean,
	): Promise<Response> {
		const [id, caller] = [c.get("requestId"), c.get("caller")];
		const fields = { ...bodyOf(await readJson(c.req.raw, limits)), stream };
		const reply = await run(
			{
				id,
				caller,
				model,
				dialect: onlyFor(ROUTE),
				inputs: { fields },
				signal: c.req.raw.signal,
				...preferencesOf({ headers: c.req.raw.headers, account: caller.account }),
			},
			services,
		);
		const response = replyResponse(reply, id, WRAPS.bare);
		if (reply.body.kind !== "events" || c.req.query("alt") === "sse") return response;
		const headers = new Headers(response.headers);
		headers.set("content-type", "application/json");
		return new Response(arrayOf(reply.body.events), { headers });
	}

	async function count(c: Context<{ Variables: Variables }>, name: string): Promise<Response> {
		const caller = c.get("caller");
		// There is no admission, which would verify the credential.
		await ledgers.of(caller.account).verify(caller.credential, "run");
		const fields = countedRequest(await readJson(c.req.raw, limits));
		const model = await resolveModel(name, caller, services);
		const { reader } = onlyFor(ROUTE)(model);
		const strict = services.routing.find(model.id)?.strict ?? false;
		const totalTokens = await countPrompt(fields, reader, { model, strict });
		return Response.json({ totalTokens }, { headers: { [REQUEST_ID]: c.get("requestId") } });
	}
}

const bodyOf = (sent: unknown): object => (isRecord(sent) ? sent : {});

/** A stream without `alt=sse`: one JSON array with an element for each event. */
function arrayOf(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	let begun = false;
	return mapEvents(events, {
		onData(data) {
			const out = `${begun ? ",\n" : "["}${data}`;
			begun = true;
			return out;
		},
		// White space between elements: it keeps the connection open.
		onComment: () => "\n",
		onEnd: () => (begun ? "]\n" : "[]\n"),
	});
}

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const count = z
	.string()
	.regex(/^\d{1,6}$/, "expected a whole number")
	.transform(Number);
const PageQuery = z.object({
	pageSize: count.optional().transform((size) => Math.min(size || DEFAULT_PAGE, MAX_PAGE)),
	pageToken: count.optional().transform((start) => start ?? 0),
});

const shown = ({ id, model }: ListedModel): object => ({
	name: `models/${id}`,
	baseModelId: model.id,
	version: "1",
	displayName: id,
	description: model.description,
	...(model.contextWindow !== undefined && {
		inputTokenLimit: model.contextWindow,
		outputTokenLimit: model.contextWindow,
	}),
	supportedGenerationMethods: METHODS,
});
