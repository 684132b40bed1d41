/**
 * `GET /openapi.json`: an OpenAPI 3.1 document of all routes, made of their declarations and of the schemas that validate
 * requests. The inputs and outputs of models depend on the model: `GET …/ai/models/schema?model=` has their schemas.
 *
 * The examples of answers are a static file (`assets`), because they have 48 KB. Without static files, the document has no such
 * examples.
 */
import type { Context } from "hono";
import { isRecord, parseJson } from "../../core/json.ts";
import type { CredentialLocation } from "../../http/credentials.ts";
import { defineRoutes, type Payload, type Route } from "../../http/route.ts";
import type { Services } from "../../pipeline/services.ts";
import { answer } from "../answer.ts";
import { FAILURE_SCHEMAS, failureNameOf } from "./failure-schemas.ts";
import { type Content, type Json, jsonSchema, Schemas } from "./openapi-schemas.ts";

export interface Parameter {
	name: string;
	in: string;
	required: boolean;
	schema: Json;
}

export interface Operation {
	operationId: string;
	summary: string;
	tags: string[];
	parameters?: Parameter[];
	requestBody?: { required: true; content: Record<string, Content> };
	/** By status, and `default`. */
	responses: Record<string, { description: string; content?: Record<string, Content> }>;
	security: Json[];
}

/** The parts of an OpenAPI document that this one has. */
export interface ApiDocument {
	openapi: string;
	info: { title: string; version: string; description: string; license: Json };
	servers: { url: string }[];
	tags: { name: string }[];
	/** Operations by path and method. */
	paths: Record<string, Record<string, Operation>>;
	components: { schemas: Record<string, object>; securitySchemes: Json };
}

/** Takes the place of the gateway's address until a request names it. */
const ADDRESS = "{address}";
/** `scripts/console.ts` writes it. */
const EXAMPLES_FILE = "answer-examples.json";
/** The page has a style sheet, and nothing else. */
const PAGE_HEADERS = {
	"content-type": "text/html; charset=utf-8",
	"content-security-policy":
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
};

const DESCRIPTION =
	"Workers AI that anyone can run. The paths below /client/v4/accounts/{account}/ai are those of Cloudflare's Workers AI.";
/** Hono's parameters: `:model` and `:model{.+}`. */
const PARAMETER = /:(\w+)(?:\{[^}]*\})?/g;
/** For schemas whose defaults depend on the day. The document leaves these defaults out. */
const SAMPLE_DAY = "2026-01-01";
/** A model answers with JSON, a stream of events, or a file. */
const MODEL_OUTPUTS = ["application/json", "text/event-stream", "audio/*", "image/*"];
/** `routes`: a function, because the list contains this route. */
export const openApiRoutes = (routes: () => readonly Route[]): readonly Route[] => {
	// The routes are the same for the life of the isolate, so both texts are made once. Only the address differs.
	const text = keptBytes(routes, async () => JSON.stringify);
	const page = keptBytes(routes, async () => (await import("./docs-page.ts")).docsPage);
	return defineRoutes({ bases: [{ path: "" }], tag: "Operations" }, [
		{
			method: "GET",
			path: "/openapi.json",
			summary: "Describes all routes as an OpenAPI document",
			permission: "none",
			output: answer("openApiAnswer"),
			handler: async (c, { services }) =>
				new Response(await text(c, services), { headers: { "content-type": "application/json" } }),
		},
		{
			method: "GET",
			path: "/docs",
			summary: "Shows the OpenAPI document to people",
			permission: "none",
			output: { type: "text/html" },
			handler: async (c, { services }) => new Response(await page(c, services), { headers: PAGE_HEADERS }),
		},
	]);
};

/** Loads the function that makes a text of the document. */
type LoadWriter = () => Promise<(document: ApiDocument) => string>;

/**
 * The text that the writer makes of the document, with the address of the gateway, as bytes. The text is kept, unless the file of
 * the examples could not be read, and so are the bytes for the last address: a request without a token must cost little CPU.
 */
function keptBytes(routes: () => readonly Route[], loadWriter: LoadWriter) {
	let kept: string | undefined;
	let last: { text: string; address: string; bytes: Uint8Array } | undefined;
	const textFor = async (services: Services): Promise<string> => {
		const examples = await answerExamples(services);
		const documented = await withAnswers(routes(), examples ?? {});
		const write = await loadWriter();
		// Another request may have made it. They share no promise, because it would end with the request that began it.
		if (kept !== undefined) return kept;
		const text = write(documentOf(documented, ADDRESS));
		if (examples) kept = text;
		return text;
	};
	return async (c: Context, services: Services): Promise<Uint8Array> => {
		const text = kept ?? (await textFor(services));
		const address = services.publicUrl ?? new URL(c.req.url).origin;
		if (last?.text === text && last.address === address) return last.bytes;
		const bytes = new TextEncoder().encode(text.replace(ADDRESS, () => address));
		last = { text, address, bytes };
		return bytes;
	};
}

/** Empty: the deployment has none. `undefined`: they cannot be read now. */
async function answerExamples({ assets }: Services): Promise<AnswerExamples | undefined> {
	try {
		const file = await assets?.(EXAMPLES_FILE);
		if (file?.ok) {
			// Assets may answer with a page of their own instead of 404.
			const examples = parseJson(await file.text());
			return isRecord(examples) ? (examples as AnswerExamples) : {};
		}
		await file?.body?.cancel();
		return !file || file.status === 404 ? {} : undefined;
	} catch {
		return undefined;
	}
}

interface DocumentOptions {
	/** Of the gateway. */
	address?: string;
	examples?: AnswerExamples | undefined;
}

export async function openApiDocument(
	declared: readonly Route[],
	{ address = ADDRESS, examples = {} }: DocumentOptions = {},
): Promise<ApiDocument> {
	return documentOf(await withAnswers(declared, examples), address);
}

const withAnswers = (
	declared: readonly Route[],
	examples: AnswerExamples,
): Promise<readonly DocumentedRoute[]> =>
	Promise.all(declared.filter(({ hidden }) => !hidden).map((route) => documented(route, examples)));

function documentOf(routes: readonly DocumentedRoute[], address: string): ApiDocument {
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
		servers: [{ url: address }],
		tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
		paths,
		components: {
			schemas: { ...FAILURE_SCHEMAS, ...schemas.components },
			securitySchemes: Object.fromEntries([...security].map(([name, at]) => [name, securityOf(at)])),
		},
	};
}

/**
 * Answers by the summary of their route and by media type. `openapi-walk.test.ts` records them from the gateway on the simulator:
 * `npx vitest run --project worker test/surfaces/operations/openapi-walk.test.ts -u` updates those that have other fields.
 */
type AnswerExamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A route with the schema and the examples of its answer. */
type DocumentedRoute = Route & { output: Payload; examples: Readonly<Record<string, unknown>> };

async function documented(route: Route, examples: AnswerExamples): Promise<DocumentedRoute> {
	const { output = answer("anyAnswer"), summary } = route;
	return {
		...route,
		output: typeof output === "function" ? await output() : output,
		examples: examples[summary] ?? {},
	};
}

function operationOf(route: DocumentedRoute, path: string, schemas: Schemas): Operation {
	const { credentials, failure, input, permission, query, summary, tag } = route;
	const id = idOf(route, path);
	const parameters = [
		...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
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
			...answerOf(route, id, schemas),
			default: {
				description: "A failure",
				content: {
					"application/json": { schema: { $ref: `#/components/schemas/${failureNameOf(failure)}` } },
				},
			},
		},
		security: permission === "none" ? [] : credentials.map((location) => ({ [schemeOf(location)]: [] })),
	};
}

/** The base of most routes says nothing about an operation. */
const BASE = /^\/client\/v4(?:\/accounts\/\{account\}(?=\/.))?/;

/** `getAiUsage`, `postAiRunByModel`: the method, and the path with its parameters. */
function idOf({ method }: Route, path: string): string {
	const parts = path.replace(BASE, "").replaceAll(/\{(\w+)\}/g, "by-$1");
	return `${method.toLowerCase()}${parts.replaceAll(/[^a-zA-Z0-9]+(.?)/g, (_, next) => next.toUpperCase())}`;
}

function answerOf(
	{ output, examples, upgrades }: DocumentedRoute,
	id: string,
	schemas: Schemas,
): Operation["responses"] {
	if (upgrades) return { 101: { description: "The websocket" } };
	const types = output.schema === "by-model" ? MODEL_OUTPUTS : [output.type];
	const contents = types.map((type) =>
		schemas.content(`${id}Output`, { ...output, type, example: examples[type] }),
	);
	return { 200: { description: "The answer", content: Object.assign({}, ...contents) } };
}

/** One parameter for each field of the query. */
function parametersOf(query: NonNullable<Route["query"]>): Parameter[] {
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
	location === "protocol"
		? {
				type: "apiKey",
				in: "header",
				name: "sec-websocket-protocol",
				description: `One of the subprotocols is "${name}{token}"`,
			}
		: scheme && name === "authorization"
			? { type: "http", scheme }
			: {
					type: "apiKey",
					in: location,
					name,
					...(scheme && { description: 'The value is "Bearer {token}"' }),
				};
