/** The metadata of a container: its health, the inputs of its model, and the form of the output. */
import * as z from "zod";
import { getJson } from "../transport/http.ts";
import { type Call, failureOfTarget } from "../transport/upstream-failure.ts";

/** One input of the model, with its limits. */
export interface Field {
	type?: string | undefined;
	enum?: (string | number)[] | undefined;
	minimum?: number | undefined;
	maximum?: number | undefined;
}

export interface CogModel {
	fields: ReadonlyMap<string, Field>;
	/** It yields its output in pieces. Whether it streams them shows only in the reply to a request. */
	yields: boolean;
}

interface Schema {
	$ref?: string | undefined;
	allOf?: Schema[] | undefined;
	anyOf?: Schema[] | undefined;
	type?: unknown;
	enum?: unknown;
	minimum?: unknown;
	maximum?: unknown;
}

const OpenApi = z.looseObject({
	components: z.looseObject({
		schemas: z.looseObject({
			Input: z.looseObject({ properties: z.record(z.string(), z.looseObject({})).default({}) }),
			Output: z.looseObject({ "x-cog-array-type": z.string().nullish() }).optional(),
		}),
	}),
});

const Health = z.looseObject({ status: z.string() });

/** Statuses of a container that accepts calls. */
const READY = new Set(["READY"]);
/** Statuses of a container that will accept calls later. */
const LATER = new Set(["STARTING", "BUSY"]);

/** Nothing is sent to a container that has no room for it. */
export async function readModel(call: Call): Promise<CogModel> {
	const [{ status }, openApi] = await Promise.all([
		getJson(call, "/health-check", Health),
		getJson(call, "/openapi.json", OpenApi),
	]);
	if (!READY.has(status)) {
		const key = LATER.has(status) ? "outOfCapacity" : "upstreamUnavailable";
		throw failureOfTarget(call.target, key, `is ${status.toLowerCase().replaceAll("_", " ")}`);
	}
	const { schemas } = openApi.components;
	const fields = Object.entries(schemas.Input.properties).map(
		([name, schema]) => [name, fieldOf(schema, schemas)] as const,
	);
	return {
		fields: new Map(fields),
		yields: schemas.Output?.["x-cog-array-type"] === "iterator",
	};
}

const MAX_REFERENCES = 8;

/** Choices are separate schemas, to which a property refers. An optional value is a union with `null`. */
function fieldOf(schema: Schema, schemas: Record<string, unknown>, depth = 0): Field {
	if (depth > MAX_REFERENCES) return {};
	const inner = [
		...(schema.allOf ?? []),
		...(schema.anyOf ?? []).filter(({ type }) => type !== "null").slice(0, 1),
		...(schema.$ref ? [resolve(schema.$ref, schemas)] : []),
	].map((each) => fieldOf(each, schemas, depth + 1));
	return Object.assign({}, ...inner, limitsOf(schema)) as Field;
}

function limitsOf({ type, enum: choices, minimum, maximum }: Schema): Field {
	return {
		...(typeof type === "string" && { type }),
		...(Array.isArray(choices) && {
			enum: choices.filter((each) => typeof each === "string" || typeof each === "number"),
		}),
		...(typeof minimum === "number" && { minimum }),
		...(typeof maximum === "number" && { maximum }),
	};
}

const SCHEMAS = "#/components/schemas/";

function resolve(reference: string, schemas: Record<string, unknown>): Schema {
	const schema = reference.startsWith(SCHEMAS) ? schemas[reference.slice(SCHEMAS.length)] : undefined;
	return typeof schema === "object" && schema !== null ? schema : {};
}
