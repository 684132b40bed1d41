/**
 * AI Gateway on the binding's wire, `env.AI.gateway(id)`: over HTTP below `https://workers-binding.ai/ai-gateway`
 * (workerd, `src/cloudflare/internal/aig-api.ts`), over RPC, and at its own addresses `/v1/{account}/{gateway}/…`. For
 * AutoRAG, the answers that its client expects where an account has none.
 *
 * `getUrl` gives an address of this gateway: on the origin where the request arrived over HTTP, or on `PUBLIC_URL`. A
 * Worker behind a binding does not know its own address. Without `PUBLIC_URL` the host is one that cannot resolve, so that
 * a client that is not given `env.AI.fetch` as its `fetch` sends no prompt and no key to a stranger.
 */
import { RpcTarget } from "cloudflare:workers";
import { type Context, type Env, Hono } from "hono";
import { AiError, toAiError } from "../../core/errors.ts";
import { boundDepth, readInputs, readJson } from "../../http/body.ts";
import { failureEnvelope } from "../../http/envelope.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import { crossing } from "../../http/rpc-error.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { Services } from "../../pipeline/services.ts";
import { gatewayFailure, readSteps, runSteps, type Step, type StepsContext } from "./gateway.ts";

/** Its top-level domain is reserved and never resolves (RFC 2606). */
const UNREACHABLE_ORIGIN = "https://ganglion.invalid";
const EVENT_ID = "cf-aig-event-id";

/** `origin`: of the request that carried the wire over HTTP. Absent on a binding. */
export type WireBindings = { caller: Caller; origin?: string };
type WireEnv = { Bindings: WireBindings };

export function gatewayWire(services: Services): Hono<WireEnv> {
	const app = new Hono<WireEnv>();
	const { limits } = services;
	const callerOf = (c: Context<WireEnv>): Caller => c.env.caller;

	app.post("/ai-gateway/universal/run/:gateway", (c) =>
		answerSteps(c, callerOf(c), services, async () => readSteps(await readJson(c.req.raw, limits))),
	);
	app.get("/ai-gateway/gateways/:gateway/url/:provider", (c) => {
		const { gateway, provider } = c.req.param();
		return Response.json({
			success: true,
			result: { url: gatewayUrl(c.env.origin ?? services.publicUrl, c.env.caller, gateway, provider) },
		});
	});
	// No log is kept, so none is found; the same for runs to resume.
	app.on(["GET", "PATCH"], "/ai-gateway/gateways/:gateway/logs/:log", () => notFound("Log Not Found"));
	app.get("/ai-gateway/gateways/:gateway/run/:run/resume", () =>
		Response.json({ error: "Request not found" }, { status: 404 }),
	);

	app.route("/v1", gatewayPaths(services, callerOf));

	app.get("/autorag/rags", () => Response.json({ success: true, result: [] }));
	app.post("/autorag/rags/:name/:search{search|ai-search}", () => notFound("AutoRAG not found"));

	methodNotAllowed(app, [
		"/ai-gateway/universal/run/:gateway",
		"/ai-gateway/gateways/:gateway/url/:provider",
		"/ai-gateway/gateways/:gateway/logs/:log",
	]);
	return app;
}

/** AI Gateway's own addresses, below `/v1`: the universal one, and one for each provider. */
export function gatewayPaths<E extends Env>(
	services: Services,
	callerOf: (c: Context<E>) => Caller,
): Hono<E> {
	const app = new Hono<E>({ strict: false });
	const { limits } = services;
	const ownCaller = (c: Context<E>): Caller => {
		const caller = callerOf(c);
		if (c.req.param("account") !== caller.account) throw new AiError("unroutableAccount");
		return caller;
	};
	// The universal address ends in a slash; the binding's wire keeps it.
	app.on("POST", ["/:account/:gateway", "/:account/:gateway/"], (c) =>
		answerSteps(c, ownCaller(c), services, async () => readSteps(await readJson(c.req.raw, limits))),
	);
	app.post("/:account/:gateway/:provider/:endpoint{.+}", (c) =>
		answerSteps(c, ownCaller(c), services, async () => {
			const { provider, endpoint } = c.req.param();
			const { raw } = c.req;
			const { search } = new URL(raw.url);
			const inputs = await readInputs(raw, limits);
			return [{ provider, endpoint: endpoint + search, headers: raw.headers, inputs }];
		}),
	);
	return app;
}

async function answerSteps<E extends Env>(
	c: Context<E>,
	caller: Caller,
	services: Services,
	read: () => Promise<Step[]>,
): Promise<Response> {
	let steps: Step[];
	try {
		steps = await read();
	} catch (error) {
		return gatewayFailure(toAiError(error));
	}
	const { gateway = "" } = c.req.param() as Record<string, string>;
	return runSteps(steps, {
		caller,
		gateway,
		eventId: c.req.header(EVENT_ID),
		signal: c.req.raw.signal,
		services,
	});
}

const notFound = (what: string): Response => failureEnvelope(new AiError("notFound", what), "");

/** The universal address ends in a slash, as the product's does. */
export function gatewayUrl(
	origin: string | undefined,
	{ account }: Caller,
	gateway: string,
	provider: string,
): string {
	const parts = [account, gateway, provider === "universal" ? "" : provider].map(encodeURIComponent);
	return `${origin ?? UNREACHABLE_ORIGIN}/v1/${parts.join("/")}`;
}

interface GatewayRunOptions {
	gateway?: { eventId?: string };
	extraHeaders?: Record<string, string>;
	signal?: AbortSignal;
}

/** What `gateway(id)` gives over RPC. */
export class AiGateway extends RpcTarget {
	readonly #context: Omit<StepsContext, "signal" | "eventId">;

	constructor(gateway: string, caller: Caller, services: Services) {
		super();
		this.#context = { gateway, caller, services };
	}

	/** One step or a list of them; the answer is the response, whatever its status. */
	async run(data: unknown, options?: GatewayRunOptions | null): Promise<Response> {
		const { gateway, extraHeaders = {}, signal = new AbortController().signal } = options ?? {};
		let steps: Step[];
		try {
			steps = readSteps(boundDepth(data, this.#context.services.limits.jsonDepth));
		} catch (error) {
			return gatewayFailure(toAiError(error));
		}
		const [, extra] = Object.entries(extraHeaders).find(([name]) => name.toLowerCase() === EVENT_ID) ?? [];
		return runSteps(steps, { ...this.#context, signal, eventId: extra ?? gateway?.eventId });
	}

	getUrl(provider = "universal"): string {
		const { caller, gateway, services } = this.#context;
		return gatewayUrl(services.publicUrl, caller, gateway, provider);
	}

	getLog(_log: string): never {
		throw logNotFound();
	}

	patchLog(_log: string, _data: unknown): never {
		throw logNotFound();
	}
}

/** Named as the runtime's own class names it. */
const logNotFound = (): Error =>
	Object.assign(crossing(new AiError("notFound", "Log Not Found")), {
		name: "AiGatewayLogNotFound",
		message: "Log Not Found",
	});
