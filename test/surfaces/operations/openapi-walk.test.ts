/** Calls each operation of the OpenAPI document with its example, and compares the answer with the schema of the document. */
import { type Schema, Validator } from "@cfworker/json-schema";
import { beforeAll, describe, expect, it } from "vitest";
import { openApiDocument } from "../../../src/surfaces/operations/openapi.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { type TestGateway, testGateway } from "../../gateway.ts";

interface Content {
	schema?: object;
	example?: unknown;
}
interface Operation {
	operationId: string;
	parameters?: { name: string; in: string }[];
	requestBody?: { content: Record<string, Content> };
	responses: Record<string, { content?: Record<string, Content> }>;
}
const document = (await openApiDocument(ROUTES)) as {
	paths: Record<string, Record<string, Operation>>;
	components: object;
};

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
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
	endpoint: MODEL,
	gateway: "web-shop",
	log: "absent",
	model: MODEL,
	provider: "workers-ai",
	path: "index.html",
};
/** Parameters that one operation has instead. */
const PATH_OF: Readonly<Record<string, Record<string, string>>> = {
	postAiV1betaModelsByModel: { model: `${MODEL}:generateContent` },
	postV1betaModelsByModel: { model: `${MODEL}:generateContent` },
};
/** Required parameters of queries. */
const QUERIES: Readonly<Record<string, string>> = { getAiModelsSchema: `?model=${MODEL}` };
const CREATED: Readonly<Record<string, (result: Created) => Record<string, string>>> = {
	postTokens: ({ id }) => ({ token: id }),
	postAiGatewayCustomProviders: ({ id }) => ({ custom_provider: id }),
	postAiGatewayGatewaysByGatewayProviderConfigs: ({ id }) => ({ key: id }),
	postAiGatewayGatewaysByGatewayRoutes: ({ id, version }) => ({
		route: id,
		version: version?.version_id ?? "",
	}),
};
interface Created {
	id: string;
	version?: { version_id: string };
}

const NO_FORM = { status: 400 };
/** Operations that fail with the parameters and bodies of this test. A form is empty. */
const FAILURES: Readonly<Record<string, { status: number }>> = {
	...Object.fromEntries(
		["AudioTranscriptions", "AudioTranslations", "ImagesEdits"].flatMap((name) => [
			[`postAiV1${name}`, NO_FORM],
			[`postV1${name}`, NO_FORM],
		]),
	),
	postAiTomarkdown: NO_FORM,
	// Without an upgrade to a websocket.
	getAiRunByModel: { status: 405 },
	getV1ByAccountByGateway: { status: 405 },
	// No log has the id "absent".
	getAiGatewayGatewaysByGatewayLogsByLog: { status: 404 },
	getAiGatewayGatewaysByGatewayLogsByLogRequest: { status: 404 },
	getAiGatewayGatewaysByGatewayLogsByLogResponse: { status: 404 },
	patchAiGatewayGatewaysByGatewayLogsByLog: { status: 404 },
	// The gateway of this test has no engine: pools.test.ts compares these answers.
	getPoolsByBackend: { status: 404 },
	postPoolsByBackendReplicas: { status: 404 },
	patchPoolsByBackendReplicasByReplica: { status: 404 },
	deletePoolsByBackendReplicasByReplica: { status: 404 },
	// No lease of the account is charged.
	postAiUsageLeasesByLeaseForgive: { status: 404 },
	// The version of the example does not exist.
	postAiGatewayGatewaysByGatewayRoutesByRouteDeployments: { status: 404 },
};

const isJson = (response: Response): boolean =>
	/^application\/json\b/.test(response.headers.get("content-type") ?? "");

let gateway: TestGateway;
beforeAll(() => {
	gateway = testGateway();
});

async function call(method: string, path: string, operation: Operation): Promise<Response> {
	const { operationId, requestBody } = operation;
	const url = `http://gateway${path.replaceAll(/\{(\w+)\}/g, (_, name) => PATH_OF[operationId]?.[name] ?? values[name] ?? "absent")}${QUERIES[operationId] ?? ""}`;
	const json = requestBody?.content["application/json"];
	return gateway.app.request(url, {
		method: method.toUpperCase(),
		...(json && {
			body: JSON.stringify(json.example ?? {}),
			headers: { "content-type": "application/json" },
		}),
		...(requestBody && !json && { body: new FormData() }),
	});
}

describe("each operation of the document", () => {
	it.each(operations)("$method $path answers as documented", async ({ method, path, operation }) => {
		const response = await call(method, path, operation);
		const { operationId, responses } = operation;
		const body: unknown = isJson(response) ? await response.json() : await response.text();
		expect({ status: response.status, body }).toMatchObject(FAILURES[operationId] ?? { status: 200 });
		const documented = response.ok ? responses[200] : responses.default;
		const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
		const range = `${type.split("/")[0]}/*`;
		const types = Object.keys(documented?.content ?? {});
		expect(types.includes(type) || types.includes(range), `${type} of ${types}`).toBe(true);
		const { schema } = documented?.content?.[type] ?? {};
		if (isJson(response) && schema) {
			const root = { ...schema, components: document.components } as Schema;
			expect(new Validator(root, "2020-12").validate(body).errors).toEqual([]);
		}
		if (response.ok) Object.assign(values, CREATED[operationId]?.((body as { result: Created }).result));
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
