/**
 * The OpenAPI 3.1 document of all routes, made of their declarations and of the schemas that validate requests. The inputs and outputs of
 * models depend on the model: `GET …/ai/models/schema?model=` has their schemas. No request makes the document: scripts/api-files.ts
 * writes it as a static file.
 */
import type { CredentialLocation } from "../../http/credentials.ts";
import type { Payload } from "../../http/route.ts";
import * as answers from "../all-answers.ts";
import type { AppRoute } from "../route.ts";
import { FAILURE_SCHEMAS, failureNameOf } from "./failure-schemas.ts";
import { ADDRESS } from "./openapi.ts";
import { type BodyContent, type Json, jsonSchema, Schemas } from "./openapi-schemas.ts";

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
	requestBody?: { required: true; content: Record<string, BodyContent> };
	/** By status, and `default`. */
	responses: Record<string, { description: string; content?: Record<string, BodyContent> }>;
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

const DESCRIPTION =
	"Workers AI that anyone can run. The paths below /client/v4/accounts/{account}/ai are those of Cloudflare's Workers AI.";
/** Hono's parameters: `:model` and `:model{.+}`. */
const PARAMETER = /:(\w+)(?:\{[^}]*\})?/g;
/** For schemas whose defaults depend on the day. The document leaves these defaults out. */
const SAMPLE_DAY = "2026-01-01";
/** A model answers with JSON, a stream of events, or a file. */
const MODEL_OUTPUTS = ["application/json", "text/event-stream", "audio/*", "image/*"];
interface DocumentOptions {
	/** Of the gateway. */
	address?: string;
	examples?: AnswerExamples | undefined;
}

export function openApiDocument(
	declared: readonly AppRoute[],
	{ address = ADDRESS, examples = {} }: DocumentOptions = {},
): ApiDocument {
	const routes = declared.filter(({ hidden }) => !hidden).map((route) => documented(route, examples));
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
type DocumentedRoute = Omit<AppRoute, "output"> & {
	output: Payload;
	examples: Readonly<Record<string, unknown>>;
};

const ANSWERS = answers as unknown as Readonly<Record<string, Payload>>;

function documented(route: AppRoute, examples: AnswerExamples): DocumentedRoute {
	const { output = "anyAnswer", summary } = route;
	const payload = typeof output === "string" ? ANSWERS[output] : output;
	if (!payload) throw new TypeError(`no answer has the name ${output}`);
	return {
		...route,
		output: payload,
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

/** The base of most routes does not describe an operation. */
const BASE = /^\/client\/v4(?:\/accounts\/\{account\}(?=\/.))?/;

/** `getAiUsage`, `postAiRunByModel`: the method, and the path with its parameters. */
function idOf({ method }: AppRoute, path: string): string {
	const parts = path.replace(BASE, "").replaceAll(/\{(\w+)\}/g, "by-$1");
	return `${method.toLowerCase()}${parts.replaceAll(/[^a-zA-Z0-9]+(.?)/g, (_, next) => next.toUpperCase())}`;
}

function answerOf(
	{ output, examples, status = 200, upgrades }: DocumentedRoute,
	id: string,
	schemas: Schemas,
): Operation["responses"] {
	if (upgrades) return { 101: { description: "The websocket" } };
	const types = output.schema === "by-model" ? MODEL_OUTPUTS : [output.type];
	const contents = types.map((type) =>
		schemas.content(`${id}Output`, { ...output, type, example: examples[type] }),
	);
	return { [status]: { description: "The answer", content: Object.assign({}, ...contents) } };
}

/** One parameter for each field of the query. */
function parametersOf(query: NonNullable<AppRoute["query"]>): Parameter[] {
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
