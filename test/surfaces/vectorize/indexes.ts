/** Calls of Vectorize's REST API. */
import { type TestOptions, testGateway } from "../../gateway.ts";

const INDEXES = "http://gateway/client/v4/accounts/local/vectorize/v2/indexes";

interface Answer {
	status: number;
	// biome-ignore lint/suspicious/noExplicitAny: the tests compare it.
	result: any;
	errors: { code: number; message: string }[];
	messages: unknown[];
}

export function vectorizeApi(options: TestOptions = {}) {
	const { app, services } = testGateway(options);
	const call = async (
		method: string,
		path: string,
		body?: unknown,
		headers: HeadersInit = {},
	): Promise<Answer> => {
		const isRaw = typeof body === "string" || body instanceof FormData || body instanceof ReadableStream;
		const response = await app.request(`${INDEXES}${path}`, {
			method,
			headers: { ...(!isRaw && body !== undefined && { "content-type": "application/json" }), ...headers },
			...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
		});
		return { status: response.status, ...(await response.json<Omit<Answer, "status">>()) };
	};
	return {
		usage: () => services.vectorIndexes.usage("local"),
		get: (path: string) => call("GET", path),
		post: (path: string, body?: unknown, headers?: HeadersInit) => call("POST", path, body, headers),
		delete: (path: string) => call("DELETE", path),
		create: (name: string, dimensions = 2, metric = "cosine", more: object = {}) =>
			call("POST", "", { name, config: { dimensions, metric }, ...more }),
		lines: (path: string, ...vectors: unknown[]) =>
			call("POST", path, vectors.map((vector) => JSON.stringify(vector)).join("\n"), {
				"content-type": "application/x-ndjson",
			}),
	};
}
