/** Sockets that are open when their token is revoked: of a live model, of Responses, and AI Gateway's universal one. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { AccountReader } from "../../src/accounts/client/account-reader.ts";
import { AiError } from "../../src/core/errors.ts";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import { CALLER, completion, DONE, delta, events, finish, liveEvents, upstream, usage } from "../gateway.ts";
import { ADMIN, type ClosedGateway, closedGateway, json } from "../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const FLUX = "@cf/deepgram/flux";
const PCM = "encoding=linear16&sample_rate=16000";
/** Longer than a verification is used. */
const LATER_MS = 1_001;
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" }, simulator: { kind: "simulator" } },
	ROUTES: {
		[LLAMA]: [{ backend: "engine", model: "served" }],
		"gpt-5.6-sol": [{ backend: "engine", model: "served" }],
		[FLUX]: [{ backend: "simulator" }],
	},
};

interface Client {
	frames: Record<string, unknown>[];
	send(): void;
	closed: Promise<CloseEvent>;
}

interface Kind {
	/** Below the account, or an address. */
	path(account: string): string;
	frame: string | Uint8Array<ArrayBuffer>;
	/** Of the frames that answer one. */
	last: RegExp;
	/** Of the frame with the error. Absent: only the close reports it. */
	refused?: RegExp;
}

const UNIVERSAL_STEP = { provider: "workers-ai", endpoint: LLAMA, headers: {}, query: { prompt: "Hi" } };

const KINDS: Readonly<Record<string, Kind>> = {
	"a live model": {
		path: () => `/ai/run/${FLUX}?${PCM}`,
		// A second of silence.
		frame: new Uint8Array(32_000),
		last: /"Update"|"Connected"/,
	},
	Responses: {
		path: () => "/ai/v1/responses",
		frame: JSON.stringify({ type: "response.create", model: "gpt-5.6-sol", input: "Hi", store: false }),
		last: /response\.completed/,
		refused: /"type":"error","status":401/,
	},
	"Responses, a frame that is no request": {
		path: () => "/ai/v1/responses",
		frame: "{",
		last: /"type":"error","status":400/,
		refused: /"type":"error","status":401/,
	},
	"the universal one": {
		path: (account) => `http://gateway/v1/${account}/default`,
		frame: JSON.stringify({ type: "universal.create", request: UNIVERSAL_STEP }),
		last: /universal\.created/,
		refused: /"universal\.error".*"statusCode":401/,
	},
};

function world(): ClosedGateway {
	const { fetch } = upstream(async (request) => {
		const { stream } = await request.json<{ stream?: boolean }>();
		return stream ? events(delta("Hello"), finish(), usage(), DONE) : Response.json(completion("Hello"));
	});
	return closedGateway({ vars: VARS, fetch });
}

async function open(
	{ account, send }: ClosedGateway,
	{ path, frame }: Kind,
	token: string,
	headers: Record<string, string> = {},
): Promise<Client> {
	const { status, webSocket: socket } = await send(path(account), token, {
		headers: { ...headers, upgrade: "websocket" },
	});
	if (!socket) throw new Error(`no socket: ${status}`);
	const frames: Record<string, unknown>[] = [];
	socket.addEventListener("message", ({ data }) => void frames.push(JSON.parse(String(data))));
	const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve));
	socket.accept();
	return { frames, closed, send: () => socket.send(frame) };
}

const answered = (client: Client, last: RegExp) =>
	expect
		.poll(() => client.frames.some((frame) => last.test(JSON.stringify(frame))), { timeout: 30_000 })
		.toBe(true);

/** The clock of the gateway. Timers stay real. */
function laterThanVerification(): void {
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + LATER_MS });
}

afterEach(() => {
	vi.useRealTimers();
});

async function tokenId(here: ClosedGateway): Promise<string> {
	const list = await here.send("/tokens", ADMIN);
	const [token] = (await list.json<{ result: { id: string }[] }>()).result;
	return token?.id ?? "";
}

const CHANGES: Readonly<Record<string, (here: ClosedGateway) => Promise<Response>>> = {
	"is deleted": async (here) => here.send(`/tokens/${await tokenId(here)}`, ADMIN, { method: "DELETE" }),
	"gets a new text": async (here) =>
		here.send(`/tokens/${await tokenId(here)}/value`, ADMIN, json("PUT", {})),
};

describe.each(Object.entries(KINDS))("an open socket of %s", (_, kind) => {
	it.each(Object.entries(CHANGES))(
		"is closed with 1008 at the next frame if its token %s",
		async (_change, change) => {
			const here = world();
			const client = await open(here, kind, await here.createToken(["Workers AI Run"]));
			client.send();
			await answered(client, kind.last);
			expect((await change(here)).status).toBe(200);
			laterThanVerification();
			client.frames.length = 0;
			client.send();
			const { code, reason } = await client.closed;
			expect([code, reason.length > 0]).toEqual([1008, true]);
			expect(client.frames.filter((frame) => kind.last.test(JSON.stringify(frame)))).toEqual([]);
			if (kind.refused) expect(JSON.stringify(client.frames)).toMatch(kind.refused);
		},
	);

	it("stays open while its token is valid", async () => {
		const here = world();
		const client = await open(here, kind, await here.createToken(["Workers AI Run"]));
		client.send();
		await answered(client, kind.last);
		laterThanVerification();
		client.frames.length = 0;
		client.send();
		if (kind.frame instanceof Uint8Array) client.send();
		else await answered(client, kind.last);
		await expect(Promise.race([client.closed, Promise.resolve("open")])).resolves.toBe("open");
	});
});

const STREAMS: Readonly<Record<string, Pick<Kind, "path" | "frame"> & { part: RegExp }>> = {
	Responses: { ...(KINDS.Responses as Kind), part: /output_text\.delta/ },
	"the universal one": {
		...(KINDS["the universal one"] as Kind),
		frame: JSON.stringify({
			type: "universal.create",
			request: { ...UNIVERSAL_STEP, query: { prompt: "Hi", stream: true } },
		}),
		part: /universal\.stream/,
	},
};

describe.each(Object.entries(STREAMS))("a stream on an open socket of %s", (_, kind) => {
	/** The first event has arrived. */
	async function streaming() {
		const engine = liveEvents();
		const here = closedGateway({ vars: VARS, fetch: upstream(() => engine.response).fetch });
		const client = await open(here, { ...kind, last: kind.part }, await here.createToken(["Workers AI Run"]));
		client.send();
		engine.send(delta("Hello"));
		await answered(client, kind.part);
		return { client, engine, here };
	}

	it("ends with 1008 at its next event if the token is deleted, and its engine's call ends", async () => {
		const { client, engine, here } = await streaming();
		await here.send(`/tokens/${await tokenId(here)}`, ADMIN, { method: "DELETE" });
		laterThanVerification();
		client.frames.length = 0;
		engine.send(delta("more"));
		expect((await client.closed).code).toBe(1008);
		expect(client.frames.filter((frame) => kind.part.test(JSON.stringify(frame)))).toEqual([]);
		await engine.cancelled;
	});

	it("goes on while its token cannot be verified for a moment", async () => {
		const { client, engine, here } = await streaming();
		const verifying = vi
			.spyOn(AccountReader.prototype, "verifyRecently")
			.mockRejectedValue(new AiError("ledgerUnavailable"));
		for (const text of ["more", "words"]) {
			client.frames.length = 0;
			engine.send(delta(text));
			await answered(client, kind.part);
		}
		// The events of a second do not wait for one call each.
		expect(verifying).toHaveBeenCalledTimes(1);
		verifying.mockRestore();
		await here.send(`/tokens/${await tokenId(here)}`, ADMIN, { method: "DELETE" });
		laterThanVerification();
		engine.send(delta("again"));
		expect((await client.closed).code).toBe(1008);
	});
});

describe("an open socket of a live model", () => {
	const bound = { id: "default", mode: "required" };

	it("is closed if the account binds a gateway, in which no live model runs", async () => {
		const here = world();
		const client = await open(
			here,
			KINDS["a live model"] as Kind,
			await here.createToken(["Workers AI Run"]),
		);
		client.send();
		expect((await here.send("/ai/bound-gateway", ADMIN, json("PUT", bound))).status).toBe(200);
		laterThanVerification();
		client.send();
		const { code, reason } = await client.closed;
		expect(code).toBe(1008);
		expect(reason).toContain("binds a gateway");
	});

	it("of the operator's binding stays open", async () => {
		const { services } = world();
		const query = new URLSearchParams({
			version: "3",
			body: JSON.stringify({
				inputs: { encoding: "linear16", sample_rate: "16000" },
				options: { websocket: true },
			}),
		});
		const request = new Request(`https://workers-binding.ai/run?${query}`, {
			headers: { upgrade: "websocket", "cf-consn-sdk-version": "2.0.0", "cf-consn-model-id": FLUX },
		});
		const { webSocket: socket } = await wireOf(services).fetch(request, { caller: CALLER });
		const closed = new Promise<CloseEvent>((resolve) => socket?.addEventListener("close", resolve));
		socket?.accept();
		laterThanVerification();
		socket?.send('{"type":"CloseStream"}');
		expect((await closed).code).toBe(1000);
	});
});

describe("an open socket of Responses", () => {
	it.each<[string, Record<string, string>]>([
		["", {}],
		[" in a gateway", { "cf-aig-gateway-id": "default" }],
	])("gets no error of an engine%s after its token is deleted", async (_, headers) => {
		const called = Promise.withResolvers<void>();
		const engine = Promise.withResolvers<Response>();
		const { fetch } = upstream(() => {
			called.resolve();
			return engine.promise;
		});
		const here = closedGateway({ vars: VARS, fetch });
		const token = await here.createToken(["Workers AI Run"]);
		const client = await open(here, KINDS.Responses as Kind, token, headers);
		client.send();
		await called.promise;
		await here.send(`/tokens/${await tokenId(here)}`, ADMIN, { method: "DELETE" });
		laterThanVerification();
		engine.resolve(Response.json({ error: { message: "the prompt is wrong" } }, { status: 400 }));
		expect((await client.closed).code).toBe(1008);
		expect(client.frames).toMatchObject([{ type: "error", status: 401 }]);
	});
});
