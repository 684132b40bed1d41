/** `GET /models/{model}` for names that clients have built in. */
import { describe, expect, it } from "vitest";
import { BASE, ENGINE_VARS, testGateway } from "../../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

const show = async (vars: Record<string, unknown>, id: string, headers: Record<string, string> = {}) => {
	const response = await testGateway({ vars }).app.request(`${BASE}/v1/models/${id}`, { headers });
	return { status: response.status, body: await response.json() };
};

describe("a model", () => {
	const engine = { ...ENGINE_VARS, ROUTES: { "gpt-*": [{ backend: "engine", model: "qwen3-coder" }] } };

	it("is shown if only the pattern of a route matches its name", async () => {
		expect(await show(engine, "gpt-5.6-sol")).toMatchObject({
			status: 200,
			body: { id: "gpt-5.6-sol", object: "model" },
		});
		const anthropic = { "anthropic-version": "2023-06-01" };
		expect(await show({ ...ENGINE_VARS }, "claude-opus-5-5", anthropic)).toMatchObject({
			status: 200,
			body: { id: "claude-opus-5-5", type: "model" },
		});
		const google = { "x-goog-api-key": "k" };
		expect((await show(engine, "gemini-3.8-flash", google)).status).toBe(404);
	});

	it("is shown by an alias with the window of its model", async () => {
		const vars = { DEFAULT_BACKEND: "simulator", ALIASES: { "claude-sonnet-5-5": LLAMA } };
		expect((await show(vars, "claude-sonnet-5-5")).body).toMatchObject({
			id: "claude-sonnet-5-5",
			alias_of: LLAMA,
			context_window: 24_000,
		});
	});

	it("does not exist if nothing serves its name, or if it is a model of Workers AI that the catalogue lacks", async () => {
		expect((await show(engine, "o4-mini")).status).toBe(404);
		expect((await show(ENGINE_VARS, "@cf/none/such")).status).toBe(404);
	});
});
