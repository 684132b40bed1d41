/**
 * Converts files where a parser that does not end can be stopped: in a process of its own that is killed (`DOCUMENTS_BINDING`), or on
 * Cloudflare in a request of its own, whose CPU time is limited.
 */
import type { ConvertedFile, SourceFile } from "./convert-file.ts";
import { decodeConverted, encodeFile } from "./message.ts";
import type { ConversionOptions } from "./options.ts";
import { FILE_WORK } from "./work.ts";

/** Converts one file of an account. Does not throw. */
export type Converter = (
	file: SourceFile,
	options: ConversionOptions,
	account: string,
) => Promise<ConvertedFile>;

/** The account of the file, whose files wait for their turn. */
export const ACCOUNT_HEADER = "x-ganglion-account";

/** The status of an answer whose conversion was stopped. Its body is the sentence. */
export const STOPPED_STATUS = 422;
/** The converter has ended without an answer: by the file, or because it was killed by something else. */
export const UNSAFE = "The file takes too much time or memory to convert";

/** `send`: passes the request to `answerConversion` in another place. */
export const remoteConverter =
	(send: (request: Request) => Promise<Response>): Converter =>
	async (file, options, account) => {
		const body = encodeFile(file, options);
		const headers = { [ACCOUNT_HEADER]: encodeURIComponent(account) };
		try {
			const response = await send(new Request("http://documents/", { method: "POST", headers, body }));
			const text = await response.text();
			if (response.ok) return decodeConverted(text);
			if (response.status === STOPPED_STATUS) return stopped(text);
		} catch (error) {
			return stopped(UNSAFE, error instanceof Error ? error.name : undefined);
		}
		return stopped(UNSAFE);
	};

const stopped = (error: string, unexpected?: string): ConvertedFile => ({
	format: "error",
	error,
	work: FILE_WORK,
	...(unexpected !== undefined && { unexpected }),
});
