import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createApp } from "../../../src/app.ts";
import { Authenticator } from "../../../src/http/authenticate.ts";
import { mountRoutes } from "../../../src/http/mount-routes.ts";
import type { Services } from "../../../src/pipeline/services.ts";
import { openApiDocument, openApiRoutes } from "../../../src/surfaces/operations/openapi.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
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
			["authorization-bearer", "cf-aig-authorization-bearer", "key", "x-api-key", "x-goog-api-key"].sort(),
		);
	});

	it("leaves out routes that only refuse, and names operations briefly", () => {
		const ids = operations.map(({ operationId }) => operationId);
		expect(Object.keys(document.paths).filter((path) => /finetunes|batches|proxy/.test(path))).toEqual([]);
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

	it.each<[string, { kept: boolean; assets: () => Promise<Response> }]>([
		["a page", { kept: true, assets: async () => new Response("<!doctype html><title>Ganglion</title>") }],
		["JSON without examples", { kept: true, assets: async () => Response.json(null) }],
		["absent", { kept: true, assets: async () => new Response("none", { status: 404 }) }],
		["refused", { kept: false, assets: async () => new Response("busy", { status: 503 }) }],
		["not readable", { kept: false, assets: () => Promise.reject(new Error("no assets now")) }],
	])("has no examples of answers if their file is %s", async (_, { kept, assets }) => {
		const services = testServices();
		const readable = services.assets;
		for (const path of ["/openapi.json", "/docs"]) {
			// The routes keep the text, so these are new ones.
			const app = new Hono();
			const routes = openApiRoutes(() => ROUTES);
			const authentication = new Authenticator(OPEN_ACCESS, services);
			mountRoutes(app, { routes, unknown: [] }, { services, authentication });
			const hasExamples = async (from: Services["assets"]) => {
				Object.assign(services, { assets: from });
				const response = await app.request(`http://gateway${path}`);
				expect(response.status).toBe(200);
				return (await response.text()).includes("0c8a895b6be701");
			};
			expect([await hasExamples(assets), await hasExamples(readable)]).toEqual([false, !kept]);
			expect(await hasExamples(assets)).toBe(!kept);
		}
	});

	it.each(["/openapi.json", "/docs"])(
		"makes %s once, also for requests that arrive together",
		async (path) => {
			const services = testServices();
			let made = 0;
			const schema = () => {
				made += 1;
				return z.object({});
			};
			const [first] = ROUTES.filter(({ output, hidden }) => output !== undefined && !hidden);
			if (!first) throw new Error("no route has an answer");
			const counted = [{ ...first, output: { type: "application/json", schema } }];
			const app = new Hono();
			const routes = openApiRoutes(() => counted);
			mountRoutes(
				app,
				{ routes, unknown: [] },
				{ services, authentication: new Authenticator(OPEN_ACCESS, services) },
			);
			const get = async (host: string) => (await app.request(`http://${host}${path}`)).text();
			const texts = await Promise.all([get("one.test"), get("one.test"), get("two.test")]);
			expect(texts.map((text) => text.match(/http:\/\/\w+\.test/)?.[0])).toEqual([
				"http://one.test",
				"http://one.test",
				"http://two.test",
			]);
			expect(await get("one.test")).toBe(texts[0]);
			expect(made).toBe(1);
		},
	);

	it("requires no credential on an open route", () => {
		expect(document.paths["/openapi.json"]?.get?.security).toEqual([]);
		expect(document.paths["/metrics"]?.get?.security).toEqual([{ "authorization-bearer": [] }]);
	});
});
