/** Refusals of OpenAI's API, and the rules that both of its APIs share. */
import * as z from "zod";
import { faultOf, fieldPath } from "../faults.ts";
import { type FailureName, type HostRequest, RETRY_AFTER_S, Refusal } from "../script.ts";
import { type OpenAIModel, openaiModel } from "./models.ts";

export const OPENAI_KEY = "sk-openai-test";

export const refusal = (
	status: number,
	message: string,
	{
		code = null,
		param = null,
		type = "invalid_request_error",
	}: { code?: string | null; param?: string | null; type?: string } = {},
	headers: Readonly<Record<string, string>> = {},
): Refusal => new Refusal(status, { error: { message, type, param, code } }, headers);

export function checkKey({ headers }: HostRequest): void {
	if (headers.authorization !== `Bearer ${OPENAI_KEY}`)
		throw refusal(
			401,
			"Incorrect API key provided: sk-****. You can find your API key at https://platform.openai.com/account/api-keys.",
			{
				code: "invalid_api_key",
			},
		);
}

export function read<Body>(schema: z.ZodType<Body>, body: unknown): Body {
	const { data, error } = schema.safeParse(body);
	if (!error) return data;
	const fault = faultOf(error);
	const param = fieldPath(fault);
	if (fault.unknownField !== undefined)
		throw refusal(400, `Unknown parameter: '${param}'.`, { code: "unknown_parameter", param });
	throw refusal(400, `Invalid value for '${param}': ${fault.message}.`, { code: "invalid_value", param });
}

export function modelOf(id: string, api: "chat" | "responses"): OpenAIModel {
	const model = openaiModel(id);
	if (!model)
		throw refusal(404, `The model \`${id}\` does not exist or you do not have access to it.`, {
			code: "model_not_found",
		});
	if (!model.apis.includes(api))
		throw refusal(
			404,
			"This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?",
			{ param: "model" },
		);
	return model;
}

/** `field`: the name of the effort in the API. Returns the effort in force. */
export function checkEffort(
	model: OpenAIModel,
	effort: string | null | undefined,
	field: string,
	api: "chat" | "responses",
): string {
	if (effort === null || effort === undefined) return model.defaultEffort;
	if (model.efforts.length === 0)
		throw refusal(400, `Unsupported parameter: '${field}' is not supported with this model.`, {
			code: "unsupported_parameter",
			param: field,
		});
	const accepted = api === "chat" ? model.efforts.filter((one) => one !== "max") : model.efforts;
	if (!accepted.includes(effort)) {
		const values = accepted.map((one) => `'${one}'`).join(", ");
		throw refusal(
			400,
			`Unsupported value: '${field}' does not support '${effort}' with this model. Supported values are: ${values}.`,
			{
				code: "unsupported_value",
				param: field,
			},
		);
	}
	return effort;
}

/** A field is refused if it is present, whatever its value. */
export function checkSampling(
	model: OpenAIModel,
	effort: string,
	fields: Readonly<Record<string, unknown>>,
): void {
	if (model.sampling === "always" || (model.sampling === "without reasoning" && effort === "none")) return;
	for (const [param, value] of Object.entries(fields))
		if (value !== undefined && value !== null)
			throw refusal(400, `Unsupported parameter: '${param}' is not supported with this model.`, { param });
}

/** The rules of strict schemas (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas). */
export function checkStrict(schema: unknown, subject: string, param: string): void {
	const wrong = strictFault(schema, []);
	if (wrong !== undefined)
		throw refusal(400, `Invalid schema for ${subject}: ${wrong}`, { code: "invalid_json_schema", param });
}

const Node = z.looseObject({
	type: z.unknown().optional(),
	properties: z.record(z.string(), z.unknown()).optional(),
	required: z.array(z.string()).optional(),
	items: z.unknown().optional(),
	anyOf: z.array(z.unknown()).optional(),
	$defs: z.record(z.string(), z.unknown()).optional(),
});

function strictFault(schema: unknown, path: readonly string[]): string | undefined {
	const context = `In context=(${path.map((step) => `'${step}'`).join(", ")})`;
	const { data: node } = Node.safeParse(schema);
	if (!node) return `${context}, schema must have a 'type' key.`;
	if (path.length === 0 && node.type !== "object")
		return `schema must be a JSON Schema of 'type: "object"', got 'type: "${String(node.type)}"'.`;
	for (const keyword of ["oneOf", "allOf", "not", "patternProperties"])
		if (keyword in node) return `${context}, '${keyword}' is not permitted.`;
	const properties = Object.entries(node.properties ?? {});
	if (node.type === "object" || node.properties) {
		if (node.additionalProperties !== false)
			return `${context}, 'additionalProperties' is required to be supplied and to be false.`;
		const missing = properties.find(([name]) => !node.required?.includes(name));
		if (missing)
			return `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing[0]}'.`;
	}
	const inner: [readonly string[], unknown][] = [
		...properties.map(([name, value]): [string[], unknown] => [["properties", name], value]),
		...(node.items === undefined ? [] : [[["items"], node.items] as [string[], unknown]]),
		...(node.anyOf ?? []).map((value, place): [string[], unknown] => [["anyOf", String(place)], value]),
		...Object.entries(node.$defs ?? {}).map(([name, value]): [string[], unknown] => [["$defs", name], value]),
	];
	for (const [steps, value] of inner) {
		const wrong = strictFault(value, [...path, ...steps]);
		if (wrong !== undefined) return wrong;
	}
	return undefined;
}

export function failureOf(failure: FailureName, model: string): Refusal {
	switch (failure) {
		case "rate limit":
			return refusal(
				429,
				`Rate limit reached for ${model} in organization org-test on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in ${RETRY_AFTER_S}s.`,
				{ type: "requests", code: "rate_limit_exceeded" },
				{ "retry-after": String(RETRY_AFTER_S), "x-ratelimit-remaining-requests": "0" },
			);
		case "full context":
		case "no room":
			return refusal(
				400,
				"Your input exceeds the context window of this model. Please adjust your input and try again.",
				{ code: "context_length_exceeded", param: "messages" },
			);
		case "server error":
			return refusal(500, "The server had an error while processing your request. Sorry about that!", {
				type: "server_error",
			});
	}
}
