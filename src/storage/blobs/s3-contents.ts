/** Contents in an S3-compatible bucket. */
import { STORE_CALL } from "../../outbound/limits.ts";
import type { ContentStore } from "./contents.ts";
import { writeParts } from "./multipart.ts";
import { rangeBody } from "./range-body.ts";
import { S3Client, S3Failure } from "./s3-client.ts";
import type { S3Services, S3Setting } from "./s3-setting.ts";

const PARTIAL = 206;
const NOT_FOUND = 404;
const NOT_IMPLEMENTED = 501;
/** Deletions at the same time. Not all stores have the deletion of several objects. */
const DELETIONS = 6;

export function s3Contents(setting: S3Setting, services: S3Services): ContentStore {
	const client = new S3Client(setting, services);
	const failure = (call: string, details: ConstructorParameters<typeof S3Failure>[2]): S3Failure =>
		new S3Failure(call, new URL(setting.endpoint).host, details);
	const discard = async (response: Response): Promise<void> => response.body?.cancel();
	const abort = async (name: string, uploadId: string): Promise<void> =>
		discard(await client.call({ method: "DELETE", name, query: { uploadId }, accepted: [NOT_FOUND] }));
	return {
		store: "s3",
		place: { store: new URL(setting.endpoint).host, bucket: setting.bucket, setting: "STORAGE.s3" },
		write: (name, parts) =>
			writeParts(parts, {
				put: async (body) => discard(await client.call({ method: "PUT", name, body })),
				async begin() {
					const xml = await client.text({ method: "POST", name, query: { uploads: "" }, once: true });
					return element(xml ?? "", "UploadId");
				},
				async part(uploadId, number, body) {
					const query = { partNumber: String(number), uploadId };
					const response = await client.call({ method: "PUT", name, query, body });
					await discard(response);
					return { number, tag: response.headers.get("etag") ?? "" };
				},
				async complete(uploadId, written) {
					const body = `<CompleteMultipartUpload>${written
						.map(
							({ number, tag }) =>
								`<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
						)
						.join("")}</CompleteMultipartUpload>`;
					const xml = (await client.text({ method: "POST", name, query: { uploadId }, body })) ?? "";
					// A failure may come after the status 200.
					const code = /<Error>[\s\S]*<Code>(\w{1,64})<\/Code>/.exec(xml)?.[1];
					if (code) throw failure("POST", { status: 200, code });
				},
				abort: (uploadId) => abort(name, uploadId),
			}),
		async read(name, { offset, length }) {
			const headers = { range: `bytes=${offset}-${offset + length - 1}` };
			const { body, status } = await client.call({ method: "GET", name, headers, accepted: [NOT_FOUND] });
			if (status === NOT_FOUND) {
				await body?.cancel();
				return undefined;
			}
			if (!body) throw failure("GET", { status });
			const silent = () => failure("GET", { cause: new Error("The store does not continue its answer") });
			// Some stores ignore a range, for example that of one byte, and send the complete object.
			return rangeBody(body, {
				skip: status === PARTIAL ? 0 : offset,
				length,
				idleMs: STORE_CALL.silentMs,
				silent,
			});
		},
		async delete(names) {
			for (let at = 0; at < names.length; at += DELETIONS)
				await Promise.all(
					names
						.slice(at, at + DELETIONS)
						.map(async (name) =>
							discard(await client.call({ method: "DELETE", name, accepted: [NOT_FOUND] })),
						),
				);
		},
		async abandon(names) {
			for (const name of names) {
				const query = { uploads: "", prefix: setting.prefix + name };
				const xml = await client.text({ method: "GET", query, accepted: [NOT_IMPLEMENTED] });
				const uploads = (xml ?? "").matchAll(/<UploadId>([^<]*)<\/UploadId>/g);
				for (const [, uploadId = ""] of uploads) await abort(name, unescapeXml(uploadId));
			}
		},
	};
}

function element(xml: string, name: string): string {
	const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
	if (!text) throw new Error(`The answer of the store has no ${name}`);
	return unescapeXml(text);
}

const ESCAPES: readonly (readonly [character: string, text: string])[] = [
	["&", "&amp;"],
	["<", "&lt;"],
	[">", "&gt;"],
	['"', "&quot;"],
];
const escapeXml = (text: string): string =>
	ESCAPES.reduce((escaped, [character, entity]) => escaped.replaceAll(character, entity), text);
const unescapeXml = (text: string): string =>
	ESCAPES.reduceRight((plain, [character, entity]) => plain.replaceAll(entity, character), text);
