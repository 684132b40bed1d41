/** Files in the formats of OpenAI and Anthropic, and the fields of their uploads. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import type { FileRecord } from "../../jobs/records.ts";

const SECOND_MS = 1_000;
const MIN_EXPIRY_SECONDS = 3_600;
const MAX_EXPIRY_SECONDS = 2_592_000;
/** Of a file for a batch, unless the upload sets another. As in OpenAI's API. */
const BATCH_EXPIRY_SECONDS = 2_592_000;
/** Of OpenAI's files for batches. */
const MAX_BATCH_BYTES = 200 * 1024 * 1024;
/** Of files that were uploaded in Anthropic's format, which has no purpose. */
const USER_DATA = "user_data";

const seconds = (min: number) =>
	z
		.string()
		.regex(/^\d{1,9}$/, `expected a whole number from ${min} to ${MAX_EXPIRY_SECONDS}`)
		.transform(Number)
		.pipe(z.number().min(min).max(MAX_EXPIRY_SECONDS));

const OpenAiFields = lazy(() =>
	z.object({
		purpose: z.enum(["assistants", "batch", "fine-tune", "vision", "user_data", "evals"]),
		"expires_after[anchor]": z.literal("created_at").optional(),
		"expires_after[seconds]": seconds(MIN_EXPIRY_SECONDS).optional(),
	}),
);
const AnthropicFields = lazy(() => z.object({ expires_in_seconds: seconds(MIN_EXPIRY_SECONDS).optional() }));

interface ReceivedForm {
	fields: ReadonlyMap<string, string>;
	file: Pick<FileRecord, "filename" | "bytes"> | undefined;
}
type UploadFields = Pick<FileRecord, "purpose" | "expiresAt">;

export function openAiUpload({ fields, file }: ReceivedForm, createdAt: number): UploadFields {
	const parsed = parseFields(OpenAiFields(), Object.fromEntries(fields), "body");
	const { purpose } = parsed;
	if (purpose === "batch" && file) {
		if (!/\.jsonl$/i.test(file.filename))
			throw new AiError("invalidRequest", "Invalid file format for Batch API. Must be .jsonl");
		if (file.bytes > MAX_BATCH_BYTES)
			throw new AiError("fieldsTooLarge", `The file is larger than ${MAX_BATCH_BYTES} bytes`);
	}
	const expiry = parsed["expires_after[seconds]"] ?? (purpose === "batch" ? BATCH_EXPIRY_SECONDS : undefined);
	return { purpose, ...(expiry !== undefined && { expiresAt: createdAt + expiry * SECOND_MS }) };
}

export function anthropicUpload({ fields }: ReceivedForm, createdAt: number): UploadFields {
	const { expires_in_seconds } = parseFields(AnthropicFields(), Object.fromEntries(fields), "body");
	return {
		purpose: USER_DATA,
		...(expires_in_seconds !== undefined && { expiresAt: createdAt + expires_in_seconds * SECOND_MS }),
	};
}

const secondsOf = (milliseconds: number): number => Math.floor(milliseconds / SECOND_MS);

export const openAiFile = ({ id, bytes, createdAt, expiresAt, filename, purpose }: FileRecord) => ({
	id,
	object: "file",
	bytes,
	created_at: secondsOf(createdAt),
	expires_at: expiresAt === undefined ? null : secondsOf(expiresAt),
	filename,
	purpose,
	status: "processed",
	status_details: null,
});

export const anthropicFile = ({ id, bytes, contentType, createdAt, expiresAt, filename }: FileRecord) => ({
	id,
	type: "file",
	filename,
	mime_type: contentType,
	size_bytes: bytes,
	created_at: new Date(createdAt).toISOString(),
	downloadable: true,
	expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
});
