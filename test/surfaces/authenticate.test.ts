import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { configure } from "../../src/config.ts";
import { createServices } from "../../src/services.ts";
import { OPEN_PATHS } from "../../src/surfaces/authenticate.ts";

const appFor = (vars: Record<string, unknown>) => {
	const config = configure({ DEFAULT_BACKEND: "simulator", ...vars });
	return createApp(createServices(config), config.allowAnonymous);
};
const CHAT = "/client/v4/accounts/local/ai/v1/chat/completions";

describe("a gateway without ALLOW_ANONYMOUS", () => {
	const app = appFor({});

	it("refuses every route of the app, and every unknown one, with 401 and 10000", async () => {
		const paths = new Set(
			app.routes.map(({ path }) => path.replaceAll("*", "x").replace(/\/:\w+(\{[^}]+\})?/g, "/x")),
		);
		expect(paths.size).toBeGreaterThan(15);
		for (const path of [...paths, "/nothing", "/client/v4/accounts/x"])
			for (const method of ["GET", "POST"]) {
				if (OPEN_PATHS.has(path)) continue;
				const response = await app.request(path, { method });
				expect(response.status, `${method} ${path}`).toBe(401);
				expect(response.headers.has("cf-ai-req-id")).toBe(false);
				expect(await response.text()).toBe(
					'{"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}',
				);
			}
	});

	it("is not opened by a token, since none exists yet", async () => {
		const response = await app.request(CHAT, {
			method: "POST",
			headers: { authorization: "Bearer anything" },
		});
		expect(response.status).toBe(401);
	});

	it("is opened by no other value", async () => {
		expect((await appFor({ ALLOW_ANONYMOUS: "false" }).request(CHAT, { method: "POST" })).status).toBe(401);
	});

	it("says at its root what it is", async () => {
		expect(await (await app.request("/")).text()).toContain("Ganglion");
	});
});

describe("a gateway with ALLOW_ANONYMOUS", () => {
	it("lets everyone in", async () => {
		const response = await appFor({ ALLOW_ANONYMOUS: "true" }).request(CHAT, { method: "POST" });
		expect(response.status).toBe(400);
	});

	it.each([
		["POST", "/client/v4/accounts/a%20b/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8"],
		["GET", "/client/v4/accounts/!!/ai/models/search"],
		["GET", "/client/v4/accounts/%20/ai/v1/models"],
	])("refuses an account id that cannot be one: %s %s", async (method, path) => {
		const response = await appFor({ ALLOW_ANONYMOUS: "true" }).request(path, { method });
		expect(response.status).toBe(404);
		expect(await response.json()).toMatchObject({
			result: null,
			errors: [
				{
					code: 7003,
					message: expect.stringMatching(
						/^Could not route to \/accounts\/.*, perhaps your object identifier is invalid\?$/,
					),
				},
				{ code: 7000, message: "No route for that URI" },
			],
		});
	});
});
