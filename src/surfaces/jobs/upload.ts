/** Reads the form of an upload. Its file goes to the account's storage while it arrives, in any position of the form. */
import { AiError, toAiError } from "../../core/errors.ts";
import { startNativeTimer } from "../../core/lazy-timer.ts";
import { type FormBodyPart, formParts } from "../../jobs/files/form-parts.ts";
import { type FileRecord, fileKey } from "../../jobs/records.ts";
import { concat } from "../../media/bytes.ts";
import { scopeOf } from "../../responses/client/stored-responses.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { AppCall } from "../route.ts";

/** A client that sends nothing for so long has left. */
const IDLE_MS = 60_000;
/** Of a field that is no file. */
const MAX_FIELD_BYTES = 8 * 1024;
const MAX_FIELDS = 50;
/** OpenAI's SDKs name a file without a name so. */
const UNNAMED = "unknown_file";

/** A file whose bytes are stored. `bytes`: undefined if the form had none. */
interface UploadedForm {
	fields: ReadonlyMap<string, string>;
	file: Pick<FileRecord, "filename" | "contentType" | "bytes"> | undefined;
}

/** The fields of the record that the form decides. Throws if the form is invalid. */
type ReadRecord = (form: UploadedForm, createdAt: number) => Pick<FileRecord, "purpose" | "expiresAt">;

/** Stores the file of a form. `id`: of the new file. What was stored is deleted if the form is invalid. */
export async function storeUpload(
	request: Request,
	{ caller, services }: AppCall,
	{ id, read }: { id: string; read: ReadRecord },
): Promise<FileRecord> {
	const { jobs, storage } = services;
	const { account } = caller;
	const blobs = storage.blobs(account);
	const createdAt = Date.now();
	const { owner } = scopeOf(caller);
	const { bounds } = jobs;
	if (!(await jobs.files(account, (files) => files.begin(account, { id, owner, createdAt }, bounds))))
		throw new AiError("storageFull", `The account has at most ${bounds.maxFiles} files: delete some`);
	const put = async (body: ReadableStream<Uint8Array>): Promise<number> =>
		(await blobs.put(fileKey(id), body, { maxBytes: bounds.fileBytes })).bytes;
	try {
		const form = await readForm(request, put);
		const record = read(form, createdAt);
		if (!form.file) throw new AiError("invalidRequest", "file: expected a file, found nothing");
		const file: FileRecord = { id, owner, createdAt, ...form.file, ...record };
		await jobs.files(account, (files) => files.complete(file));
		return file;
	} catch (thrown) {
		// The row expires, and its alarm deletes the bytes, if the process ends before that.
		await blobs
			.delete(fileKey(id))
			.then(() => jobs.files(account, (files) => files.remove(id)))
			.catch((cause: unknown) => services.log(toAiError(cause), ""));
		throw thrown;
	}
}

async function readForm(
	request: Request,
	put: (body: ReadableStream<Uint8Array>) => Promise<number>,
): Promise<UploadedForm> {
	const fields = new Map<string, string>();
	let file: UploadedForm["file"];
	let count = 0;
	const body = request.body && untilIdle(request.body);
	for await (const part of formParts(body, request.headers.get("content-type") ?? "")) {
		if (++count > MAX_FIELDS)
			throw new AiError("invalidRequest", `body: expected at most ${MAX_FIELDS} fields, found more`);
		if (part.name !== "file") fields.set(part.name, await textOf(part));
		else if (file) throw new AiError("invalidRequest", "file: expected one file, found several");
		else
			file = {
				filename: part.filename || UNNAMED,
				contentType: part.contentType ?? "application/octet-stream",
				bytes: await put(part.body),
			};
	}
	return { fields, file };
}

async function textOf({ name, body }: FormBodyPart): Promise<string> {
	const pieces: Uint8Array[] = [];
	let bytes = 0;
	for await (const piece of body) {
		bytes += piece.length;
		if (bytes > MAX_FIELD_BYTES)
			throw new AiError("invalidRequest", `${name.slice(0, 64)}: expected at most ${MAX_FIELD_BYTES} bytes`);
		pieces.push(piece);
	}
	return new TextDecoder().decode(concat(pieces));
}

/** The body, which fails if the client sends nothing for too long. */
function untilIdle(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	const source = PulledStream.sourceOf(body);
	return new PulledStream<Uint8Array>({
		pull() {
			const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
			const timer = startNativeTimer(IDLE_MS, () => {
				const error = new AiError("timeout", `Request timeout: nothing arrived for ${IDLE_MS} ms`);
				void source.cancel(error).catch(() => {});
				reject(error);
			});
			source
				.pull()
				.then(resolve, (cause: unknown) => reject(new AiError("aborted", undefined, { cause })))
				.finally(() => timer.cancel());
			return promise;
		},
		cancel: (reason) => source.cancel(reason),
	});
}
