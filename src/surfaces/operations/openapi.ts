/**
 * `GET /openapi.json`: an OpenAPI 3.1 document of all routes, made of their declarations and of the schemas that validate
 * requests. The inputs and outputs of models depend on the model: `GET …/ai/models/schema?model=` has their schemas.
 */
import * as z from "zod";
import type { CredentialLocation } from "../../http/credentials.ts";
import { defineRoutes, type Payload, type Route } from "../../http/route.ts";

type Json = Record<string, unknown>;

const DESCRIPTION =
	"Workers AI that anyone can run. The paths below /client/v4/accounts/{account}/ai are those of Cloudflare's Workers AI.";
const BY_MODEL =
	"Depends on the model: GET /client/v4/accounts/{account}/ai/models/schema?model= shows its schema.";
/** Hono's parameters: `:model` and `:model{.+}`. */
const PARAMETER = /:(\w+)(?:\{[^}]*\})?/g;
/** For defaults that depend on the day. */
const SAMPLE_DAY = "2026-01-01";

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
	const paths: Record<string, Json> = {};
	const security = new Map<string, CredentialLocation>();
	for (const route of routes) {
		const path = route.path.replaceAll(PARAMETER, "{$1}").replace(/\*$/, "{path}");
		const operations = paths[path] ?? {};
		paths[path] = operations;
		operations[route.method.toLowerCase()] ??= operationOf(route, path, schemas);
		for (const location of route.credentials) security.set(schemeOf(location), location);
	}
	return {
		openapi: "3.1.0",
		info: { title: "Ganglion", version: "1", description: DESCRIPTION },
		servers: [{ url: "/" }],
		tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
		paths,
		components: {
			schemas: schemas.components,
			securitySchemes: Object.fromEntries([...security].map(([name, at]) => [name, securityOf(at)])),
		},
	};
}

function operationOf(route: Route, path: string, schemas: Schemas): Json {
	const { credentials, input, method, output, permission, query, summary, tag } = route;
	const id = `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(.?)/g, (_, next) => next.toUpperCase())}`;
	const parameters = [
		...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
			name,
			in: "path",
			required: true,
			schema: { type: "string" },
		})),
		...(query ? schemas.parameters(typeof query === "function" ? query(SAMPLE_DAY) : query) : []),
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
				content: schemas.content(`${id}Output`, output ?? { type: "application/json" }),
			},
			default: { description: "A failure", content: { "application/json": { schema: { type: "object" } } } },
		},
		security: permission === "none" ? [] : credentials.map((location) => ({ [schemeOf(location)]: [] })),
	};
}

const schemeOf = ({ name, scheme }: CredentialLocation): string => (scheme ? `${name}-${scheme}` : name);

const securityOf = ({ in: location, name, scheme }: CredentialLocation): Json =>
	scheme && name === "authorization" ? { type: "http", scheme } : { type: "apiKey", in: location, name };

/** Schemas of the document. A schema that several operations use is one component. */
class Schemas {
	readonly components: Record<string, Json> = {};
	readonly #names = new Map<z.ZodType, string>();

	content(name: string, { type, schema }: Payload): Json {
		return { [type]: { schema: this.#schemaOf(name, schema) } };
	}

	/** One parameter for each field of the query. */
	parameters(query: z.ZodType): Json[] {
		const { properties = {}, required = [] } = jsonSchema(query) as {
			properties?: Record<string, Json>;
			required?: string[];
		};
		return Object.entries(properties).map(([name, schema]) => ({
			name,
			in: "query",
			required: required.includes(name),
			schema,
		}));
	}

	#schemaOf(name: string, schema: Payload["schema"]): Json {
		if (schema === "by-model") return { description: BY_MODEL };
		if (!schema) return {};
		const known = this.#names.get(schema) ?? name;
		if (!this.#names.has(schema)) {
			this.#names.set(schema, known);
			const pointer = `#/components/schemas/${known}`;
			// References of a schema are relative to its root.
			this.components[known] = JSON.parse(
				JSON.stringify(jsonSchema(schema), (key, value) =>
					key === "$ref" && typeof value === "string" ? value.replace(/^#/, pointer) : value,
				),
			);
		}
		return { $ref: `#/components/schemas/${known}` };
	}
}

function jsonSchema(schema: z.ZodType): Json {
	const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;
	return json;
}
