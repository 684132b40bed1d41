/** Odd replies of Anthropic's, Gemini's, Ollama's and OpenAI's Responses API, as every interface shows them. */
import { describe, expect, it } from "vitest";
import { upstream } from "../gateway.ts";
import { COUNTED_REPLIES } from "./odd-replies/counted-replies.ts";
import { PROVIDER_REPLIES, type ProviderReply } from "./odd-replies/provider-cases.ts";
import { PROVIDER_FORMS } from "./odd-replies/provider-forms.ts";
import { CALLS, callersOf, expectedAnswers, readAnswers } from "./odd-replies/readers.ts";

const MODEL = "acme/assistant-1";
const MODELS = { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } };
const BACKENDS = {
	anthropic: { kind: "anthropic", url: "https://host.example", model: "claude-opus-5-5" },
	gemini: { kind: "gemini", url: "https://host.example", model: "gemini-3.8-flash" },
	ollama: { kind: "ollama", url: "http://host.example:11434", model: "qwen3.8" },
	"workers-ai": { kind: "workers-ai", url: "https://host.example/ai", model: "@cf/moonshotai/kimi-k2.6" },
	responses: { kind: "openai", api: "responses", url: "https://host.example/v1", model: "gpt-6.1-sol" },
};

/** A gateway in front of a host that answers each request with `reply`. */
function gatewayOf(provider: keyof typeof BACKENDS) {
	const { model, ...backend } = BACKENDS[provider];
	const host: { reply: Pick<ProviderReply, "body" | "type"> } = { reply: { body: "", type: "" } };
	const { fetch } = upstream(
		() => new Response(host.reply.body, { headers: { "content-type": host.reply.type } }),
	);
	const vars = {
		BACKENDS: { host: backend },
		ROUTES: { [MODEL]: { targets: [{ backend: "host", model }], retries: { attempts: 1 } } },
		MODELS,
	};
	return { host, ...callersOf({ vars, fetch }) };
}

/** A stream of chunks has no usage, unless its caller requests it. */
const showsUsage = ({ surface, stream }: (typeof CALLS)[number]): boolean =>
	!stream || !["chat", "compat", "universal"].includes(surface);

for (const provider of Object.keys(PROVIDER_FORMS) as (keyof typeof BACKENDS)[])
	describe(`another form of ${provider}`, () => {
		const { host, send } = gatewayOf(provider);
		it.each(PROVIDER_FORMS[provider].map((reply) => [reply.name, reply] as const))("%s", async (_, reply) => {
			host.reply = reply;
			expect(await readAnswers(send, MODEL)).toEqual(expectedAnswers(reply.answer));
		});
	});

for (const provider of Object.keys(PROVIDER_REPLIES) as (keyof typeof PROVIDER_REPLIES)[])
	describe(`a reply of ${provider}`, () => {
		const { host, send } = gatewayOf(provider);
		it.each(PROVIDER_REPLIES[provider].map((reply) => [reply.name, reply] as const))(
			"%s",
			async (_, reply) => {
				host.reply = reply;
				expect(await readAnswers(send, MODEL)).toEqual(expectedAnswers(reply.answer));
			},
		);

		/** The last counts of the prompt and of the answer that a client reads. */
		const countsOf = async (reply: ProviderReply) => {
			host.reply = reply;
			const counts = await Promise.all(
				CALLS.filter(showsUsage).map(async ({ surface, stream }) => {
					const text = await (await send(surface, MODEL, stream)).text();
					const last = (names: RegExp) => [...text.matchAll(names)].at(-1)?.[1];
					return [
						`${surface} ${stream}`,
						last(/"(?:prompt_tokens|input_tokens|promptTokenCount)":([^,}]+)/g),
						last(/"(?:completion_tokens|output_tokens|candidatesTokenCount)":([^,}]+)/g),
					] as const;
				}),
			);
			return counts;
		};

		it("with impossible counts has the gateway's own", async () => {
			const { whole, streamed } = COUNTED_REPLIES[provider];
			for (const reply of [whole, streamed]) {
				const own = await countsOf(reply({}));
				// The text is `Hello`.
				expect(own.map(([, , output]) => output)).toEqual(own.map(() => "1"));
				const withPrompt = own.map(([call, , output]) => [call, "20", output]);
				const withOutput = own.map(([call, input]) => [call, input, "9"]);
				expect(await countsOf(reply({ input: -20, output: -9 }))).toEqual(own);
				expect(await countsOf(reply({ input: null, output: null }))).toEqual(own);
				expect(await countsOf(reply({ input: "many", output: 9 }))).toEqual(withOutput);
				expect(await countsOf(reply({ input: -1, output: "9" }))).toEqual(withOutput);
				expect(await countsOf(reply({ input: 20, output: -1 }))).toEqual(withPrompt);
				expect(await countsOf(reply({ input: "20", output: 1e9 }))).toEqual(withPrompt);
				expect(await countsOf(reply({ input: 19.6 }))).toEqual(withPrompt);
			}
		});

		it("with a usage that is no object has the gateway's own", async () => {
			const { whole, streamed } = COUNTED_REPLIES[provider];
			for (const reply of [whole, streamed]) {
				const own = await countsOf(reply({}));
				for (const usage of [[], "20", 20, true, null])
					expect(await countsOf(reply({}, usage)), JSON.stringify(usage)).toEqual(own);
			}
		});
	});
