/**
 * AI Gateway on the binding's wire, `env.AI.gateway(id)`: over HTTP below `https://workers-binding.ai/ai-gateway`
 * (workerd, `src/cloudflare/internal/aig-api.ts`), and over RPC. Of AutoRAG, what its client reads when there is none.
 *
 * A gateway's address has the product's grammar, `/v1/{account}/{gateway}/{provider}`, on the origin that was asked: the
 * Worker behind a binding does not know where else it can be reached. `env.AI.fetch()` follows it, and so do SDKs that
 * are given that as their `fetch`.
 */
import { RpcTarget } from "cloudflare:workers";
import { type Context, Hono } from "hono";
import { AiError, toAiError } from "../errors.ts";
import type { Caller, Services } from "../request.ts";
import { boundDepth, readInputs, readJson } from "./body.ts";
import { crossing } from "./crossing.ts";
import { failureEnvelope } from "./envelope.ts";
import { gatewayFailure, readSteps, runSteps, type Step, type StepsContext } from "./gateway.ts";
import { methodNotAllowed } from "./routes.ts";

export const WIRE_ORIGIN = "https://workers-binding.ai";
const EVENT_ID = "cf-aig-event-id";

type WireEnv = { Bindings: { caller: Caller } };

export function gatewayWire(services: Services): Hono<WireEnv> {
	const app = new Hono<WireEnv>();
	const { limits } = services;

	app.post("/ai-gateway/universal/run/:gateway", (c) =>
		answer(c, async () => readSteps(await readJson(c.req.raw, limits))),
	);
	app.get("/ai-gateway/gateways/:gateway/url/:provider", (c) => {
		const { gateway, provider } = c.req.param();
		return Response.json({
			success: true,
			result: { url: gatewayUrl(new URL(c.req.url).origin, c.env.caller, gateway, provider) },
		});
	});
	// No log is kept, so none is found; the same for runs to resume.
	app.on(["GET", "PATCH"], "/ai-gateway/gateways/:gateway/logs/:log", () => notFound("Log Not Found"));
	app.get("/ai-gateway/gateways/:gateway/run/:run/resume", () =>
		Response.json({ error: "Request not found" }, { status: 404 }),
	);

	app.on("POST", ["/v1/:account/:gateway", "/v1/:account/:gateway/"], (c) =>
		answer(c, async () => readSteps(await readJson(c.req.raw, limits))),
	);
	app.post("/v1/:account/:gateway/:provider/:endpoint{.+}", (c) =>
		answer(c, async () => {
			const { provider, endpoint } = c.req.param();
			return [{ provider, endpoint, inputs: await readInputs(c.req.raw, limits) }];
		}),
	);

	app.get("/autorag/rags", () => Response.json({ success: true, result: [] }));
	app.post("/autorag/rags/:name/:search{search|ai-search}", () => notFound("AutoRAG not found"));

	methodNotAllowed(app, [
		"/ai-gateway/universal/run/:gateway",
		"/ai-gateway/gateways/:gateway/url/:provider",
		"/ai-gateway/gateways/:gateway/logs/:log",
	]);
	return app;

	async function answer(c: Context<WireEnv>, read: () => Promise<Step[]>): Promise<Response> {
		const { account, gateway = "" } = c.req.param() as Record<string, string>;
		const { caller } = c.env;
		if (account !== undefined && account !== caller.account) throw new AiError("unroutableAccount");
		let steps: Step[];
		try {
			steps = await read();
		} catch (error) {
			return gatewayFailure(toAiError(error));
		}
		return runSteps(steps, {
			caller,
			gateway,
			eventId: c.req.header(EVENT_ID),
			signal: c.req.raw.signal,
			services,
		});
	}
}

const notFound = (what: string): Response => failureEnvelope(new AiError("notFound", what), "");

/** The universal address ends in a slash, as the product's does. */
export function gatewayUrl(origin: string, { account }: Caller, gateway: string, provider: string): string {
	const parts = [account, gateway, provider === "universal" ? "" : provider].map(encodeURIComponent);
	return `${origin}/v1/${parts.join("/")}`;
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
		const { caller, gateway } = this.#context;
		return gatewayUrl(WIRE_ORIGIN, caller, gateway, provider);
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
