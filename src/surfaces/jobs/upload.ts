/** Reads the form of an upload. Its file goes to the account's storage while it arrives, in any position of the form. */
import { AiError, toAiError } from "../../core/errors.ts";
import { formParts } from "../../jobs/files/form-parts.ts";
import { type FileRecord, fileKey } from "../../jobs/records.ts";
import { scopeOf } from "../../responses/client/stored-responses.ts";
import { misnamed } from "../../schemas/misnamed.ts";
import type { AppCall } from "../route.ts";
import { deleteFile } from "./delete-bytes.ts";
import { fieldText, inUploadTime } from "./form-body.ts";

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
	call: AppCall,
	{ id, read }: { id: string; read: ReadRecord },
): Promise<FileRecord> {
	const { caller, services } = call;
	const { jobs, storage } = services;
	const { account } = caller;
	const blobs = storage.blobs(account);
	const createdAt = Date.now();
	const { owner } = scopeOf(caller);
	const { bounds } = jobs;
	if (!(await jobs.files(account, (files) => files.begin(account, { id, owner, createdAt }, bounds))))
		throw new AiError("storageFull", `The account has at most ${bounds.maxFiles} files: delete some`);
	const put = async (body: ReadableStream<Uint8Array>): Promise<number> =>
		(await blobs.put(fileKey(id), body, { maxBytes: bounds.fileBytes, isOwned: true })).bytes;
	try {
		const form = await readForm(request, put);
		const record = read(form, createdAt);
		if (!form.file) throw fileMissing([...form.fields.keys()]);
		const file: FileRecord = { id, owner, createdAt, ...form.file, ...record };
		if (!(await jobs.files(account, (files) => files.complete(file)))) throw new AiError("noSuchFile");
		return file;
	} catch (thrown) {
		// If the process ends before that, the row expires.
		await deleteFile(id, call).catch((cause: unknown) => services.log(toAiError(cause), call.id));
		throw thrown;
	}
}

/** `sent`: the names of the other fields of the form. */
function fileMissing(sent: readonly string[]): AiError {
	const note = misnamed("file", sent);
	return new AiError(
		"invalidRequest",
		`file: expected a file, found nothing${note === undefined ? "" : `; ${note}`}`,
	);
}

/** `path`: the name with its folders. */
type SentFile = Pick<FileRecord, "filename" | "contentType"> & { path: string };

/** `put`: takes the bytes of the file, and returns their number. */
export async function readForm(
	request: Request,
	put: (body: ReadableStream<Uint8Array>, file: SentFile) => Promise<number>,
): Promise<UploadedForm> {
	const fields = new Map<string, string>();
	let file: UploadedForm["file"];
	let count = 0;
	const body = request.body && inUploadTime(request.body);
	for await (const part of formParts(body, request.headers.get("content-type") ?? "")) {
		if (++count > MAX_FIELDS)
			throw new AiError("invalidRequest", `body: expected at most ${MAX_FIELDS} fields, found more`);
		if (part.name !== "file") fields.set(part.name, await fieldText(part));
		else if (file) throw new AiError("invalidRequest", "file: expected one file, found several");
		else {
			const named = {
				filename: part.filename || UNNAMED,
				contentType: part.contentType ?? "application/octet-stream",
			};
			file = { ...named, bytes: await put(part.body, { ...named, path: part.path || named.filename }) };
		}
	}
	return { fields, file };
}
