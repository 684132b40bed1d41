/**
 * `workers-ai-provider` resumes a stream whose connection was lost, over the runtime's own binding. Models of other providers need no
 * option for it.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createResumableStream } from "workers-ai-provider";
import { CLAUDE, GEMINI } from "../providers/routes.ts";

const { PROVIDED } = env as unknown as { PROVIDED: Ai };
const DONE = /data: \[DONE\]\n\n$/;
/** The bytes after which the connection is lost: in the first event, and after several events. */
const SIZES = [10, 500, 900];
const MODELS: readonly (readonly [model: string, sizes: readonly number[], end: RegExp])[] = [
	["openai/gpt-5-mini", SIZES, DONE],
	["@cf/meta/llama-3.1-8b-instruct-fp8", SIZES, DONE],
	[CLAUDE, [200], /event: message_stop\ndata: [^\n]*\n\n$/],
	[GEMINI, [200], DONE],
	["xai/grok-4", [200], DONE],
	["groq/llama-3.3-70b-versatile", [200], DONE],
	["alibaba/qwen3-max", [200], DONE],
];
const GATEWAY = "default";
const messages = [{ role: "user", content: "Count slowly from one to ten." }];
/** Anthropic requires it. */
const max_tokens = 500;

/** The first `size` bytes of the body. Then the connection is lost. */
function lost(body: ReadableStream<Uint8Array>, size: number): ReadableStream<Uint8Array> {
	const reader = body.getReader();
	let left = size;
	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			const { value } = left > 0 ? await reader.read() : {};
			if (value) {
				controller.enqueue(value.slice(0, left));
				left -= value.length;
				return;
			}
			await reader.cancel();
			controller.error(new Error("The connection was lost"));
		},
	});
}

describe.each(MODELS)("a stream of %s", (model, sizes, end) => {
	it.each(sizes)("is resumed byte for byte after %i bytes", async (size) => {
		const response = (await PROVIDED.run(model as never, { messages, max_tokens, stream: true } as never, {
			gateway: { id: GATEWAY, ...(model.startsWith("@cf/") && { resumable: true }) } as never,
			returnRawResponse: true,
		})) as unknown as Response;
		if (!response.ok) throw new Error(await response.text());
		const runId = response.headers.get("cf-aig-run-id") ?? "";
		const reconnects: number[] = [];
		const resumed = createResumableStream({
			binding: PROVIDED as never,
			gateway: GATEWAY,
			runId,
			initial: lost(response.body as ReadableStream<Uint8Array>, size),
			onReconnect: (event: number) => void reconnects.push(event),
		} as never);
		const text = await new Response(resumed as ReadableStream).text();
		const complete = createResumableStream({ binding: PROVIDED as never, gateway: GATEWAY, runId } as never);
		expect(reconnects).toHaveLength(1);
		expect(text).toBe(await new Response(complete as ReadableStream).text());
		expect(text).toMatch(end);
	});
});
