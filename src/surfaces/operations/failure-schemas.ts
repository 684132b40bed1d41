/** Schemas of failures, by their format. */
import { FAILURES } from "../../core/errors.ts";
import {
	type FailureFormat,
	failureOfClient,
	geminiFailure,
	messagesFailure,
	openAiFailure,
	responsesFailure,
	v4Failure,
} from "../../http/failure-formats.ts";
import { managementFailure } from "../gateway/management.ts";

const text = { type: "string" };
const code = { type: "integer" };
const errors = {
	type: "array",
	minItems: 1,
	items: { type: "object", required: ["code", "message"], properties: { code, message: text } },
};
/** Fields of Cloudflare's v4 envelope. */
const envelope = {
	result: {},
	success: { const: false },
	errors,
	messages: { type: "array", items: {} },
};
const isObject = (properties: object): object => ({
	type: "object",
	required: Object.keys(properties),
	properties,
});

const message: string = FAILURES.authentication.description;
const refused = { result: null, success: false, errors: [{ code: 10000, message }], messages: [] };

const Failure = { ...isObject(envelope), examples: [refused] };
const OpenAiFailure = {
	...isObject({ error: isObject({ message: text, type: text }) }),
	description: "On most routes with the fields of Failure.",
	examples: [
		{ ...refused, error: { message, type: "authentication_error", param: null, code: "invalid_api_key" } },
	],
};
const AnthropicFailure = {
	...isObject({ type: { const: "error" }, error: isObject({ type: text, message: text }), request_id: text }),
	examples: [{ type: "error", error: { type: "authentication_error", message }, request_id: "4c1a7b" }],
};
const GeminiFailure = {
	...isObject({ error: isObject({ code, message: text, status: text }) }),
	examples: [{ error: { code: 401, message, status: "UNAUTHENTICATED" } }],
};
/** AI Gateway's own failures, and the other ones. */
const GatewayFailure = {
	anyOf: [isObject({ success: { const: false }, error: errors, internalCode: code }), Failure, OpenAiFailure],
	examples: [refused],
};
const ModelListFailure = { anyOf: [OpenAiFailure, AnthropicFailure] };

export const FAILURE_SCHEMAS = {
	Failure,
	OpenAiFailure,
	AnthropicFailure,
	GeminiFailure,
	GatewayFailure,
	ModelListFailure,
};

const NAMES = new Map<FailureFormat, keyof typeof FAILURE_SCHEMAS>([
	[v4Failure, "Failure"],
	[managementFailure, "Failure"],
	[openAiFailure, "OpenAiFailure"],
	[responsesFailure, "OpenAiFailure"],
	[messagesFailure, "AnthropicFailure"],
	[geminiFailure, "GeminiFailure"],
	[failureOfClient, "ModelListFailure"],
]);

/** The formats of AI Gateway's addresses have no name here. */
export const failureNameOf = (format: FailureFormat): keyof typeof FAILURE_SCHEMAS =>
	NAMES.get(format) ?? "GatewayFailure";
