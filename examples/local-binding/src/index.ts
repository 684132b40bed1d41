/** Voice notes: speech, transcription, and questions. The code is the same for every backend of `env.AI`. */
export default {
	async fetch(request, env) {
		const { pathname, searchParams } = new URL(request.url);
		const text = searchParams.get("text") ?? "";
		switch (pathname) {
			case "/ask": {
				const answer = await env.AI.run("@cf/meta/llama-3.3-70b-instruct-fp8-fast", {
					messages: [{ role: "user", content: text }],
					stream: true,
				});
				return new Response(answer, { headers: { "content-type": "text/event-stream" } });
			}
			case "/speak":
				return env.AI.run("@cf/deepgram/aura-1", { text }, { returnRawResponse: true });
			case "/transcribe": {
				if (!request.body) return new Response("Send a recording\n", { status: 400 });
				const audio = { body: request.body, contentType: "audio/mpeg" };
				return Response.json(await env.AI.run("@cf/deepgram/nova-3", { audio }));
			}
			default:
				return new Response("GET /ask?text=…, GET /speak?text=…, POST /transcribe\n", { status: 404 });
		}
	},
} satisfies ExportedHandler<Env>;
