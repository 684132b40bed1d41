/** Routes that only OpenAI has, at the base `/v1`, where AI Gateway's addresses are too. */
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { testGateway } from "../../gateway.ts";
import { type ClosedGateway, closedGateway, json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const ORIGIN = "http://gateway";
const VARS = { DEFAULT_BACKEND: "simulator" };

const connect = (app: ClosedGateway["app"], apiKey: string): OpenAI =>
	new OpenAI({
		apiKey,
		baseURL: `${ORIGIN}/v1`,
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: async (url, init) => app.request(String(url), init),
	});

const CLIENTS: readonly [name: string, client: () => Promise<OpenAI>][] = [
	["an open gateway", async () => connect(testGateway({ vars: VARS }).app, "none")],
	[
		"a token",
		async () => {
			const { app, createToken } = closedGateway({ vars: VARS });
			return connect(app, await createToken(["Workers AI Read"]));
		},
	],
];

describe.each(CLIENTS)("a path of the form of a gateway's address, with %s", (_, client) => {
	it.each<[string, (openai: OpenAI) => Promise<unknown>, string]>([
		["a response", (openai) => openai.responses.retrieve("chatcmpl-1"), "ids of responses begin with resp_"],
		["deleting one", (openai) => openai.responses.delete("chatcmpl-1"), "ids of responses begin with resp_"],
		["a file", (openai) => openai.files.retrieve("1"), "ids of files begin with file-"],
		[
			"a file of a vector store",
			(openai) => openai.vectorStores.files.retrieve("file_1", { vector_store_id: "vs_1" }),
			"files are stored at /files",
		],
		[
			"a variation of an image",
			async (openai) => openai.images.createVariation({ image: await toFile(Uint8Array.of(1), "a.png") }),
			"only images/generations and images/edits are available",
		],
		[
			"a stored chat",
			(openai) => openai.chat.completions.retrieve("chatcmpl_1"),
			"chat completions are not stored",
		],
		[
			"a live session",
			(openai) => openai.post("/live/sessions/1/accept", { body: {} }),
			"live audio is available at /ai/run/{model}",
		],
		["skills", (openai) => openai.get("/skills"), "OpenAI's resource of this name is not available"],
		[
			"the users of an organization",
			(openai) => openai.post("/organization/users", { body: {} }),
			"OpenAI's resource of this name is not available",
		],
		[
			"the messages of one",
			async (openai) => openai.chat.completions.messages.list("chatcmpl_1"),
			"chat completions are not stored",
		],
	])("is refused with OpenAI's reason: %s", async (__, call, sentence) => {
		await expect(call(await client())).rejects.toMatchObject({
			status: 400,
			type: "invalid_request_error",
			message: expect.stringContaining(sentence),
		});
	});
});

/** The requests of all methods of the SDK that can be called with any arguments. */
async function requestsOfSdk(): Promise<{ method: string; path: string }[]> {
	const sent = new Map<string, { method: string; path: string }>();
	const openai = new OpenAI({
		apiKey: "none",
		adminAPIKey: "none",
		baseURL: `${ORIGIN}/v1`,
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: async (url, { method = "GET" } = {}) => {
			const { origin, pathname: path } = new URL(String(url));
			// It also tries the runtime's `fetch` with an address of its own.
			if (origin === ORIGIN) sent.set(`${method} ${path}`, { method, path });
			return Response.json({ data: [] });
		},
	});
	const ids = new Proxy({}, { get: () => "id-1" });
	const called = async (resource: object): Promise<void> => {
		const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(resource));
		for (const name of methods) {
			// These go on by themselves until something has ended.
			if (name === "constructor" || /poll|wait|stream|tools/i.test(name)) continue;
			try {
				await Reflect.get(resource, name).call(resource, "id-1", ids, ids);
			} catch {
				// Another form of arguments.
			}
		}
		for (const [name, inner] of Object.entries(resource))
			if (!name.startsWith("_") && typeof inner === "object" && inner && "_client" in inner)
				await called(inner);
	};
	for (const resource of Object.values(openai))
		if (typeof resource === "object" && resource && "_client" in resource) await called(resource);
	return [...sent.values()];
}

describe("the requests of OpenAI's SDK", () => {
	it("have answers in its format, also those of resources that are not here", async () => {
		const requests = await requestsOfSdk();
		expect(requests.length).toBeGreaterThan(200);
		const { app } = testGateway({ vars: VARS });
		const without: string[] = [];
		for (const { method, path } of requests) {
			const answer = await app.request(ORIGIN + path, { method });
			const body = answer.ok ? undefined : await answer.json<{ error?: { message?: string } }>();
			if (body && typeof body.error?.message !== "string") without.push(`${method} ${path} ${answer.status}`);
		}
		expect(without).toEqual([]);
	});
});

describe("a path without a route, called by another SDK", () => {
	const reason = "No route for that URI: ";
	it.each<[path: string, sentence: string]>([
		["/v1/mesages", `${reason}the address is /v1/messages`],
		["/v1/files/1", `${reason}ids of files begin with file- or file_`],
		["/client/v4/accounts/local/ai/v1/files/1", `${reason}ids of files begin with file- or file_`],
		[
			"/client/v4/accounts/local/ai/v1/mesages",
			`${reason}the address is /client/v4/accounts/local/ai/v1/messages`,
		],
		["/messages", `${reason}the address is /v1/messages`],
	])("is refused in the format of that SDK: %s", async (path, sentence) => {
		const { app } = testGateway({ vars: VARS });
		const call = async (header: string) => {
			const answer = await app.request(ORIGIN + path, {
				method: "POST",
				headers: { [header]: "2023-06-01" },
			});
			return { status: answer.status, body: await answer.json() };
		};
		expect(await call("anthropic-version")).toMatchObject({
			status: 404,
			body: { type: "error", error: { type: "not_found_error", message: sentence } },
		});
		expect(await call("x-goog-api-key")).toMatchObject({
			status: 404,
			body: { error: { code: 404, message: sentence, status: "NOT_FOUND" } },
		});
	});

	it("has the refusal of the credential in that format too", async () => {
		const { app } = closedGateway({ vars: VARS });
		const refused = await app.request(`${ORIGIN}/v1/files/1`, {
			headers: { "anthropic-version": "2023-06-01" },
		});
		expect(refused.status).toBe(401);
		expect(await refused.json()).toMatchObject({ type: "error", error: { type: "authentication_error" } });
	});
});

describe("an account with the name of such a path", () => {
	const chat = { prompt: "Hi" };

	it.each<[path: string, body: unknown]>([
		["/v1/responses/default", [{ provider: "workers-ai", endpoint: LLAMA, query: chat }]],
		[`/v1/files/default/workers-ai/${LLAMA}`, chat],
	])("has its gateways: %s", async (path, body) => {
		const { send, createToken } = closedGateway({ vars: VARS }, path.split("/")[2]);
		const response = await send(ORIGIN + path, await createToken(["Workers AI Read"]), json("POST", body));
		expect(await response.json()).toMatchObject({
			success: true,
			result: { response: expect.any(String) },
		});
	});
});
