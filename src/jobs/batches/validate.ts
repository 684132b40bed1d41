/** Reads the input file of an OpenAI batch, and stores where its lines are. What is wrong with it is reported with the batch. */
import type { SizeLimits } from "../../pipeline/limits.ts";
import { checkLine } from "./check-line.ts";
import { inputLines } from "./input-lines.ts";
import type { BatchMistake, NewLine } from "./records.ts";

/** As in OpenAI's API. */
export const MAX_LINES = 50_000;
/** Texts of all lines of a batch of embeddings. */
const MAX_EMBEDDED = 50_000;
/** More are not reported. */
const MAX_MISTAKES = 100;
const ADDED_AT_ONCE = 1_000;
const EMBEDDINGS = "/embeddings";

interface ValidatedFile {
	mistakes: BatchMistake[];
	/** Lines. */
	total: number;
	model: string | undefined;
}

interface FileContext {
	/** Of the batch. */
	endpoint: string;
	limits: Pick<SizeLimits, "jsonBytes" | "jsonDepth">;
	/** Stores lines. Returns those whose id another line has. */
	add(lines: readonly NewLine[]): Promise<readonly number[]>;
	/** Why the model cannot answer lines. */
	modelMistake(model: string): Promise<string | undefined>;
}

export async function validateFile(
	body: ReadableStream<Uint8Array>,
	{ endpoint, limits, add, modelMistake }: FileContext,
): Promise<ValidatedFile> {
	const mistakes: BatchMistake[] = [];
	let model: string | undefined;
	let total = 0;
	let embedded = 0;
	let blank: number | undefined;
	let waiting: NewLine[] = [];
	const send = async (): Promise<void> => {
		for (const line of await add(waiting))
			mistakes.push({
				code: "duplicate_custom_id",
				message: "custom_id: another line has this id",
				line,
				param: "custom_id",
			});
		waiting = [];
	};
	for await (const { line, offset, bytes } of inputLines(body, limits.jsonBytes)) {
		if (mistakes.length >= MAX_MISTAKES) break;
		if (!bytes) {
			const message = `This line is longer than ${limits.jsonBytes} bytes.`;
			mistakes.push({ code: "line_too_long", message, line });
			continue;
		}
		if (isBlank(bytes)) {
			blank ??= line;
			continue;
		}
		// Blank lines at the end are ignored.
		if (blank !== undefined) {
			mistakes.push({ code: "invalid_json_line", message: "This line is blank.", line: blank });
			blank = undefined;
		}
		if (++total > MAX_LINES) {
			const message = `The file has more than ${MAX_LINES} lines.`;
			return { mistakes: [{ code: "too_many_tasks", message, line }], total, model };
		}
		const checked = checkLine(bytes, { url: `/v1${endpoint}`, model, limits });
		if ("code" in checked) {
			mistakes.push({ ...checked, line });
			continue;
		}
		if (model === undefined) {
			model = checked.model;
			const message = await modelMistake(model);
			if (message !== undefined)
				mistakes.push({ code: "model_not_found", message, line, param: "body.model" });
		}
		embedded += checked.inputs;
		if (endpoint === EMBEDDINGS && embedded > MAX_EMBEDDED) {
			const message = `The file embeds more than ${MAX_EMBEDDED} texts.`;
			return { mistakes: [{ code: "too_many_tasks", message, line }], total, model };
		}
		waiting.push({ line, customId: checked.customId, offset, length: bytes.length });
		if (waiting.length >= ADDED_AT_ONCE) await send();
	}
	if (waiting.length > 0) await send();
	if (total === 0 && mistakes.length === 0)
		mistakes.push({ code: "empty_file", message: "The file has no lines." });
	mistakes.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
	return { mistakes: mistakes.slice(0, MAX_MISTAKES), total, model };
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09);
