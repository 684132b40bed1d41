/** The document at `/openapi.json`, validated by a published validator, and its paths on a started gateway. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";

interface Operation {
	operationId: string;
	parameters?: { name: string; in: string; required: boolean }[];
	responses: Record<string, { content: Record<string, unknown> }>;
}

type Document = {
	openapi: string;
	paths: Record<string, Record<string, Operation>>;
};

const origin = new URL(inject("baseURL")).origin;
let document: Document;
beforeAll(async () => {
	const response = await fetch(`${origin}/openapi.json`);
	expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
	document = (await response.json()) as Document;
});

/** `GET` operations without a parameter besides the account, and without the upgrade to a websocket. */
const readable = (): [path: string, operation: Operation][] =>
	Object.entries(document.paths).flatMap(([path, { get }]) => {
		const others = get?.parameters?.filter(({ name, required }) => required && name !== "account") ?? [];
		return get?.responses[200] && others.length === 0 ? [[path, get]] : [];
	});

describe("/openapi.json", () => {
	it("is a valid OpenAPI 3.1 document", async () => {
		const { valid, errors } = await new Validator().validate(structuredClone(document));
		expect(errors).toBeUndefined();
		expect(valid).toBe(true);
		expect(document.openapi).toBe("3.1.0");
	});

	it("describes the routes of each surface", () => {
		const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
			Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
		);
		expect(operations).toEqual(
			expect.arrayContaining([
				"POST /client/v4/accounts/{account}/ai/run/{model}",
				"POST /client/v4/accounts/{account}/ai/v1/chat/completions",
				"POST /v1/chat/completions",
				"POST /client/v4/accounts/{account}/tokens",
				"GET /client/v4/accounts/{account}/ai/usage",
				"GET /metrics",
				"GET /openapi.json",
			]),
		);
	});

	it("has paths that exist: each readable operation has the media type of the document", async () => {
		const paths = readable();
		expect(paths.length).toBeGreaterThan(15);
		const refused: string[] = [];
		for (const [path, operation] of paths) {
			const response = await fetch(origin + path.replace("{account}", ACCOUNT));
			await response.body?.cancel();
			const type = response.headers.get("content-type")?.split(";")[0] ?? "";
			if (!response.ok) refused.push(`${path} ${response.status}`);
			else expect(Object.keys(operation.responses[200]?.content ?? {}), path).toContain(type);
		}
		// This gateway has no engine of its own.
		expect(refused).toEqual(["/client/v4/local-models 404"]);
	});
});
