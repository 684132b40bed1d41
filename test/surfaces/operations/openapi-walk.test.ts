/**
 * Calls each operation of the OpenAPI document with its example, and compares the answer with the schema and the example of the
 * document. `-u` records the examples of answers again whose fields have changed.
 */
import { runDurableObjectAlarm } from "cloudflare:test";
import { dereference, initialBaseURI, type Schema, validate } from "@cfworker/json-schema";
import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { DEFAULT_SETTINGS as SETTINGS } from "../../../src/gateways/settings.ts";
import recordedExamples from "../../../src/surfaces/operations/answer-examples.json" with { type: "json" };
import { openApiDocument } from "../../../src/surfaces/operations/openapi-document.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { admission, callsTo, stubOf } from "../../accounts/fixtures.ts";
import { png, wav } from "../../dialects/samples.ts";
import { OPEN_ACCESS } from "../../gateway.ts";
import { closedGateway, json } from "../../http/access.ts";
import { loraConfig } from "../../jobs/adapters/adapter-files.ts";
import { recorded, sameFields } from "./answer-example.ts";

interface Content {
	schema?: object;
	example?: unknown;
}
interface Operation {
	operationId: string;
	summary: string;
	parameters?: { name: string; in: string }[];
	requestBody?: { content: Record<string, Content> };
	responses: Record<string, { content?: Record<string, Content> }>;
}
const document = (await openApiDocument(ROUTES, { examples: recordedExamples })) as {
	paths: Record<string, Record<string, Operation>>;
	components: object;
};

/** By their addresses in the document. The root is the schema of one answer: to list all components for each answer takes seconds. */
const components = dereference({ components: document.components } as Schema);
delete components[initialBaseURI.href];

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const LEASE = "lease-1";
const ORDER = ["post", "put", "get", "patch", "delete"];
const operations = Object.entries(document.paths)
	.flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
	)
	// Creations first and deletions last. Among deletions, the inner resources first.
	.sort(
		(one, other) =>
			ORDER.indexOf(one.method) - ORDER.indexOf(other.method) ||
			(one.method === "delete" ? other.path.length - one.path.length : one.path.length - other.path.length),
	);

/** Parameters of paths. Operations that create something add its id. */
const values: Record<string, string> = {
	account: "local",
	alias: "quick",
	backend: "gpus",
	endpoint: MODEL,
	gateway: "blog",
	lease: LEASE,
	model: MODEL,
	provider: "workers-ai",
	path: "index.html",
};
/** Parameters that one operation has instead. */
const PATH_OF: Readonly<Record<string, Record<string, string>>> = {
	postAiV1betaModelsByModel: { model: `${MODEL}:generateContent` },
	postV1betaModelsByModel: { model: `${MODEL}:generateContent` },
	postAiV1ModelsByModel: { model: `${MODEL}:generateContent` },
	postV1ModelsByModel: { model: `${MODEL}:generateContent` },
	// The other operations and tests use the account.
	deleteAiData: { account: "local-deleted" },
};
/** Required parameters of queries. */
const QUERIES: Readonly<Record<string, string>> = { getAiModelsSchema: `?model=${MODEL}` };
const CREATED: Readonly<Record<string, (result: Created) => Record<string, string>>> = {
	postTokens: ({ id }) => ({ token: id }),
	postPoolsByBackendReplicas: ({ id }) => ({ replica: id }),
	postAiGatewayCustomProviders: ({ id }) => ({ custom_provider: id }),
	postAiGatewayGatewaysByGatewayProviderConfigs: ({ id }) => ({ key: id }),
	postAiGatewayGatewaysByGatewayRoutes: ({ id, version }) => ({
		route: id,
		version: version?.version_id ?? "",
	}),
};
interface Created {
	id: string;
	/** Of Gemini's API. */
	name: string;
	version?: { version_id: string };
}

/** Operations that fail with the parameters and bodies of this test. */
const FAILURES: Readonly<Record<string, { status: number }>> = {
	// Without an upgrade to a websocket.
	getAiRunByModel: { status: 405 },
	getAiV1Responses: { status: 405 },
	getV1Responses: { status: 405 },
	getV1ByAccountByGateway: { status: 405 },
	// No models run on the machine of the test.
	getLocalModels: { status: 404 },
	postLocalModels: { status: 404 },
	// The namespace of the example has no instance.
	postAiSearchNamespacesByNamespaceSearch: { status: 404 },
	postAiSearchNamespacesByNamespaceChatCompletions: { status: 404 },
	// The file of the example does not exist.
	postAiV1Batches: { status: 404 },
	postV1Batches: { status: 404 },
	// No batch has ended.
	deleteAiGatewayGatewaysByGatewayReplayByReplay: { status: 404 },
	...Object.fromEntries(
		["AiV1", "AiV1V1", "V1", "V1V1"].flatMap((base) => [
			[`delete${base}MessagesBatchesByMessageBatch`, { status: 404 }],
			[`get${base}MessagesBatchesByMessageBatchResults`, { status: 404 }],
		]),
	),
	...Object.fromEntries(
		["AiV1", "AiV1beta", "V1", "V1beta"].map((base) => [
			`delete${base}BatchesByGeminiBatch`,
			{ status: 404 },
		]),
	),
};
const NEEDS_END = /^delete|Results$/;
/** Creates what a parameter of a path names, for each operation anew: the operations below several prefixes delete the same objects. */
const FRESH: Readonly<Record<string, (operationId: string) => Promise<Record<string, string>>>> = {
	response: async (operationId) => {
		const background = operationId.endsWith("Cancel");
		const { id } = await created("/v1/responses", { model: MODEL, input: "Hello, who are you?", background });
		return { response: id };
	},
	index: async () => {
		const body = { name: "docs", config: { dimensions: 3, metric: "cosine" } };
		await created("/client/v4/accounts/local/vectorize/v2/indexes", body);
		return { index: body.name };
	},
	finetune: async () => {
		const fields = { model: "@cf/mistral/mistral-7b-instruct-v0.2-lora", name: crypto.randomUUID().slice(1) };
		const response = await app.request(
			"http://gateway/client/v4/accounts/local/ai/finetunes",
			json("POST", fields),
		);
		return { finetune: (await response.json<{ result: Created }>()).result.id };
	},
	namespace: async () => {
		const name = `team-${crypto.randomUUID()}`;
		await created(`${SEARCH}/namespaces`, { name });
		return { namespace: name };
	},
	instance: async (operationId) => {
		// The two searches of a namespace, and the routes below an instance.
		const path = operationId.includes("ByNamespace") ? `/namespaces/${values.namespace}` : "";
		const id = `docs-${crypto.randomUUID()}`;
		await created(`${SEARCH}${path}/instances`, { id });
		const item = await uploadedItem(`${SEARCH}${path}/instances/${id}/items`);
		const job = operationId.includes("ByJob")
			? await startedJob(`${SEARCH}${path}/instances/${id}/jobs`)
			: "";
		return { instance: id, item, job };
	},
	file: storedFile,
	batch: async () => {
		const { file } = await storedFile();
		const fields = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h" };
		return { batch: (await created("/v1/batches", fields)).id };
	},
	message_batch: async (operationId) => {
		const params = { model: MODEL, max_tokens: 8, messages: [{ role: "user", content: "Hello" }] };
		const { id } = await created("/v1/messages/batches", { requests: [{ custom_id: "one", params }] });
		return { message_batch: NEEDS_END.test(operationId) ? "absent" : id };
	},
	gemini_batch: async (operationId) => {
		const requests = [{ request: { contents: [{ parts: [{ text: "Hello" }] }] } }];
		const body = { batch: { inputConfig: { requests: { requests } } } };
		const { name } = await created(`/v1beta/models/${MODEL}:batchGenerateContent`, body);
		const id = NEEDS_END.test(operationId) ? "gemini-absent" : name.replace("batches/", "");
		return { gemini_batch: operationId.startsWith("post") ? `${id}:cancel` : id };
	},
	replay: async (operationId) => {
		const path = `/client/v4/accounts/local/ai-gateway/gateways/${values.gateway}/replay`;
		const response = await app.request(`http://gateway${path}`, json("POST", { model: MODEL }));
		const { result } = await response.json<{ result: Created }>();
		return { replay: operationId.startsWith("delete") ? "absent" : result.id };
	},
	shadow: async () => ({ shadow: "candidate" }),
	conversation: async () => {
		const items = [{ type: "message", role: "user", content: "Hello" }];
		const { id } = await created("/v1/conversations", { items, metadata: { topic: "demo" } });
		const listed = await app.request(`http://gateway/v1/conversations/${id}/items`);
		const { data } = await listed.json<{ data: Created[] }>();
		return { conversation: id, item: data[0]?.id ?? "" };
	},
};
const SEARCH = "/client/v4/accounts/local/ai-search";
async function uploadedItem(path: string): Promise<string> {
	const form = new FormData();
	form.set("file", new File(["# Report\n\nAll engines answered."], "report.html"));
	const response = await app.request(`http://gateway${path}`, { method: "POST", body: form });
	return (await response.json<{ result: Created }>()).result.id;
}
async function startedJob(path: string): Promise<string> {
	const response = await app.request(`http://gateway${path}`, json("POST", {}));
	return (await response.json<{ result: Created }>()).result.id;
}
async function storedFile(): Promise<{ file: string }> {
	const form = new FormData();
	form.set("purpose", "batch");
	form.set("file", new File(["{}"], "requests.jsonl"));
	const response = await app.request("http://gateway/v1/files", { method: "POST", body: form });
	return { file: (await response.json<Created>()).id };
}
async function created(path: string, body: object): Promise<Created> {
	const response = await app.request(`http://gateway${path}`, json("POST", body));
	return response.json<Created>();
}

/** Bodies with an id that an operation before has created. */
const BODIES: Readonly<Record<string, () => object>> = {
	postAiGatewayGatewaysByGatewayRoutesByRouteDeployments: () => ({ version_id: values.version }),
};
/** Answers that are not text, or too large for an example. */
const WITHOUT_EXAMPLE = /^(?:text\/html|audio\/|image\/)/;
const LARGE = new Set(["getOpenapiJson"]);

/** The files of the examples of forms, by the end of their names. */
const FILES: Readonly<Record<string, () => string | Uint8Array<ArrayBuffer>>> = {
	html: () => "<h1>Report</h1><p>All engines answered.</p>",
	mp3: wav,
	png: () => png(4, 4),
	json: () => loraConfig(),
};

function formOf(example: unknown): FormData {
	const form = new FormData();
	for (const [name, value] of Object.entries(example ?? {})) {
		const [, file, extension = ""] = /^@(.+\.(\w+))$/.exec(String(value)) ?? [];
		if (file) form.append(name, new File([FILES[extension]?.() ?? ""], file));
		else form.append(name, String(value));
	}
	return form;
}

const isJson = (response: Response): boolean =>
	/^application\/json\b/.test(response.headers.get("content-type") ?? "");

/** The first use of a part transforms its modules, on a machine that is busy. */
const FIRST_USE_MS = 60_000;

let app: Hono;
/** Examples of answers by summary and media type. */
const examples: Record<string, Record<string, unknown>> = {};

beforeAll(async () => {
	const { services } = closedGateway({
		vars: {
			DEFAULT_BACKEND: "simulator",
			BACKENDS: { gpus: { kind: "openai", pool: { replicas: ["http://gpu-1:8000/v1"] } } },
			ROUTES: { "example/*": [{ backend: "gpus" }] },
			VECTORS: { stores: { pg: { kind: "pgvector", url: "postgres://user@127.0.0.1:9/app" } } },
		},
	});
	app = createApp(services, OPEN_ACCESS);
	const base = "http://gateway/client/v4/accounts/local/ai-gateway/gateways";
	await app.request(base, json("POST", { id: values.gateway, ...SETTINGS }));
	const logged = await app.request(
		`http://gateway/v1/local/${values.gateway}/workers-ai/${MODEL}`,
		json("POST", { prompt: "Hello, who are you?" }),
	);
	values.log = logged.headers.get("cf-aig-log-id") ?? "";
	await logged.text();
	// Logs are written in batches.
	await vi.waitFor(async () => {
		expect((await app.request(`${base}/${values.gateway}/logs/${values.log}`)).status).toBe(200);
	}, FIRST_USE_MS);
	// A lease that its isolate never reports. The account charges it when it ends.
	const { ticket: _, ...like } = admission({ model: MODEL });
	await callsTo("local").journal({
		journal: "openapi-walk",
		sequence: 1,
		requests: [],
		settlements: [],
		returned: [],
		renewals: [{ ...like, lease: { id: LEASE, requests: 1, microNeurons: 7 } }],
	});
	vi.setSystemTime(Date.now() + 60_000);
	await runDurableObjectAlarm(stubOf("local"));
}, FIRST_USE_MS);
afterAll(() => {
	vi.useRealTimers();
});

async function call(method: string, path: string, operation: Operation): Promise<Response> {
	const { operationId, requestBody } = operation;
	for (const [name, create] of Object.entries(FRESH))
		if (path.includes(`{${name}}`)) Object.assign(values, await create(operationId));
	const url = `http://gateway${path.replaceAll(/\{(\w+)\}/g, (_, name) => PATH_OF[operationId]?.[name] ?? values[name] ?? "absent")}${QUERIES[operationId] ?? ""}`;
	const [[type, { example }] = ["", {} as Content]] = Object.entries(requestBody?.content ?? {});
	return app.request(url, {
		method: method.toUpperCase(),
		...(type === "application/json" && json(method.toUpperCase(), BODIES[operationId]?.() ?? example ?? {})),
		...(type === "application/x-ndjson" && { body: String(example), headers: { "content-type": type } }),
		...(type === "multipart/form-data" && { body: formOf(example) }),
	});
}

describe("each operation of the document", () => {
	it.each(operations)("$method $path answers as documented", async ({ method, path, operation }) => {
		const response = await call(method, path, operation);
		const { operationId, responses, summary } = operation;
		const body: unknown = isJson(response) ? await response.json() : await response.text();
		expect({ status: response.status, body }).toMatchObject(
			FAILURES[operationId] ?? { status: Number(Object.keys(responses)[0]) },
		);
		const documented = responses[response.status] ?? responses.default;
		const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
		const range = `${type.split("/")[0]}/*`;
		const types = Object.keys(documented?.content ?? {});
		expect(types.includes(type) || types.includes(range), `${type} of ${types}`).toBe(true);
		const { schema, example } = documented?.content?.[type] ?? {};
		const shown = sameFields(example, body) ? example : recorded(body);
		if (isJson(response) && schema) {
			const schemas = dereference(schema, Object.create(components));
			for (const value of [body, shown])
				expect(validate(value, schema as Schema, "2020-12", schemas).errors).toEqual([]);
		}
		if (!response.ok) return;
		Object.assign(values, CREATED[operationId]?.((body as { result: Created }).result));
		if (WITHOUT_EXAMPLE.test(type) || LARGE.has(operationId)) return;
		examples[summary] ??= { [type]: shown };
	});

	it("has the example of each answer", async () => {
		const sorted = Object.fromEntries(Object.entries(examples).sort(([a], [b]) => (a < b ? -1 : 1)));
		await expect(`${JSON.stringify(sorted, undefined, "\t")}\n`).toMatchFileSnapshot(
			"../../../src/surfaces/operations/answer-examples.json",
		);
	});

	it("has an example for each body", () => {
		const without = operations.filter(
			({ operation }) =>
				operation.requestBody &&
				Object.values(operation.requestBody.content).some(({ example }) => example === undefined),
		);
		expect(without.map(({ operation }) => operation.operationId)).toEqual([]);
	});
});
