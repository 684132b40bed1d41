/** Checks a line of an OpenAI batch: `{"custom_id", "method": "POST", "url", "body"}`. */
import { isRecord } from "../../core/json.ts";
import { parseJson } from "../../http/body.ts";
import type { SizeLimits } from "../../pipeline/limits.ts";
import type { BatchMistake } from "./records.ts";

const MAX_ID_CHARACTERS = 512;

/** A line that may run. */
interface CheckedLine {
	customId: string;
	model: string;
	/** Texts that an embedding line embeds. */
	inputs: number;
}

interface BatchContext {
	/** Such as `/v1/chat/completions`. */
	url: string;
	/** That of the lines before. */
	model: string | undefined;
	limits: Pick<SizeLimits, "jsonDepth">;
}

type Mistake = Omit<BatchMistake, "line">;

export function checkLine(bytes: Uint8Array, { url, model, limits }: BatchContext): CheckedLine | Mistake {
	let fields: unknown;
	try {
		fields = parseJson(bytes, limits);
	} catch {
		return { code: "invalid_json_line", message: "This line is not parseable as valid JSON." };
	}
	if (!isRecord(fields)) return { code: "invalid_json_line", message: "This line is not a JSON object." };
	const { custom_id, method, url: own, body } = fields;
	if (typeof custom_id !== "string" || custom_id === "") return missing("custom_id", "a text");
	if (custom_id.length > MAX_ID_CHARACTERS)
		return invalid("custom_id", `custom_id: expected at most ${MAX_ID_CHARACTERS} characters`);
	if (method !== "POST") return { code: "invalid_method", message: "method: expected POST", param: "method" };
	if (own !== url)
		return {
			code: "url_mismatch",
			message: `url: expected ${url}, the endpoint of the batch`,
			param: "url",
		};
	if (!isRecord(body)) return missing("body", "an object");
	const { model: named } = body;
	if (typeof named !== "string" || named === "") return missing("body.model", "a text");
	if (model !== undefined && named !== model)
		return {
			code: "model_mismatch",
			message: "body.model: expected the model of the first line: a batch has one model",
			param: "body.model",
		};
	if (body.stream === true || body.background === true) {
		const field = body.stream === true ? "stream" : "background";
		return invalid(
			`body.${field}`,
			`body.${field}: a batch has no streams, and runs in the background itself`,
		);
	}
	return { customId: custom_id, model: named, inputs: Array.isArray(body.input) ? body.input.length : 1 };
}

const missing = (param: string, kind: string): Mistake => ({
	code: "missing_required_parameter",
	message: `${param}: expected ${kind}`,
	param,
});

const invalid = (param: string, message: string): Mistake => ({ code: "invalid_request", message, param });
