/** A scripted host behind `fetch`, for tests without a network. */
import { type Host, type HostReply, replyOf, type Script } from "./script.ts";

/** `base`: the part of the path before the API's own. */
export function hostFetch(host: Host, script: Script, base = ""): typeof fetch {
	return async (input, init) => {
		const request = new Request(input, init);
		const { pathname, search } = new URL(request.url);
		const text = await request.text();
		const reply = replyOf(
			host,
			{
				method: request.method,
				path: pathname.slice(base.length),
				query: search,
				headers: Object.fromEntries(request.headers),
				body: text === "" ? undefined : JSON.parse(text),
			},
			script,
		);
		return responseOf(reply, request.signal);
	};
}

/** A `fetch` that answers with `answer`, and the bodies that it has received. */
export function recordBodies(answer: (request: Request) => Response | Promise<Response>): {
	fetch: typeof fetch;
	bodies: string[];
} {
	const bodies: string[] = [];
	return {
		bodies,
		fetch: async (input, init) => {
			const request = new Request(input, init);
			bodies.push(await request.clone().text());
			return answer(request);
		},
	};
}

function responseOf(reply: HostReply, signal: AbortSignal): Response {
	if ("json" in reply) return Response.json(reply.json, reply);
	const events = reply.events[Symbol.asyncIterator]();
	const encoder = new TextEncoder();
	const body = new ReadableStream<Uint8Array>({
		start(controller) {
			signal.addEventListener("abort", () => controller.error(signal.reason));
		},
		async pull(controller) {
			const { done, value } = await events.next();
			if (signal.aborted) return;
			if (done) controller.close();
			else controller.enqueue(encoder.encode(value));
		},
		async cancel() {
			await events.return?.();
		},
	});
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
