/** Reads a bucket of R2: each object is an item, whose bytes are read when it is indexed. An object is new if its ETag is. */
import { own } from "../../../core/own.ts";
import type { PlaceEnd } from "../durable/place-table.ts";
import { isSupported, maxBytesOf } from "../markdown.ts";
import type { CustomField, FieldType } from "../records.ts";
import { matchesGlob } from "./globs.ts";
import {
	type FoundItem,
	JobEnded,
	putItems,
	readingOf,
	SourceFailure,
	type SourceRun,
} from "./source-run.ts";

const LISTED = 500;
/** In one commit. */
const AT_ONCE = 50;
const MAX_PLACES = 1_000_000;
/** One after another. */
const MAX_EMPTY_PAGES = 100;

export async function readBucket(run: SourceRun): Promise<void> {
	const { instance, job, services, source } = run;
	const { buckets } = services.searchInstances.sources;
	const allowed = buckets.get(source.source);
	if (!allowed || !(allowed.accounts?.includes(instance.account) ?? true))
		throw new SourceFailure("The gateway has no such bucket for this account (AI_SEARCH.buckets)");
	const reading = readingOf(run);
	const { exclude_items, include_items, prefix } = source.source_params;
	let found = 0;
	let listed = 0;
	let emptyPages = 0;
	let last = "";
	for (let cursor: string | undefined; ; ) {
		if (!(await reading.next(job, 0))) throw new JobEnded();
		run.signal.throwIfAborted();
		const page = await allowed.bucket.list({
			...{ limit: LISTED, prefix, include: ["httpMetadata", "customMetadata"] },
			...(cursor !== undefined && { cursor }),
		});
		listed += page.objects.length;
		if (listed > MAX_PLACES)
			throw new SourceFailure("The bucket has more than 1,000,000 objects: set source_params.prefix");
		emptyPages = page.objects.length === 0 ? emptyPages + 1 : 0;
		const { key: first = last } = page.objects[0] ?? {};
		// R2 lists keys in the order of their bytes. A store that begins again, or sends empty pages, would be read without an end.
		if (emptyPages > MAX_EMPTY_PAGES || (emptyPages === 0 && last !== "" && !isBefore(last, first)))
			throw new SourceFailure("The list of the bucket does not continue");
		last = page.objects.at(-1)?.key ?? last;
		const objects = page.objects.filter(
			({ key }) =>
				!key.endsWith("/") &&
				!matchesGlob(exclude_items, key) &&
				(include_items.length === 0 || matchesGlob(include_items, key)),
		);
		await reading.add(
			job,
			objects.map(({ key }) => ({ place: key, kind: "object", depth: 0 })),
			MAX_PLACES,
		);
		for (let at = 0; at < objects.length; at += AT_ONCE) {
			run.signal.throwIfAborted();
			await readObjects(objects.slice(at, at + AT_ONCE), run);
		}
		found += objects.length;
		run.progress({ found });
		if (!page.truncated) return;
		({ cursor } = page);
	}
}

const isBefore = (key: string, next: string): boolean =>
	Buffer.compare(Buffer.from(key), Buffer.from(next)) < 0;

async function readObjects(objects: readonly R2Object[], run: SourceRun): Promise<void> {
	const { instance, job, services } = run;
	const reading = readingOf(run);
	const now = services.now();
	const same = await reading.same(
		objects.map(({ etag: checksum, key }) => ({ place: key, key, checksum })),
		now,
	);
	const { custom_metadata: custom } = instance.record.config;
	await putItems(
		objects.filter((_, index) => !same[index]).map((object) => itemOf(object, custom)),
		run,
	);
	const ends = objects.map(
		({ etag, key }): PlaceEnd => ({ place: key, state: "read", version: { etag, readAt: now } }),
	);
	await reading.end(job, ends, { links: [], limit: 0, now });
}

function itemOf(
	{ customMetadata = {}, etag, httpMetadata, key, size }: R2Object,
	custom: readonly CustomField[],
): FoundItem {
	const file = { name: key, mimeType: httpMetadata?.contentType ?? "" };
	const unsupported = !isSupported(file)
		? "unsupported_type"
		: size > maxBytesOf(file)
			? "over_size"
			: undefined;
	return {
		...{ place: key, key, size, checksum: etag, contentType: file.mimeType, fileName: key },
		metadata: Object.fromEntries(
			custom.flatMap(({ data_type, field_name }) => {
				const text = own(customMetadata, field_name);
				const value = text === undefined ? undefined : typedValue(text, data_type);
				return value === undefined ? [] : [[field_name, value]];
			}),
		),
		...(unsupported !== undefined && { unsupported }),
	};
}

/** The bucket has texts only. `undefined`: the text is no number. */
function typedValue(text: string, type: FieldType): string | number | boolean | undefined {
	if (type === "boolean") return text.toLowerCase() === "true";
	if (type !== "number") return text;
	const number = text.trim() === "" ? Number.NaN : Number(text);
	return Number.isFinite(number) ? number : undefined;
}
