/** Ten turns of a tool loop, by every interface, with every provider that signs or encrypts its reasoning. */
import { describe, expect, it } from "vitest";
import { testGateway } from "../gateway.ts";
import { ANTHROPIC_KEY, anthropic, SIGNATURE } from "../hosts/anthropic/index.ts";
import { hostFetch, recordBodies } from "../hosts/fetch.ts";
import { googleChat } from "../hosts/google/chat.ts";
import { GOOGLE_KEY, google } from "../hosts/google/index.ts";
import { GOOGLE_SIGNATURE } from "../hosts/google/reply.ts";
import { OPENAI_KEY, openai } from "../hosts/openai/index.ts";
import { sealOf } from "../hosts/openai/response-items.ts";
import { OPENROUTER_KEY, OPENROUTER_SIGNATURE, openRouter } from "../hosts/openrouter.ts";
import type { Host, Script } from "../hosts/script.ts";
import {
	bareChatCaller,
	chatCaller,
	geminiCaller,
	type MakeCaller,
	messagesCaller,
	nativeCaller,
	responsesCaller,
} from "./tool-loop-callers.ts";

const TURNS = 10;
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";

const SCRIPT: Script = ({ turns }) =>
	turns.flatMap(({ results }) => results).length < TURNS - 1
		? { kind: "tools", calls: [{ name: "weather", input: { city: "Paris" } }] }
		: { kind: "text", pieces: ["18 ", "degrees"] };

interface Provider {
	host: Host;
	backend: object;
	model: string;
	/** What the provider signs with, which callers never see. */
	secret: string;
	/** Counts the secret where the provider looks for it. */
	place: RegExp;
}

const PROVIDERS: Record<string, Provider> = {
	"OpenAI's Responses": {
		host: openai,
		backend: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
		model: "gpt-6-astra",
		secret: sealOf("gpt-6-astra"),
		place: /"encrypted_content":"gAAAA/g,
	},
	"Google's route for OpenAI's clients": {
		host: googleChat,
		backend: {
			kind: "openai",
			url: "https://generativelanguage.googleapis.com/v1beta/openai",
			key: "GOOGLE_KEY",
		},
		model: "gemini-3.8-flash",
		secret: GOOGLE_SIGNATURE,
		place: /"thought_signature":"c2lnLW9mLWdlbWluaQ=="/g,
	},
	Gemini: {
		host: google,
		backend: { kind: "gemini", key: "GOOGLE_KEY" },
		model: "gemini-3.8-flash",
		secret: GOOGLE_SIGNATURE,
		place: /"functionCall":\{[^}]*\{[^}]*\}\},"thoughtSignature":"c2lnLW9mLWdlbWluaQ=="/g,
	},
	Anthropic: {
		host: anthropic,
		backend: { kind: "anthropic", key: "ANTHROPIC_KEY" },
		model: "claude-opus-5-5",
		secret: SIGNATURE,
		place: /"signature":"sig-of-claude"/g,
	},
	OpenRouter: {
		host: openRouter,
		backend: { kind: "openai", url: "https://openrouter.ai/api/v1", key: "OPENROUTER_KEY" },
		model: "anthropic/claude-opus-5.5",
		secret: OPENROUTER_SIGNATURE,
		place: /"signature":"sig-of-openrouter"/g,
	},
};

const CALLERS: Record<string, { make: MakeCaller; model?: string }> = {
	"chat completions": { make: chatCaller("/v1/chat/completions") },
	"chat completions without added fields": { make: bareChatCaller },
	Messages: { make: messagesCaller },
	Responses: { make: responsesCaller },
	Gemini: { make: geminiCaller },
	"the native route": { make: nativeCaller, model: LLAMA },
	"the native route in OpenAI's form": { make: chatCaller(`/run/${KIMI}`), model: KIMI },
};

function gateway({ host, backend, model }: Provider) {
	const { fetch, bodies } = recordBodies(hostFetch(host, SCRIPT));
	const { post } = testGateway({
		vars: {
			BACKENDS: { host: backend },
			ROUTES: { "*": [{ backend: "host", model }] },
			OPENAI_KEY,
			GOOGLE_KEY,
			ANTHROPIC_KEY,
			OPENROUTER_KEY,
		},
		fetch,
	});
	return { post, bodies };
}

/** Callers of the native route cannot ask Claude to think. */
const thinks = (provider: string, caller: string): boolean =>
	provider !== "Anthropic" || caller !== "the native route";

describe.each(Object.entries(PROVIDERS))("a tool loop with %s", (name, provider) => {
	const cases = Object.entries(CALLERS).flatMap(([caller, options]) =>
		[false, true].map((stream) => ({ caller, stream, ...options })),
	);

	it.each(cases)("by $caller keeps the reasoning of all turns, stream: $stream", async (options) => {
		const { post, bodies } = gateway(provider);
		const caller = options.make(options.model ?? provider.model, options.stream);
		for (let turn = 1; turn <= TURNS; turn++) {
			const response = await post(caller.path, caller.request());
			const body = await response.text();
			expect([turn, response.status, body]).toEqual([turn, 200, body]);
			expect([turn, response.headers.get("x-ganglion-dropped")]).toEqual([turn, null]);
			expect(body).not.toContain(provider.secret);
			const sent = bodies.at(-1) ?? "";
			const expected = thinks(name, options.caller) ? turn - 1 : 0;
			expect([turn, sent.match(provider.place)?.length ?? 0, sent]).toEqual([turn, expected, sent]);
			const answered = caller.read(body);
			expect([turn, answered]).toEqual([
				turn,
				turn < TURNS ? { text: "", calls: 1 } : { text: "18 degrees", calls: 0 },
			]);
		}
		expect(bodies).toHaveLength(TURNS);
	});
});
