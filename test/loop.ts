/**
 * Gateways in front of a gateway: the first uses the simulator, and the others have the first as their only engine. Their
 * answers must be equal to those of the first.
 */
import { expect } from "vitest";
import { bindingOver } from "./backends/workers-ai/binding.ts";
import { BASE, type TestGateway, testGateway } from "./gateway.ts";

/** The route `*` also serves models that have ended. */
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
			// As strict as the first, so that sendToBoth report the same validation errors.
			ROUTES: { "*": { targets: [{ backend: "first" }], strict: true } },
		},
		fetch: async (input, init) => first.app.fetch(new Request(input, init)),
	});

/** In front of the OpenAI surface. */
export const BY_OPENAI = behind({ kind: "openai", url: `${BASE}/v1` });
/** In front of the REST API. */
export const BY_REST = behind({ kind: "workers-ai", url: BASE });
/** In front of the binding. */
export const BY_BINDING = behind({ kind: "workers-ai", binding: "AI" });

/** Fields that differ in every run. */
const VOLATILE = new Set(["id", "created", "created_at", "call_id", "item_id", "system_fingerprint"]);
function withoutVolatile(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(withoutVolatile);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).flatMap(([key, inner]) =>
			VOLATILE.has(key) ? [] : [[key, withoutVolatile(inner)]],
		),
	);
}
const frames = (text: string): unknown[] =>
	text
		.split("\n\n")
		// Comments only keep the connection alive.
		.filter((event) => event !== "" && !event.startsWith(":"))
		.map((event) => event.replace(/^event: .*\n/, "").replace(/^data: /, ""))
		.map((data) => (data === "[DONE]" ? data : withoutVolatile(JSON.parse(data))));

/** JSON, a form, or a file. */
export type BodyOf = Record<string, unknown> | FormData | Blob;

async function send({ app, post }: TestGateway, path: string, body: BodyOf): Promise<Response> {
	if (body instanceof FormData || body instanceof Blob)
		return app.request(`${BASE}${path}`, { method: "POST", body });
	return post(path, body);
}

export async function sendToBoth(
	second: TestGateway,
	path: string,
	body: BodyOf,
): Promise<[Response, Response]> {
	const answers = await Promise.all([send(first, path, body), send(second, path, body)]);
	for (const [i, answer] of answers.entries())
		expect(answer.status, `${i}: ${answer.ok ? "" : await answer.clone().text()}`).toBe(200);
	expect(answers[1].headers.get("x-ganglion-backend")).toBe("first");
	return answers;
}

/** `reviver`: normalizes values before the comparison (`JSON.parse`). */
export async function expectSameJson(
	second: TestGateway,
	path: string,
	body: BodyOf,
	reviver?: (key: string, value: unknown) => unknown,
): Promise<unknown> {
	const [a, b] = await sendToBoth(second, path, body);
	const answer = withoutVolatile(JSON.parse(await a.text(), reviver));
	expect(withoutVolatile(JSON.parse(await b.text(), reviver))).toEqual(answer);
	return answer;
}

export async function expectSameFrames(second: TestGateway, path: string, body: BodyOf): Promise<unknown[]> {
	const [a, b] = await sendToBoth(second, path, body);
	const answer = frames(await a.text());
	expect(frames(await b.text())).toEqual(answer);
	return answer;
}
