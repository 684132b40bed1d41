/** Which tokens the connection guard learns from the gateway: those that were verified, wherever they are, and no other credential. */
import { describe, expect, it } from "vitest";
import { digest, hexadecimal, newTokenText } from "../../src/accounts/token-text.ts";
import { acceptedTokens } from "../../src/http/accepted-tokens.ts";
import { ADMIN, closedGateway, json } from "./access.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const chat = { model: MODEL, messages: [{ role: "user", content: "Hi" }], max_tokens: 9 };
const gemini = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
const INVENTED = newTokenText("accepted-tokens");
const hashOf = (text: string): string => hexadecimal(digest(text));

async function world(vars: Record<string, unknown> = {}) {
	const gateway = closedGateway({ vars: { DEFAULT_BACKEND: "simulator", ...vars } });
	const { account, createToken, send } = gateway;
	const token = await createToken(["Workers AI Write"]);
	const names = new Map([
		[hashOf(token), "the token"],
		[hashOf(INVENTED), "an invented one"],
		[hashOf(ADMIN), "the operator's"],
	]);
	/** What the guard learns from one request. */
	const learned = async (path: string, headers: Record<string, string>, body?: unknown) => {
		const { position } = acceptedTokens.after(0);
		const { headers: type, ...init } = body === undefined ? {} : json("POST", body);
		const response = await send(path, undefined, { ...init, headers: { ...type, ...headers } });
		await response.text();
		const tokens = acceptedTokens.after(position).hashes.flatMap((hash) => names.get(hash) ?? []);
		return { status: response.status, tokens };
	};
	return { account, learned, send, token, url: (path: string) => `http://gateway/v1/${account}${path}` };
}

const ACCEPTED = { status: 200, tokens: ["the token"] };
const bearer = (text: string) => `Bearer ${text}`;

describe("the guard learns the token", () => {
	it.each([
		["a bearer token", (token: string) => ({ authorization: bearer(token) })],
		[
			"a bearer token beside others that are not read",
			(token: string) => ({
				authorization: bearer(token),
				"cf-aig-authorization": bearer(INVENTED),
				"x-api-key": INVENTED,
				"x-goog-api-key": INVENTED,
			}),
		],
		["Azure's key", (token: string) => ({ "api-key": token, "x-api-key": INVENTED })],
	])("of a chat: %s", async (_, headersWith) => {
		const { learned, token } = await world();
		expect(await learned("/ai/v1/chat/completions", headersWith(token), chat)).toEqual(ACCEPTED);
	});

	it("of Anthropic's and Google's formats, in headers and in the query", async () => {
		const { learned, token } = await world();
		const others = { "cf-aig-authorization": bearer(INVENTED) };
		const messages = await learned("/ai/v1/messages", { ...others, "x-api-key": token }, chat);
		expect(messages).toEqual(ACCEPTED);
		const path = `/ai/v1beta/models/${MODEL}:generateContent`;
		expect(await learned(path, { ...others, "x-goog-api-key": token }, gemini)).toEqual(ACCEPTED);
		const inQuery = await learned(`${path}?key=${token}`, { ...others, "x-api-key": INVENTED }, gemini);
		expect(inQuery).toEqual(ACCEPTED);
	});

	it("of AI Gateway, and not the provider's key", async () => {
		const { learned, token, url } = await world();
		const path = url("/mine/compat/chat/completions");
		const headers = { "cf-aig-authorization": bearer(token), authorization: bearer(INVENTED) };
		const model = `workers-ai/${MODEL}`;
		expect(await learned(path, headers, { ...chat, model })).toEqual(ACCEPTED);
	});
});

describe("the guard learns no credential", () => {
	it("of a public path, of a refused request, or of one that fails", async () => {
		const { learned, token } = await world();
		for (const path of ["/health", "/ready", "/"])
			for (const authorization of [bearer(INVENTED), bearer(token)]) {
				const { tokens } = await learned(`http://gateway${path}`, { authorization });
				expect(tokens).toEqual([]);
			}
		const refused = await learned("/ai/v1/chat/completions", { authorization: bearer(INVENTED) }, chat);
		expect(refused).toMatchObject({ tokens: [] });
		expect(refused.status).toBeGreaterThanOrEqual(401);
		const failed = await learned("/ai/v1/chat/completions", { authorization: bearer(token) }, {});
		expect(failed).toEqual({ status: 400, tokens: [] });
	});

	it("of the operator, whose token the guard has", async () => {
		const { learned } = await world();
		expect(await learned("/tokens", { authorization: bearer(ADMIN) })).toEqual({ status: 200, tokens: [] });
	});

	it("of a gateway that serves every caller", async () => {
		const { learned, send, url } = await world({ AI_GATEWAY: { allow_unauthenticated: true } });
		await send("/ai-gateway/gateways", ADMIN, json("POST", { id: "open", authentication: false }));
		const headers = { "cf-aig-authorization": bearer(INVENTED) };
		const model = `workers-ai/${MODEL}`;
		const answer = await learned(url("/open/compat/chat/completions"), headers, { ...chat, model });
		expect(answer).toEqual({ status: 200, tokens: [] });
	});
});
