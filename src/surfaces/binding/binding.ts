/**
 * The wire of the real binding: what the runtime's own `Ai` class sends to `https://workers-binding.ai`
 * (workerd, `src/cloudflare/internal/ai-api.ts`). Outputs are bare and the content type is exactly `application/json`:
 * with a charset the class would hand its caller a stream.
 *
 * Difference from the product: calls that name a gateway (`/ai-gateway/run`) run without one.
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import { liveDialect, nativeDialect } from "../../dialects/index.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { boundDepth, parseText, readBody, readJson } from "../../http/body.ts";
import { failureEnvelope, failureHeaders, replyResponse, WRAPS } from "../../http/envelope.ts";
import { tellable } from "../../http/error-disclosure.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import { preferencesOf } from "../../http/request-options.ts";
import { isUpgrade } from "../../http/socket.ts";
import type { Model } from "../../models/model.ts";
import { search } from "../../models/search.ts";
import type { Inputs } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";
import { gatewayFailure } from "../gateway/gateway.ts";
import { gatewayWire, type WireBindings } from "../gateway/gateway-wire.ts";
import { wireMarkdown } from "../markdown.ts";
import { refuseQueue } from "../queue.ts";
import { checkTags } from "../tags.ts";

type BindingEnv = { Bindings: WireBindings; Variables: { requestId: string } };

const RunBody = z.object({
	inputs: z.unknown(),
	options: z.looseObject({ queueRequest: z.unknown().optional() }).nullish(),
});

/** `options`: the third argument of `run`. */
interface WireInputs extends Inputs {
	options?: unknown;
}

/** Supported wire versions. Older classes sent a different request. */
const WIRE_VERSIONS: ReadonlySet<string | undefined> = new Set(["2", "3"]);

export function binding(services: Services): Hono<BindingEnv> {
	const app = new Hono<BindingEnv>();
	const { catalog, limits, now, uuid } = services;

	app.use(async (c, next) => {
		c.set("requestId", uuid());
		await next();
	});
	app.onError(async (thrown, c) => {
		const error = await tellable(thrown, c.env.caller, services);
		const id = c.get("requestId");
		services.log(error, id);
		const { plane } = error.failure;
		if (plane === "gateway") return gatewayFailure(error, id);
		const isRun = c.req.path.endsWith("/run") && plane === "inference";
		return isRun ? wireFailure(error, id) : failureEnvelope(error, id);
	});

	for (const path of ["/run", "/ai-gateway/run"]) {
		app.post(path, (c) => infer(c, nativeDialect, () => readRun(c.req.raw, c.req.query())));
		app.get(path, (c) => infer(c, liveDialect, () => readUpgrade(c.req.raw, c.req.query("body"))));
	}
	app.get("/ai-api/models/search", (c) => {
		const { result } = search(catalog, c.req.query(), now());
		return Response.json({ success: true, result });
	});

	app.route("/to-everything/markdown", wireMarkdown(services));
	app.route("/", gatewayWire(services));

	methodNotAllowed(app, ["/run", "/ai-gateway/run", "/ai-api/models/search"]);
	app.notFound(() => failureEnvelope(new AiError("noRoute"), ""));
	return app;

	async function infer(
		c: Context<BindingEnv>,
		dialect: (model: Model) => Dialect,
		read: () => Promise<WireInputs> | WireInputs,
	): Promise<Response> {
		if (!WIRE_VERSIONS.has(c.req.query("version"))) throw new AiError("deprecatedSdk");
		const id = c.get("requestId");
		const model = modelOf(c.req.header("cf-consn-model-id"));
		const { options, ...inputs } = await read();
		const reply = await run(
			{
				id,
				caller: c.env.caller,
				model,
				dialect,
				inputs,
				signal: c.req.raw.signal,
				...preferencesOf({ headers: c.req.raw.headers, account: c.env.caller.account, options }),
			},
			services,
		);
		return replyResponse(reply, id, WRAPS.bare);
	}

	/** A websocket's request has no body: `{inputs, options}` is in the query. */
	function readUpgrade(request: Request, body = ""): Inputs {
		if (!isUpgrade(request))
			throw new AiError("incompleteRequest", "Request is missing headers or body: Upgrade: websocket");
		const { inputs } = validate(RunBody, boundDepth(parseText(body, "body"), limits.jsonDepth));
		return { fields: inputs };
	}

	/** `{inputs, options}` as JSON; or one input as the body, with the others and the options in the query. */
	async function readRun(request: Request, query: Record<string, string>): Promise<WireInputs> {
		const contentType = request.headers.get("content-type") ?? "";
		const { userInputs, queueRequest } = query;
		if (userInputs === undefined && /^application\/json\b/i.test(contentType)) {
			const { inputs, options } = validate(RunBody, await readJson(request, limits));
			if (options?.queueRequest) refuseQueue();
			checkTags(options);
			return { fields: inputs, options };
		}
		if (queueRequest === "true") refuseQueue();
		const fields = boundDepth(parseText(userInputs ?? "{}", "userInputs"), limits.jsonDepth);
		return {
			fields,
			body: { bytes: await readBody(request, limits.uploadBytes, limits.bodyMs), contentType },
		};
	}
}

/** The header is `prefix:model` where the caller passed a prefix. A model id has no `:@`. */
function modelOf(header: string | undefined): string {
	if (!header)
		throw new AiError("incompleteRequest", "Request is missing headers or body: cf-consn-model-id");
	const at = header.indexOf(":@");
	return at < 0 ? header : header.slice(at + 1);
}

/** The failure of a `run`, in the body that the runtime's class reads. */
export function wireFailure(error: AiError, requestId: string): Response {
	const { code, description, failure, name, status } = error;
	const body = {
		internalCode: code,
		message: `${failure.name}: ${description}`,
		name,
		description,
		httpCode: status,
	};
	const headers = failureHeaders(error, requestId);
	headers.set("content-type", "application/json");
	return new Response(JSON.stringify(body), { status, headers });
}
