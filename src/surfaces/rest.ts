/**
 * REST: `/client/v4/accounts/{account}/ai/…`, as curl, the official `cloudflare` SDK and the REST modes of the AI SDK
 * and TanStack providers use it. Results and failures travel in the v4 envelope; bytes and event streams do not.
 *
 * Differences from the product: the universal `POST /ai/run` takes `@cf/` models without a gateway header; the async
 * queue (`queueRequest`) is refused.
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { AiError, toAiError } from "../core/errors.ts";
import { isRecord } from "../core/json.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { liveDialect, nativeDialect } from "../dialects/index.ts";
import { modelSchema } from "../dialects/schema.ts";
import { validate } from "../dialects/validation/validation.ts";
import { callerOf } from "../http/authenticate.ts";
import { readInputs, readJson } from "../http/body.ts";
import { envelope, failureEnvelope, replyResponse, WRAPS } from "../http/envelope.ts";
import { tellable } from "../http/error-disclosure.ts";
import { methodNotAllowed } from "../http/method-not-allowed.ts";
import { namesModel } from "../http/model-body.ts";
import { wirePermission } from "../http/permissions.ts";
import { preferencesOf } from "../http/request-options.ts";
import { isUpgrade } from "../http/socket.ts";
import type { Model } from "../models/model.ts";
import { openRouterList } from "../models/openrouter.ts";
import { authorList, search, taskList } from "../models/search.ts";
import { isThirdPartyId } from "../models/third-party.ts";
import { modelOf } from "../pipeline/aliases.ts";
import { explain } from "../pipeline/explain.ts";
import type { Caller, InferenceRequest, Inputs } from "../pipeline/request.ts";
import { run } from "../pipeline/run.ts";
import type { Services } from "../pipeline/services.ts";
import { binding } from "./binding/binding.ts";
import { restMarkdown } from "./markdown.ts";
import { OPENAI_ROUTES, onlyFor } from "./openai/openai.ts";
import { refuseQueue } from "./queue.ts";
import { checkTags } from "./tags.ts";

/** The product answers "no route" for an unknown model id, except in these namespaces. */
const INFERENCE_NAMESPACE = /^@(?:cf|hf)\//;

/** The host of the runtime's `Ai` class. */
const WIRE_HOST = "workers-binding.ai";

/** OpenAI's routes whose request has one plan: a route with its own `run` may make several requests of one. */
const EXPLAINED_ROUTES = Object.entries(OPENAI_ROUTES).filter(([, { run }]) => !run);

/** For a route that cannot be explained; without it the path would be read as the id of a model. */
const NOT_EXPLAINED = `No route for that URI: below /ai/explain/v1 there are ${EXPLAINED_ROUTES.map(([path]) => path.slice(1)).join(", ")}; a model is explained at /ai/explain/{model}`;

type RestEnv = { Variables: { requestId: string; caller: Caller } };

const UniversalBody = z.object({
	model: z.string().min(1),
	input: z.record(z.string(), z.unknown()),
});

export function rest(services: Services): Hono<RestEnv> {
	const app = new Hono<RestEnv>({ strict: false });
	const { catalog, limits, now, routing, uuid } = services;
	const wire = binding(services);
	const isNamed = async (name: string, caller: Caller): Promise<boolean> => {
		const model = await modelOf(name, caller, services);
		return catalog.find(model) !== undefined || routing.find(model)?.named === true;
	};

	app.use(async (c, next) => {
		c.set("requestId", uuid());
		c.set("caller", callerOf(c));
		await next();
	});
	app.onError(async (thrown, c) => {
		const error = await tellable(thrown, c.get("caller"), services);
		services.log(error, c.get("requestId"));
		return failureEnvelope(error, c.get("requestId"));
	});

	app.post("/run", async (c) => {
		const { model, input } = validate(UniversalBody, await readJson(c.req.raw, limits));
		return infer(c, model, { fields: input });
	});
	// The binding's wire over HTTP: any method, headers and body. `X-Forwarded` names the address that was requested.
	app.all("/run/proxy", async (c) => {
		const caller = c.get("caller");
		const { ledgers } = services;
		const url = forwardedFrom(c.req.header("x-forwarded"));
		await ledgers.of(caller.account).verify(caller.credential, wirePermission(new URL(url).pathname));
		const origin = services.publicUrl ?? new URL(c.req.url).origin;
		return wire.fetch(new Request(url, c.req.raw), { caller: { ...caller, known: true }, origin });
	});
	app.post("/run/:model{.+}", async (c) => {
		const model = c.req.param("model").replace(/\/$/, "");
		if (!INFERENCE_NAMESPACE.test(model) && !(await isNamed(model, c.get("caller"))))
			throw new AiError("noRoute");
		if (c.req.query("queueRequest") === "true") refuseQueue();
		return infer(c, model, { ...(await readInputs(c.req.raw, limits)), query: queryOf(c) });
	});
	// A websocket's inputs are its query.
	app.get("/run/:model{.+}", async (c, next) => {
		if (!isUpgrade(c.req.raw)) return next();
		return infer(c, c.req.param("model"), { fields: queryOf(c) }, liveDialect);
	});

	for (const [path, route] of EXPLAINED_ROUTES)
		app.post(`/explain/v1${path}`, async (c) => {
			const fields = namesModel(await readJson(c.req.raw, limits));
			return envelope(await explain(requestOf(c, fields.model, { fields }, onlyFor(route)), services));
		});
	app.post("/explain/:model{.+}", async (c) => {
		const model = c.req.param("model").replace(/\/$/, "");
		if (model.startsWith("v1/") && !(await isNamed(model, c.get("caller"))))
			throw new AiError("noRoute", NOT_EXPLAINED);
		const inputs = await readInputs(c.req.raw, limits);
		return envelope(await explain(requestOf(c, model, inputs, nativeDialect), services));
	});

	app.get("/models/search", (c) => {
		const query = c.req.query();
		if (query.format === "openrouter") return Response.json(openRouterList(catalog, now()));
		const { result, result_info } = search(catalog, query, now());
		return envelope(result, { result_info });
	});
	app.get("/models/schema", (c) => {
		const id = c.req.query("model");
		if (!id) throw new AiError("badInput", "Error: required properties at '/' are 'model'");
		const model = catalog.find(id);
		if (!model) throw new AiError("noSuchModel", `No such model ${id} or task`);
		return envelope(modelSchema(model, routing.find(id)?.strict ?? true));
	});
	app.get("/tasks/search", () => envelope(taskList()));
	app.get("/authors/search", () => envelope(authorList(catalog)));
	app.route("/tomarkdown", restMarkdown(services));

	methodNotAllowed(app, [
		"/run",
		"/run/*",
		"/explain/*",
		"/models/search",
		"/models/schema",
		"/tasks/search",
		"/authors/search",
	]);
	return app;

	async function infer(
		c: Context<RestEnv>,
		model: string,
		inputs: Inputs,
		dialect: (model: Model) => Dialect = nativeDialect,
	): Promise<Response> {
		try {
			const reply = await run(requestOf(c, model, inputs, dialect), services);
			return replyResponse(reply, c.get("requestId"), WRAPS.envelope);
		} catch (thrown) {
			throw isThirdPartyId(model) ? asProviderFailure(toAiError(thrown)) : thrown;
		}
	}
}

/** A provider that refuses the operator's key is AI Gateway's 2009 on this route (changelog, 2026-10-06). */
function asProviderFailure(error: AiError): AiError {
	const { status } = error.upstream ?? {};
	const isRefusedKey = error.key === "upstreamUnavailable" && (status === 401 || status === 403);
	if (!isRefusedKey || !error.upstream) return error;
	return new AiError("providerKeyRefused", undefined, { cause: error.cause, upstream: error.upstream });
}

/** `options` beside the inputs are the gateway's (`rejectIfBusy`), not the model's. */
function requestOf(
	c: Context<RestEnv>,
	model: string,
	inputs: Inputs,
	dialect: (model: Model) => Dialect,
): InferenceRequest {
	const { signal, headers } = c.req.raw;
	const id = c.get("requestId");
	const caller = c.get("caller");
	const { options, ...fields } = isRecord(inputs.fields) ? inputs.fields : {};
	checkTags(options);
	return {
		id,
		caller,
		model,
		inputs: options === undefined ? inputs : { ...inputs, fields },
		dialect,
		signal,
		...preferencesOf({ headers, account: caller.account, options }),
	};
}

/** Parameters of the address; a repeated one is a list. */
const queryOf = (c: Context<RestEnv>): Record<string, string | string[]> =>
	Object.fromEntries(
		Object.entries(c.req.queries()).map(([name, values]) => [
			name,
			values.length > 1 ? values : (values[0] ?? ""),
		]),
	);

/** The address that the runtime's class requested. Only its path and query are used. */
function forwardedFrom(header: string | undefined): string {
	if (!header) throw new AiError("incompleteRequest", "Request is missing headers or body: x-forwarded");
	const url = URL.parse(header);
	if (url?.hostname !== WIRE_HOST) throw new AiError("noRoute");
	return url.href;
}
