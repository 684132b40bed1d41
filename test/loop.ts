/**
 * Backends pointed at our own surfaces: one gateway on the simulator, and others whose only engine is the first. What
 * they answer must be what the first answers.
 */
import { expect } from "vitest";
import { bindingOver } from "./backends/workers-ai/binding.ts";
import { BASE, type TestGateway, testGateway } from "./gateway.ts";

/** A route by name serves also what has ended. */
export const first = testGateway({ vars: { ROUTES: { "*": [{ backend: "simulator" }] } } });

const wire = (request: Request): Response | Promise<Response> => {
	const headers = new Headers(request.headers);
	headers.set("x-forwarded", request.url);
	return first.app.fetch(new Request(`${BASE}/run/proxy`, new Request(request, { headers })));
};

const behind = (backend: object): TestGateway =>
	testGateway({
		vars: {
			AI: bindingOver(wire),
			BACKENDS: { first: backend },
			// As strict as the first, or the two would word what is wrong differently.
			ROUTES: { "*": { targets: [{ backend: "first" }], strict: true } },
		},
		fetch: async (input, init) => first.app.fetch(new Request(input, init)),
	});

/** In front of the OpenAI surface. */
export const BY_OPENAI = behind({ kind: "openai", url: `${BASE}/v1` });
/** In front of the REST API. */
export const BY_REST = behind({ kind: "workers-ai", url: BASE });
/** In front of the wire of the binding. */
export const BY_BINDING = behind({ kind: "workers-ai", binding: "AI" });

/** Ids and times belong to a run, not to an answer. */
const VOLATILE = new Set(["id", "created", "created_at", "call_id", "item_id", "system_fingerprint"]);
function stable(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(stable);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).flatMap(([key, inner]) => (VOLATILE.has(key) ? [] : [[key, stable(inner)]])),
	);
}
const frames = (text: string): unknown[] =>
	text
		.split("\n\n")
		// Comments, which keep a connection alive, carry nothing.
		.filter((event) => event !== "" && !event.startsWith(":"))
		.map((event) => event.replace(/^event: .*\n/, "").replace(/^data: /, ""))
		.map((data) => (data === "[DONE]" ? data : stable(JSON.parse(data))));

/** JSON, a form, or a file. */
export type BodyOf = Record<string, unknown> | FormData | Blob;

async function send({ app, post }: TestGateway, path: string, body: BodyOf): Promise<Response> {
	if (body instanceof FormData || body instanceof Blob)
		return app.request(`${BASE}${path}`, { method: "POST", body });
	return post(path, body);
}

export async function both(second: TestGateway, path: string, body: BodyOf): Promise<[Response, Response]> {
	const answers = await Promise.all([send(first, path, body), send(second, path, body)]);
	for (const [i, answer] of answers.entries())
		expect(answer.status, `${i}: ${answer.ok ? "" : await answer.clone().text()}`).toBe(200);
	expect(answers[1].headers.get("x-ganglion-backend")).toBe("first");
	return answers;
}

/** `as`: what of a value counts, as `JSON.parse` has it. */
export async function sameJson(
	second: TestGateway,
	path: string,
	body: BodyOf,
	as?: (key: string, value: unknown) => unknown,
): Promise<unknown> {
	const [a, b] = await both(second, path, body);
	const answer = stable(JSON.parse(await a.text(), as));
	expect(stable(JSON.parse(await b.text(), as))).toEqual(answer);
	return answer;
}

export async function sameFrames(second: TestGateway, path: string, body: BodyOf): Promise<unknown[]> {
	const [a, b] = await both(second, path, body);
	const answer = frames(await a.text());
	expect(frames(await b.text())).toEqual(answer);
	return answer;
}
