/** Reads the form of one file of an adapter. The file is checked while it goes to the account's storage. The fields may come in any order. */
import { AiError, toAiError } from "../../core/errors.ts";
import { checkConfig, MAX_CONFIG_BYTES } from "../../jobs/adapters/config-check.ts";
import {
	ADAPTER_FILES,
	type AdapterFile,
	type AdapterFileName,
	type AdapterRecord,
	adapterPrefix,
	CONFIG_FILE,
	isComplete,
	WEIGHTS_FILE,
} from "../../jobs/adapters/records.ts";
import { SafetensorsCheck } from "../../jobs/adapters/safetensors-check.ts";
import { formParts } from "../../jobs/files/form-parts.ts";
import { concat } from "../../media/bytes.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { AppCall } from "../route.ts";
import { fieldText, inUploadTime } from "./form-body.ts";

const OPENING_BRACE = 0x7b;
/** White space before JSON, and the first byte of a byte order mark. */
const BEFORE_JSON: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef]);
/** The first 8 bytes of a safetensors file are a length, whose last bytes are 0. */
const LENGTH_BYTES = 8;

type CheckedFile = Pick<AdapterFile, "name" | "bytes" | "rank">;

/** Returns the adapter with the file. What was stored is deleted if the form is invalid. */
export async function storeAdapterFile(
	request: Request,
	adapter: AdapterRecord,
	{ caller, id: requestId, services }: AppCall,
): Promise<AdapterRecord> {
	if (isComplete(adapter)) throw immutable();
	const { account } = caller;
	const { id } = adapter;
	const blobs = services.storage.blobs(account);
	const key = `${adapterPrefix(id)}${services.uuid()}`;
	const { routed } = await resolveModel(adapter.model, caller, services);
	const { fileBytes, maxRank } = services.jobs.bounds.adapters;
	const put = async (name: AdapterFileName, body: ReadableStream<Uint8Array>): Promise<CheckedFile> => {
		if (name === CONFIG_FILE) {
			const bytes = await wholeConfig(body);
			const rank = checkConfig(bytes, { maxRank, isStrict: routed?.strict ?? false });
			await blobs.put(key, bytes);
			return { name, bytes: bytes.length, rank };
		}
		const check = new SafetensorsCheck(maxRank);
		let rank = 0;
		const checked = checkedBy(check, body, (found) => {
			rank = found;
		});
		const { bytes } = await blobs.put(key, checked, { maxBytes: fileBytes, isOwned: true });
		return { name, bytes, rank };
	};
	/** Bytes that cannot be deleted now are deleted with the adapter. */
	const drop = async (unused: string): Promise<void> => {
		await blobs.delete(unused).catch((cause: unknown) => services.log(toAiError(cause), requestId));
	};
	let file: CheckedFile;
	try {
		file = await readForm(request, put);
	} catch (thrown) {
		await drop(key);
		throw thrown;
	}
	// If this call fails, the adapter may have the file.
	const stored = await services.jobs.adapters(account, (adapters) => adapters.setFile(id, { ...file, key }));
	const unused = stored.ok ? stored.replaced : key;
	if (unused !== undefined) await drop(unused);
	if (stored.ok) return stored.adapter;
	if (stored.reason === "missing") throw noSuchAdapter(adapter.name);
	if (stored.reason === "complete") throw immutable();
	throw new AiError(
		"invalidRequest",
		`${WEIGHTS_FILE}: expected a rank of at most ${stored.declared}, as ${CONFIG_FILE} declares, found ${stored.found}`,
	);
}

/** `guess`: a question with the name that is meant. */
export const noSuchAdapter = (idOrName: string, guess = ""): AiError =>
	new AiError("noSuchAdapter", `No such fine-tune: ${idOrName}${guess}`);

const immutable = (): AiError =>
	new AiError(
		"invalidRequest",
		"The files of a complete fine-tune cannot be changed: delete it, and create another",
	);

async function readForm(
	request: Request,
	put: (name: AdapterFileName, body: ReadableStream<Uint8Array>) => Promise<CheckedFile>,
): Promise<CheckedFile> {
	let declared: AdapterFileName | undefined;
	let file: CheckedFile | undefined;
	const body = request.body && inUploadTime(request.body);
	for await (const part of formParts(body, request.headers.get("content-type") ?? "")) {
		if (part.name === "file_name") declared = fileNameOf(await fieldText(part));
		else if (part.name !== "file")
			throw new AiError("invalidRequest", "body: expected file_name and file, found another field");
		else if (file) throw new AiError("invalidRequest", "file: expected one file, found several");
		else {
			const { name, content } = declared
				? { name: declared, content: part.body }
				: await recognized(part.body);
			file = await put(name, content);
		}
	}
	if (!file) throw new AiError("invalidRequest", "file: expected a file, found nothing");
	if (declared !== undefined && declared !== file.name)
		throw new AiError("invalidRequest", `file: expected ${declared}, found ${file.name}`);
	return file;
}

function fileNameOf(text: string): AdapterFileName {
	const name = ADAPTER_FILES.find((one) => one === text.trim());
	if (name) return name;
	throw new AiError("invalidRequest", `file_name: expected "${ADAPTER_FILES.join('" or "')}", found another`);
}

/** The file before its name: JSON begins with a brace, a safetensors file with a length, whose last bytes are 0. */
async function recognized(
	body: ReadableStream<Uint8Array>,
): Promise<{ name: AdapterFileName; content: ReadableStream<Uint8Array> }> {
	const source = PulledStream.sourceOf(body);
	let begin: Uint8Array = new Uint8Array();
	while (begin.length < LENGTH_BYTES) {
		const piece = await source.pull();
		if (!piece) break;
		begin = concat([begin, piece]);
	}
	const isText = BEFORE_JSON.has(begin[0]) || begin[0] === OPENING_BRACE;
	const isLength = begin.length >= LENGTH_BYTES && begin[LENGTH_BYTES - 1] === 0;
	const pending = [begin];
	return {
		name: isText && !isLength ? CONFIG_FILE : WEIGHTS_FILE,
		content: new PulledStream<Uint8Array>({
			pull: async () => pending.pop() ?? source.pull(),
			cancel: (reason) => source.cancel(reason),
		}),
	};
}

async function wholeConfig(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
	const pieces: Uint8Array[] = [];
	let bytes = 0;
	for await (const piece of body) {
		bytes += piece.length;
		if (bytes > MAX_CONFIG_BYTES)
			throw new AiError(
				"requestTooLarge",
				`${CONFIG_FILE}: expected at most ${MAX_CONFIG_BYTES} bytes, found more`,
			);
		// A piece is a view of bytes that the next read may replace.
		pieces.push(piece.slice());
	}
	return concat(pieces);
}

/** The stream, which fails as soon as the file is known to be invalid. */
function checkedBy(
	check: SafetensorsCheck,
	body: ReadableStream<Uint8Array>,
	ended: (rank: number) => void,
): ReadableStream<Uint8Array> {
	const source = PulledStream.sourceOf(body);
	return new PulledStream<Uint8Array>({
		async pull() {
			const piece = await source.pull();
			if (piece) check.add(piece);
			else ended(check.end());
			return piece;
		},
		cancel: (reason) => source.cancel(reason),
	});
}
