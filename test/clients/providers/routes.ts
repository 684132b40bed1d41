/** A gateway's variables that send these models to the providers of these tests. */
export const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
export const KIMI = "@cf/moonshotai/kimi-k2.6";
export const GPT_OSS = "@cf/openai/gpt-oss-120b";
export const SCOUT = "@cf/meta/llama-4-scout-17b-16e-instruct";
export const CLAUDE = "anthropic/claude-sonnet-4.5";
export const GEMINI = "google/gemini-3-flash";

/** Which provider answers for which of the product's models: each output form before each provider. */
export const SERVED = { claude: [LLAMA, KIMI], gemini: [SCOUT, GPT_OSS, GEMINI] };

/** Tells who starts the providers on which port they are expected. */
export const PORT_VARIABLE = "TEST_PROVIDERS_PORT";

export const KEYS = { CLAUDE_KEY: "sk-ant-test", GEMINI_KEY: "AIza-test" };

const to = (backend: string, model: string, ids: readonly string[]) =>
	Object.fromEntries(ids.map((id) => [id, [{ backend, model }]]));

export const routesOf = (url: string) => ({
	BACKENDS: {
		claude: { kind: "anthropic", url, key: "CLAUDE_KEY" },
		gemini: { kind: "gemini", url, key: "GEMINI_KEY" },
	},
	ROUTES: {
		...Object.fromEntries(
			["openai", "xai", "groq", "deepseek", "alibaba", "minimax"].map((author) => [
				`${author}/*`,
				[{ backend: "simulator" }],
			]),
		),
		...to("claude", "claude-sonnet-4-5", [...SERVED.claude, CLAUDE]),
		...to("gemini", "gemini-3-flash-preview", SERVED.gemini),
	},
});
