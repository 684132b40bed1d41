/**
 * Contents in an R2 bucket of a binding (https://developers.cloudflare.com/r2/api/workers/workers-api-reference/). R2 deletes
 * multipart uploads that were not completed after seven days.
 */
import type { ContentStore } from "./contents.ts";
import { writeParts } from "./multipart.ts";

/** The binding. */
const BUCKET_BINDING = "STORAGE_BUCKET";
/** R2 deletes at most so many at once. */
const DELETED_AT_ONCE = 1_000;

export const r2Contents = (bucket: R2Bucket): ContentStore => ({
	store: "r2",
	place: { store: BUCKET_BINDING, setting: "r2_buckets" },
	write: (name, parts) =>
		writeParts(parts, {
			put: (bytes) => bucket.put(name, bytes),
			begin: () => bucket.createMultipartUpload(name),
			part: (upload, number, bytes) => upload.uploadPart(number, bytes),
			complete: (upload, written) => upload.complete(written),
			abort: (upload) => upload.abort(),
		}),
	async read(name, range) {
		return (await bucket.get(name, { range }))?.body;
	},
	async delete(names) {
		for (let at = 0; at < names.length; at += DELETED_AT_ONCE)
			await bucket.delete(names.slice(at, at + DELETED_AT_ONCE));
	},
});
