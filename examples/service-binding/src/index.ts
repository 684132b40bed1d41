/** A Worker whose `env.AI` is another Worker: the gateway's RPC entrypoint. */
interface Env {
	/** The part of the product's binding that the entrypoint has. */
	AI: Pick<Ai, "run" | "models">;
}

export default {
	async fetch(request, env) {
		const prompt = new URL(request.url).searchParams.get("text");
		if (!prompt) return Response.json(await env.AI.models({ per_page: 5 }));
		const answer = await env.AI.run("@cf/meta/llama-3.3-70b-instruct-fp8-fast", { prompt, stream: true });
		return new Response(answer, { headers: { "content-type": "text/event-stream" } });
	},
} satisfies ExportedHandler<Env>;
