interface Env {
	AI: Ai;
}

/** Streams an answer: `GET /?prompt=Hello`. */
export default {
	async fetch(request, env) {
		const prompt = new URL(request.url).searchParams.get("prompt") ?? "Hello, who are you?";
		const answer = await env.AI.run("@cf/meta/llama-3.3-70b-instruct-fp8-fast", {
			messages: [{ role: "user", content: prompt }],
			stream: true,
		});
		return new Response(answer, { headers: { "content-type": "text/event-stream" } });
	},
} satisfies ExportedHandler<Env>;
