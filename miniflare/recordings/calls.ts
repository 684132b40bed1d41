/**
 * Reads a request of the binding as a call that can be compared. Fields that differ in each run are left out, and bytes are
 * replaced by their size and digest. Headers are not part of a call, so no key is in a file.
 */
import { createHash } from "node:crypto";
import { isRecord, parseJson } from "../../src/core/json.ts";
import { parseMultipart } from "../../src/dialects/media/multipart.ts";
import { decodeUtf8 } from "../../src/media/utf8.ts";
import { MODEL_HEADER, modelOf } from "../../src/surfaces/binding/model-header.ts";
import type { Call } from "./recording-file.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Fields of an input that do not change what a model answers, and ids that clients make. Further ones are an option. */
const IGNORED_INPUTS = [
	...["user", "metadata", "safety_identifier", "prompt_cache_key"],
	...["messages.*.tool_calls.*.id", "messages.*.tool_call_id"],
	...["messages.*.content.*.id", "messages.*.content.*.tool_use_id"],
	...["input.*.id", "input.*.call_id"],
];
const IGNORED_OPTIONS = ["gateway.metadata", "gateway.eventId", "returnRawResponse"];

/** Fields at any depth that have keys: a call of a model may name servers of tools. */
const CREDENTIALS: ReadonlySet<string> = new Set(["headers", "authorization", "api_key", "access_token"]);

/** A text of base64 with at least this many characters is replaced by its digest. */
const SHORTEST_DIGESTED_TEXT = 512;
/** Likewise a list of numbers: a file that is sent as the values of its bytes. */
const SHORTEST_DIGESTED_LIST = 256;
const BASE64 = /^(?:data:[^,]{0,100};base64,)?[\w+/-]+={0,2}$/;

/** False for requests about the gateway itself: the gateway answers them in every session. */
export const isRecorded = ({ method, url }: Request): boolean =>
	method !== "GET" || !/\/(?:models\/search|url\/[^/]+|markdown\/supported)$/.test(new URL(url).pathname);

/** `ignored`: paths in the input, such as `messages.*.id`. */
export async function readCall(request: Request, body: Bytes, ignored: readonly string[]): Promise<Call> {
	const { pathname, searchParams } = new URL(request.url);
	const content = await requestContent(body, request.headers.get("content-type") ?? "");
	const inputOf = (value: unknown) => comparable(value, [...IGNORED_INPUTS, ...ignored]);
	if (!/^(?:\/ai-gateway)?\/run$/.test(pathname))
		return { call: `${request.method} ${withoutAccount(pathname)}`, input: stepsOf(content, inputOf) };
	const model = modelOf(request.headers.get(MODEL_HEADER) ?? "");
	const userInputs = searchParams.get("userInputs");
	if (userInputs !== null)
		return { call: "run", model, input: inputOf({ ...(parseJson(userInputs) as object), body: content }) };
	const { inputs, options } = isRecord(content) ? content : { inputs: content, options: {} };
	const compared = comparable(options ?? {}, IGNORED_OPTIONS);
	const hasOptions = isRecord(compared) && Object.keys(compared).length > 0;
	return { call: "run", model, input: inputOf(inputs), ...(hasOptions && { options: compared }) };
}

/** Addresses with an account are the same for all accounts. */
const withoutAccount = (path: string): string =>
	path.replace(/^(\/v1|\/client\/v4\/accounts)\/[^/]+/, "$1/{account}");

async function requestContent(body: Bytes, type: string): Promise<unknown> {
	if (body.length === 0) return undefined;
	if (/^multipart\/form-data\b/i.test(type)) return formOf(body, type);
	if (!/^(?:application\/json|text\/)/i.test(type)) return digestOf(`${body.length} bytes`, body);
	const text = decodeUtf8(body);
	return parseJson(text) ?? text;
}

/** The steps of a gateway have headers with keys of providers, and an input each. Other bodies are an input. */
function stepsOf(content: unknown, inputOf: (value: unknown) => unknown): unknown {
	if (Array.isArray(content)) return content.map((step) => stepsOf(step, inputOf));
	if (!isRecord(content) || !("query" in content && "provider" in content)) return inputOf(content);
	const { headers: _, query, ...others } = content;
	return { ...others, query: inputOf(query) };
}

/** The parts of a form. The text that separates them differs in each request. A form that cannot be read is bytes. */
async function formOf(body: Bytes, type: string): Promise<unknown> {
	const form = await parseMultipart(body, type).catch(() => undefined);
	return form
		? form.parts.map((part) =>
				"value" in part ? part : { ...part, bytes: digestOf(`${part.bytes.length} bytes`, part.bytes) },
			)
		: digestOf(`${body.length} bytes`, body);
}

/** The value without the fields at the paths, and with digests for bytes. `path`: of the value. */
function comparable(value: unknown, ignored: readonly string[], path: readonly string[] = []): unknown {
	if (typeof value === "string") {
		const isBytes = value.length >= SHORTEST_DIGESTED_TEXT && BASE64.test(value);
		return isBytes ? digestOf(`${value.length} characters`, value) : value;
	}
	if (Array.isArray(value)) {
		const isBytes = value.length >= SHORTEST_DIGESTED_LIST && value.every((item) => typeof item === "number");
		if (isBytes) return digestOf(`${value.length} numbers`, JSON.stringify(value));
		return value.map((item, at) => comparable(item, ignored, [...path, String(at)]));
	}
	if (!isRecord(value)) return value;
	const fields = Object.entries(value)
		.filter(([name]) => !CREDENTIALS.has(name.toLowerCase()))
		.map(([name, field]) => ({ field, name, below: [...path, name] }));
	return Object.fromEntries(
		fields
			.filter(({ below }) => !ignored.some((pattern) => matches(below, pattern)))
			.map(({ below, field, name }) => [name, comparable(field, ignored, below)]),
	);
}

/** Whether a path has the names of a pattern. `*` is any name, and any item of a list. */
function matches(path: readonly string[], pattern: string): boolean {
	const names = pattern.split(".");
	return names.length === path.length && names.every((name, at) => name === "*" || name === path[at]);
}

const digestOf = (size: string, content: string | Bytes): string =>
	`<${size}, sha256 ${createHash("sha256").update(content).digest("hex")}>`;
