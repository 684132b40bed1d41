/**
 * `GET /openapi.json`: an OpenAPI 3.1 document of all routes, made of their declarations and of the schemas that validate
 * requests. The inputs and outputs of models depend on the model: `GET …/ai/models/schema?model=` has their schemas.
 */
import * as z from "zod";
import type { CredentialLocation } from "../../http/credentials.ts";
import { type FailureFormat, openAiFailure, v4Failure } from "../../http/failure-formats.ts";
import { defineRoutes, type Payload, type Route } from "../../http/route.ts";

type Json = Record<string, unknown>;
type Operation = Json & { security: Json[] };

const DESCRIPTION =
	"Workers AI that anyone can run. The paths below /client/v4/accounts/{account}/ai are those of Cloudflare's Workers AI.";
const BY_MODEL_DESCRIPTION =
	"Depends on the model: GET /client/v4/accounts/{account}/ai/models/schema?model= shows its schema.";
/** Hono's parameters: `:model` and `:model{.+}`. */
const PARAMETER = /:(\w+)(?:\{[^}]*\})?/g;
/** For schemas whose defaults depend on the day. The document leaves these defaults out. */
const SAMPLE_DAY = "2026-01-01";
/** A model answers with JSON, a stream of events, or a file. */
const MODEL_OUTPUTS = ["application/json", "text/event-stream", "application/octet-stream"];
/** Cloudflare's v4 envelope. OpenAI's routes add `error`. */
const FAILURE = {
	type: "object",
	required: ["success", "errors", "messages"],
	properties: {
		result: {},
		success: { const: false },
		errors: {
			type: "array",
			items: {
				type: "object",
				required: ["code", "message"],
				properties: { code: { type: "integer" }, message: { type: "string" } },
			},
		},
		messages: { type: "array", items: {} },
	},
};

/** `routes`: a function, because the list contains this route. */
export const openApiRoutes = (routes: () => readonly Route[]): readonly Route[] => {
	let text: string | undefined;
	return defineRoutes({ bases: [{ path: "" }], tag: "Operations" }, [
		{
			method: "GET",
			path: "/openapi.json",
			summary: "Describes all routes as an OpenAPI document",
			permission: "none",
			handler: () => {
				// The routes are the same for the life of the isolate.
				text ??= JSON.stringify(openApiDocument(routes()));
				return new Response(text, { headers: { "content-type": "application/json" } });
			},
		},
	]);
};

export function openApiDocument(routes: readonly Route[]): Json {
	const schemas = new Schemas();
	const paths: Record<string, Record<string, Operation>> = {};
	const security = new Map<string, CredentialLocation>();
	for (const route of routes) {
		const path = route.path.replaceAll(PARAMETER, "{$1}").replace(/\*$/, "{path}");
		const operations = paths[path] ?? {};
		paths[path] = operations;
		const method = route.method.toLowerCase();
		const operation = operationOf(route, path, schemas);
		// Routes that differ only in the pattern of a parameter are one operation, with the credentials of all of them.
		const first = operations[method] ?? operation;
		const names = new Set([...first.security, ...operation.security].flatMap(Object.keys));
		operations[method] = { ...first, security: [...names].map((name) => ({ [name]: [] })) };
		for (const location of route.credentials) security.set(schemeOf(location), location);
	}
	return {
		openapi: "3.1.0",
		info: {
			title: "Ganglion",
			version: "1",
			description: DESCRIPTION,
			license: { name: "MIT", identifier: "MIT" },
		},
		servers: [{ url: "/" }],
		tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
		paths,
		components: {
			schemas: { Failure: FAILURE, ...schemas.components },
			securitySchemes: Object.fromEntries([...security].map(([name, at]) => [name, securityOf(at)])),
		},
	};
}

const JSON_OUTPUT: Payload = { type: "application/json" };
const MODEL_CONTENT = Object.fromEntries(
	MODEL_OUTPUTS.map((type) => [type, { schema: { description: BY_MODEL_DESCRIPTION } }]),
);

function operationOf(route: Route, path: string, schemas: Schemas): Operation {
	const { credentials, failure, input, method, output, permission, query, summary, tag } = route;
	const id = `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(.?)/g, (_, next) => next.toUpperCase())}`;
	const parameters = [
		...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
			name,
			in: "path",
			required: true,
			schema: { type: "string" },
		})),
		...(query ? parametersOf(query) : []),
	];
	return {
		operationId: id,
		summary,
		tags: [tag],
		...(parameters.length > 0 && { parameters }),
		...(input && { requestBody: { required: true, content: schemas.content(`${id}Input`, input) } }),
		responses: {
			200: {
				description: "The answer",
				content:
					output?.schema === "by-model"
						? MODEL_CONTENT
						: schemas.content(`${id}Output`, output ?? JSON_OUTPUT),
			},
			default: { description: "A failure", content: { "application/json": { schema: failureOf(failure) } } },
		},
		security: permission === "none" ? [] : credentials.map((location) => ({ [schemeOf(location)]: [] })),
	};
}

/** Other surfaces have the formats of OpenAI, Anthropic, Google and AI Gateway. */
const failureOf = (failure: FailureFormat): Json =>
	failure === v4Failure || failure === openAiFailure
		? { $ref: "#/components/schemas/Failure" }
		: { type: "object" };

/** One parameter for each field of the query. */
function parametersOf(query: NonNullable<Route["query"]>): Json[] {
	const isDaily = typeof query === "function";
	const { properties = {}, required = [] } = jsonSchema(isDaily ? query(SAMPLE_DAY) : query) as {
		properties?: Record<string, Json>;
		required?: string[];
	};
	return Object.entries(properties).map(([name, { default: value, ...schema }]) => ({
		name,
		in: "query",
		required: required.includes(name),
		schema: value === undefined || value === SAMPLE_DAY ? schema : { ...schema, default: value },
	}));
}

const schemeOf = ({ name, scheme }: CredentialLocation): string => (scheme ? `${name}-${scheme}` : name);

const securityOf = ({ in: location, name, scheme }: CredentialLocation): Json =>
	scheme && name === "authorization"
		? { type: "http", scheme }
		: { type: "apiKey", in: location, name, ...(scheme && { description: 'The value is "Bearer {token}"' }) };

/** Schemas of the document. A schema that several operations use is one component. */
class Schemas {
	readonly components: Record<string, Json> = {};
	readonly #names = new Map<z.ZodType, string>();

	content(name: string, { type, schema }: Payload): Json {
		return { [type]: { schema: this.#schemaOf(name, schema) } };
	}

	#schemaOf(name: string, schema: Payload["schema"]): Json {
		if (schema === "by-model") return { description: BY_MODEL_DESCRIPTION };
		if (!schema) return {};
		const component = this.#names.get(schema) ?? name;
		if (!this.#names.has(schema)) {
			this.#names.set(schema, component);
			const pointer = `#/components/schemas/${component}`;
			// References of a schema are relative to its root.
			this.components[component] = JSON.parse(
				JSON.stringify(jsonSchema(schema), (key, value) =>
					key === "$ref" && typeof value === "string" ? value.replace(/^#/, pointer) : value,
				),
			);
		}
		return { $ref: `#/components/schemas/${component}` };
	}
}

function jsonSchema(schema: z.ZodType): Json {
	const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;
	return json;
}
