/** Answers questions from a handbook. The code is the same for every backend of the bindings. */
import { answerFrom } from "./managed.ts";
import { type Passage, passagesFor } from "./retrieval.ts";

const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

export default {
	async fetch(request, env) {
		const { pathname, searchParams } = new URL(request.url);
		const question = searchParams.get("q")?.trim();
		if ((pathname !== "/ask" && pathname !== "/search") || !question)
			return new Response("GET /ask?q=… or /search?q=…\n", { status: 404 });
		if (pathname === "/search") return Response.json(await answerFrom(env.HANDBOOK, question));

		const passages = await passagesFor(question, env);
		const output = await env.AI.run(CHAT, {
			messages: [
				{ role: "system", content: instructions(passages) },
				{ role: "user", content: question },
			],
			temperature: 0,
		});
		if (typeof output === "string" || !("response" in output)) throw new Error("The model gave no answer");
		return Response.json({
			answer: output.response,
			sources: passages.map(({ source, score }) => ({ source, score })),
		});
	},
} satisfies ExportedHandler<Env>;

const instructions = (passages: Passage[]): string =>
	[
		"Answer from the passages below and from nothing else, in one or two sentences. If they do not say, say so.",
		...passages.map(({ source, text }) => `<passage source="${source}">\n${text}\n</passage>`),
	].join("\n\n");
