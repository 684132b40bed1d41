/** The scripted providers of the clients' tests at the providers' addresses, inside the Worker of the test. */
import { anthropic } from "../../clients/providers/anthropic.ts";
import type { Said } from "../../clients/providers/asked.ts";
import { gemini } from "../../clients/providers/gemini.ts";
import { openai } from "../../clients/providers/openai.ts";

const PROVIDERS: Readonly<Record<string, typeof anthropic>> = {
	"api.openai.com": openai,
	"api.anthropic.com": anthropic,
	"generativelanguage.googleapis.com": gemini,
};

export async function provide(request: Request): Promise<Response> {
	const { hostname, pathname, search } = new URL(request.url);
	const provider = PROVIDERS[hostname];
	if (!provider) throw new TypeError(`no provider at ${hostname}`);
	const headers = Object.fromEntries(request.headers);
	return responseOf(provider({ path: pathname, query: search, headers, body: await request.json() }));
}

function responseOf(reply: Said): Response {
	if ("json" in reply) return Response.json(reply.json, { status: reply.status ?? 200 });
	return new Response(reply.events.join(""), { headers: { "content-type": "text/event-stream" } });
}
