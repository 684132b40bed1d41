/** A shop's assistant that calculates and finds prices. The code is the same for every backend of `env.AI`. */
import { createTextStreamResponse, isStepCount, streamText, toTextStream } from "ai";
import { createWorkersAI } from "workers-ai-provider";
import * as z from "zod";
import { calculator, price } from "./tools.ts";

/** Maximum calls of the model for one message: rounds of tools, and the answer. */
const MAX_STEPS = 5;

const Chat = z.object({
	messages: z.array(z.object({ role: z.enum(["user", "assistant"]), content: z.string() })).min(1),
});

export default {
	async fetch(request, env) {
		if (request.method !== "POST" || new URL(request.url).pathname !== "/chat")
			return new Response("POST /chat\n", { status: 404 });
		const chat = Chat.safeParse(await request.json().catch(() => undefined));
		if (!chat.success) return new Response(`${z.prettifyError(chat.error)}\n`, { status: 400 });

		const workersAi = createWorkersAI({ binding: env.AI });
		const result = streamText({
			model: workersAi("@cf/meta/llama-3.3-70b-instruct-fp8-fast"),
			instructions: "You are the assistant of a shop. Calculate and look up prices with your tools only.",
			messages: chat.data.messages,
			tools: { calculator, price },
			stopWhen: isStepCount(MAX_STEPS),
			abortSignal: request.signal,
			// Printed in the terminal of `wrangler dev`, and in the logs of a deployed Worker.
			onStepEnd: ({ toolCalls }) => {
				for (const { toolName, input } of toolCalls) console.log(toolName, JSON.stringify(input));
			},
		});
		return createTextStreamResponse({ stream: toTextStream({ stream: result.stream }) });
	},
} satisfies ExportedHandler<Env>;
