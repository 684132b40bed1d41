import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { Authenticator } from "../../../src/http/authenticate.ts";
import { mountRoutes } from "../../../src/http/mount-routes.ts";
import { openApiRoutes } from "../../../src/surfaces/operations/openapi.ts";
import { openApiDocument } from "../../../src/surfaces/operations/openapi-document.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import type { AppServices } from "../../../src/surfaces/services.ts";
import { OPEN_ACCESS, testGateway, testServices } from "../../gateway.ts";

interface Operation {
	operationId: string;
	summary: string;
	tags: string[];
	parameters?: { name: string; in: string; required: boolean; schema: object }[];
	requestBody?: { content: Record<string, { schema: object }> };
	responses: object;
	security: object[];
}

const document = (await openApiDocument(ROUTES)) as {
	paths: Record<string, Record<string, Operation>>;
	components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
};
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe("the OpenAPI document", () => {
	it("has an operation for every route, with a summary, a tag and an id of its own", () => {
		// Routes that differ only in the pattern of a parameter are one operation.
		const routes = new Set(
			ROUTES.filter(({ hidden }) => !hidden).map(
				({ method, path }) => `${method} ${path.replaceAll(/\{[^}]*\}/g, "")}`,
			),
		);
		expect(operations).toHaveLength(routes.size);
		expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
		for (const { summary, tags } of operations) {
			expect(summary).toMatch(/^[A-Z].+[^.]$/);
			expect(tags).toHaveLength(1);
		}
	});

	it("declares each parameter of a path", () => {
		for (const [path, methods] of Object.entries(document.paths))
			for (const { parameters = [] } of Object.values(methods))
				expect(parameters.filter((each) => each.in === "path").map(({ name }) => name)).toEqual(
					[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
				);
	});

	it("has the query parameters and the body of the schemas that validate", () => {
		const usage = document.paths["/client/v4/accounts/{account}/ai/usage"]?.get;
		const names = usage?.parameters?.filter((each) => each.in === "query").map(({ name }) => name);
		expect(names).toEqual(["model", "task", "token", "backend", "from", "to", "format", "group_by"]);
		const alias = document.paths["/client/v4/accounts/{account}/ai/aliases/{alias}"]?.put;
		const { $ref = "" } = (alias?.requestBody?.content["application/json"]?.schema ?? {}) as {
			$ref?: string;
		};
		expect(document.components.schemas[$ref.replace("#/components/schemas/", "")]).toMatchObject({
			type: "object",
			required: ["model"],
		});
	});

	it("names only schemas and security schemes that exist", () => {
		const text = JSON.stringify(document);
		for (const [, pointer = ""] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
			const target = pointer
				.split("/")
				.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
			expect(target, pointer).toBeTypeOf("object");
		}
		for (const { security } of operations)
			for (const name of security.flatMap(Object.keys))
				expect(document.components.securitySchemes).toHaveProperty([name]);
	});

	it("has no default that depends on the day, and the required parameters of the catalogue", () => {
		expect(JSON.stringify(document)).not.toContain("2026-01-01");
		const schema = document.paths["/client/v4/accounts/{account}/ai/models/schema"]?.get?.parameters;
		expect(schema?.map(({ name, required }) => [name, required])).toEqual([
			["account", true],
			["model", true],
		]);
	});

	it("merges the credentials of routes that are one operation", () => {
		const native = document.paths["/v1/{account}/{gateway}/{provider}/{endpoint}"]?.post;
		expect(native?.security.flatMap(Object.keys).sort()).toEqual(
			[
				"api-key",
				"authorization-bearer",
				"cf-aig-authorization-bearer",
				"key",
				"x-api-key",
				"x-goog-api-key",
			].sort(),
		);
	});

	it("leaves out routes that only refuse, and names operations briefly", () => {
		const ids = operations.map(({ operationId }) => operationId);
		expect(Object.keys(document.paths).filter((path) => /proxy/.test(path))).toEqual([]);
		expect(ids).toEqual(
			expect.arrayContaining([
				"getHealth",
				"getAiUsage",
				"getAccounts",
				"postAiRunByModel",
				"postAiV1ChatCompletions",
				"postV1ChatCompletions",
				"putTokensByTokenValue",
			]),
		);
	});

	it("documents a websocket by its status, and the address of the gateway", async () => {
		const socket = document.paths["/client/v4/accounts/{account}/ai/run/{model}"]?.get;
		expect(Object.keys(socket?.responses ?? {})).toEqual(["101", "default"]);
		expect((await openApiDocument(ROUTES, { address: "https://ai.example.com" })).servers).toEqual([
			{ url: "https://ai.example.com" },
		]);
	});

	it.each([
		["Failure", "/client/v4/accounts/local/ai/models/search", {}],
		["OpenAiFailure", "/v1/chat/completions", {}],
		["AnthropicFailure", "/v1/messages", { request_id: expect.any(String) }],
		["GeminiFailure", "/v1beta/models", {}],
	])("has the answer to a wrong token as the example of %s", async (name, path, unpredictable) => {
		const { services } = testGateway();
		const app = createApp(services, { allowAnonymous: false, adminToken: "an-operator" });
		const response = await app.request(`http://gateway${path}`, {
			method: path.includes("models") ? "GET" : "POST",
			headers: { authorization: "Bearer wrong" },
		});
		const { examples = [] } = document.components.schemas[name] as { examples?: object[] };
		expect(await response.json()).toEqual({ ...examples[0], ...unpredictable });
	});

	describe.each(["/openapi.json", "/docs"])("%s", (path) => {
		function served(services = testServices()) {
			// The routes keep the text, so these are new ones.
			const app = new Hono();
			const routes = openApiRoutes();
			const authentication = new Authenticator(OPEN_ACCESS, services);
			mountRoutes(app, { routes, unknown: [] }, { services, authentication });
			return (host: string) => app.request(`http://${host}${path}`);
		}

		it.each<[string, AppServices["assets"]]>([
			["a page", async () => new Response("<!doctype html><title>Ganglion</title>")],
			["absent", async () => new Response("none", { status: 404 })],
			["refused", async () => new Response("{address}", { status: 503 })],
			["not configured", undefined],
		])("is refused while its file is %s", async (_, assets) => {
			const services = testServices();
			const { assets: readable } = services;
			const get = served(services);
			Object.assign(services, { assets });
			const refused = await get("one.test");
			expect(refused.status).toBe(404);
			expect(await refused.text()).toMatch(/cannot be read|sets no assets/);
			Object.assign(services, { assets: readable });
			const found = await get("one.test");
			expect(found.status).toBe(200);
			expect(await found.text()).toContain("0c8a895b6be701");
		});

		it("has the address of each request, and is read once", async () => {
			const services = testServices();
			const read = vi.spyOn(services, "assets");
			const get = served(services);
			const addressAt = async (host: string) =>
				(await (await get(host)).text()).match(/http:\/\/\w+\.test/)?.[0];
			for (const host of ["one.test", "one.test", "two.test"])
				expect(await addressAt(host)).toBe(`http://${host}`);
			expect(read).toHaveBeenCalledTimes(1);
		});
	});

	it("requires no credential on an open route", () => {
		expect(document.paths["/openapi.json"]?.get?.security).toEqual([]);
		expect(document.paths["/metrics"]?.get?.security).toEqual([{ "authorization-bearer": [] }]);
	});
});
