/** Each surface checks the model's id, then the body, and then whether the account may pay for the request. */
import { describe, expect, it } from "vitest";
import type { Explanation } from "../../src/pipeline/explain.ts";
import { testGateway } from "../gateway.ts";

const MESSAGES = [{ role: "user", content: "Hi" }];
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KEYS = { OPENAI_API_KEY: "sk-openai", PROVIDER_KEYS: { openai: "OPENAI_API_KEY" } };
const SIMULATED = { ROUTES: { [LLAMA]: [{ backend: "simulator" }] } };

interface Surface {
	path(model: string): string;
	body(model: string): Record<string, unknown>;
	/** A field of the wrong type. */
	wrong: Record<string, unknown>;
}
const surfaces: Record<string, Surface> = {
	"the run API": {
		path: (model) => `/run/${model}`,
		body: () => ({ messages: MESSAGES, max_tokens: 10 }),
		wrong: { messages: 5 },
	},
	"OpenAI's chat": {
		path: () => "/v1/chat/completions",
		body: (model) => ({ model, messages: MESSAGES, max_tokens: 10 }),
		wrong: { messages: 5 },
	},
	"OpenAI's responses": {
		path: () => "/v1/responses",
		body: (model) => ({ model, input: "Hi", max_output_tokens: 20 }),
		wrong: { input: 5 },
	},
	"Anthropic's messages": {
		path: () => "/v1/messages",
		body: (model) => ({ model, messages: MESSAGES, max_tokens: 10 }),
		wrong: { messages: 5 },
	},
	"a count of tokens": {
		path: () => "/v1/messages/count_tokens",
		body: (model) => ({ model, messages: MESSAGES }),
		wrong: { messages: 5 },
	},
};
const all = Object.keys(surfaces);
const withCost = all.filter((name) => name !== "a count of tokens");

const refusals: Record<
	string,
	{ model: string; vars: Record<string, unknown>; status: number; names: readonly string[] }
> = {
	"a provider's model without a key": {
		model: "anthropic/claude-haiku-4.5",
		vars: KEYS,
		status: 402,
		names: all,
	},
	"a model without a price, and a budget": {
		model: "openai/gpt-next",
		vars: { ...KEYS, LIMITS: { daily_neurons: 100 } },
		status: 402,
		names: withCost,
	},
	"a model of the paid plan": {
		model: "@cf/moonshotai/kimi-k2.6",
		vars: { ROUTES: { "@cf/*": [{ backend: "simulator" }] }, LIMITS: { plan: "free" } },
		status: 403,
		names: withCost,
	},
	"a budget that has no room": {
		model: LLAMA,
		vars: { ...SIMULATED, LIMITS: { daily_neurons: 0.000001 } },
		status: 429,
		names: withCost,
	},
};

describe.each(Object.entries(refusals))("a request for %s", (_, { model, vars, status, names }) => {
	it.each(names)("over %s is refused for its body first", async (name) => {
		const { body, path, wrong } = surfaces[name] as Surface;
		const { post } = testGateway({ vars });
		expect((await post(path(model), body(model))).status).toBe(status);
		const refused = await post(path(model), { ...body(model), ...wrong });
		expect([refused.status, await refused.text()]).toEqual([400, expect.not.stringContaining("2021")]);
	});
});

it("a body that is refused reserves nothing", async () => {
	const { post } = testGateway({ vars: { ...SIMULATED, LIMITS: { daily_neurons: 100 } } });
	for (const name of withCost) {
		const { body, path, wrong } = surfaces[name] as Surface;
		expect((await post(path(LLAMA), { ...body(LLAMA), ...wrong })).status).toBe(400);
	}
	const explained = await post(`/explain/${LLAMA}`, { messages: MESSAGES });
	const { result } = await explained.json<{ result: Explanation }>();
	expect(result.limits?.budgets).toMatchObject([{ spent: 0, reserved: 0 }]);
});
