/** Contents in an S3-compatible bucket. */
import type { ContentStore } from "./contents.ts";
import { writeParts } from "./multipart.ts";
import { S3Client, S3Failure } from "./s3-client.ts";
import type { S3Services, S3Setting } from "./s3-setting.ts";

const NOT_FOUND = 404;
const NOT_IMPLEMENTED = 501;
/** Deletions at the same time. Not all stores have the deletion of several objects. */
const DELETIONS = 6;

export function s3Contents(setting: S3Setting, services: S3Services): ContentStore {
	const client = new S3Client(setting, services);
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
					const response = await client.call({ method: "POST", name, query: { uploads: "" } });
					return element(await response.text(), "UploadId");
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
					const response = await client.call({ method: "POST", name, query: { uploadId }, body });
					// A failure may come after the status 200.
					const code = /<Error>[\s\S]*<Code>(\w{1,64})<\/Code>/.exec(await response.text())?.[1];
					if (code) throw new S3Failure("POST", new URL(setting.endpoint).host, { status: 200, code });
				},
				abort: (uploadId) => abort(name, uploadId),
			}),
		async read(name, { offset, length }) {
			const headers = { range: `bytes=${offset}-${offset + length - 1}` };
			const response = await client.call({ method: "GET", name, headers, accepted: [NOT_FOUND] });
			if (response.status === 206 || (response.status === 200 && hasLength(response, offset, length)))
				return response.body ?? undefined;
			await discard(response);
			if (response.status === NOT_FOUND) return undefined;
			throw new S3Failure("GET", new URL(setting.endpoint).host, { status: response.status });
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
				const response = await client.call({ method: "GET", query, accepted: [NOT_IMPLEMENTED] });
				const uploads = response.ok ? (await response.text()).matchAll(/<UploadId>([^<]*)<\/UploadId>/g) : [];
				if (!response.ok) await discard(response);
				for (const [, uploadId = ""] of uploads) await abort(name, unescapeXml(uploadId));
			}
		},
	};
}

/** Some stores ignore a range that is the complete object. */
const hasLength = ({ headers }: Response, offset: number, length: number): boolean =>
	offset === 0 && Number(headers.get("content-length")) === length;

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
