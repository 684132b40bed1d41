/** A content of one part is written with one call. A larger one is a multipart upload, which is aborted if it fails. */

/** R2 and S3 need at least 5 MiB, and the same size of all parts except the last. */
export const PART_BYTES = 8 * 1024 * 1024;

interface MultipartCalls<Upload, Part> {
	put(bytes: Uint8Array): Promise<unknown>;
	begin(): Promise<Upload>;
	/** `number`: from 1. */
	part(upload: Upload, number: number, bytes: Uint8Array): Promise<Part>;
	complete(upload: Upload, parts: Part[]): Promise<unknown>;
	abort(upload: Upload): Promise<unknown>;
}

export async function writeParts<Upload, Part>(
	parts: AsyncIterable<Uint8Array>,
	calls: MultipartCalls<Upload, Part>,
): Promise<void> {
	let previous: Uint8Array | undefined;
	let upload: Upload | undefined;
	const written: Part[] = [];
	try {
		for await (const part of parts) {
			if (previous) {
				upload ??= await calls.begin();
				written.push(await calls.part(upload, written.length + 1, previous));
			}
			previous = part;
		}
		const last = previous ?? new Uint8Array();
		if (upload === undefined) {
			await calls.put(last);
			return;
		}
		written.push(await calls.part(upload, written.length + 1, last));
		await calls.complete(upload, written);
	} catch (error) {
		// A failed abort leaves the parts to `abandon`.
		if (upload !== undefined) await calls.abort(upload).catch(() => {});
		throw error;
	}
}
