/** `ganglion vectors export`: the vectors of an index as lines of JSON, which `vectors import` and `wrangler vectorize insert` read. */
import * as z from "zod";
import { CommandError, type ConnectionFlags, GatewayClient, queryText } from "../gateway-client.ts";
import { refuseExisting, writeComplete } from "../partial-file.ts";
import { progressBar, showLine } from "../progress-line.ts";
import { printJson } from "../table.ts";

export interface ExportVectorsFlags extends ConnectionFlags {
	/** Default: the name of the index, with `.ndjson`. */
	output?: string;
	overwrite?: boolean;
}

const LIST_COUNT = 1_000;
/** Of one request, in the product as well. */
const MAX_IDS = 20;
const LANES = 4;

const Page = z.looseObject({
	totalCount: z.number(),
	nextCursor: z.string().nullish(),
	vectors: z.array(z.looseObject({ id: z.string() })),
});
// Not parsed further: a key of metadata may have any name.
const Vector = z.looseObject({
	id: z.string(),
	values: z.array(z.number()),
	namespace: z.string().nullish(),
	metadata: z.unknown().optional(),
});
const Index = z.looseObject({ config: z.looseObject({ dimensions: z.number(), metric: z.string() }) });
const MetadataIndexes = z.looseObject({
	metadataIndexes: z.array(z.looseObject({ propertyName: z.string(), indexType: z.string() })),
});

export const indexPath = (index: string): string => `/vectorize/v2/indexes/${encodeURIComponent(index)}`;

/** The vectors of the list's snapshot, without those that are deleted meanwhile. */
export async function exportVectors(index: string, flags: ExportVectorsFlags): Promise<number> {
	const file = flags.output ?? `${index}.ndjson`;
	refuseExisting(file, flags.overwrite);
	const client = new GatewayClient(flags);
	const path = indexPath(index);
	const { config } = await client.result(path, Index);
	const { metadataIndexes } = await client.result(`${path}/metadata_index/list`, MetadataIndexes);
	let vectors = 0;
	await writeComplete(file, async (handle) => {
		let shown = "";
		let listed = 0;
		let cursor: string | undefined;
		do {
			const query = queryText({ count: String(LIST_COUNT), cursor });
			const page = await client.result(`${path}/list${query}`, Page);
			const lines = await linesOf(
				page.vectors.map(({ id }) => id),
				(ids) => client.result(`${path}/get_by_ids`, z.array(Vector), { method: "POST", body: { ids } }),
			);
			await handle.appendFile(lines.map((line) => `${line}\n`).join(""));
			vectors += lines.length;
			listed += page.vectors.length;
			cursor = page.nextCursor ?? undefined;
			const line = `${progressBar(listed, page.totalCount)} ${listed} of ${page.totalCount} vectors`;
			shown = showLine(line, shown, cursor === undefined);
		} while (cursor !== undefined);
	});
	const properties = metadataIndexes.map(({ propertyName, indexType }) => `${propertyName}=${indexType}`);
	if (flags.json) printJson({ file, vectors, ...config, metadata_indexes: properties });
	else {
		console.log(`${file}: ${vectors} vectors`);
		const options = properties.map((property) => ` --metadata-index '${property}'`).join("");
		console.error(
			`To make an index of it: npx ganglion vectors import ${index} ${file} --metric ${config.metric}${options}`,
		);
	}
	return 0;
}

type Fetched = z.output<typeof Vector>;

/** In the order of the ids. */
async function linesOf(
	ids: readonly string[],
	fetchByIds: (ids: string[]) => Promise<Fetched[]>,
): Promise<string[]> {
	const groups = Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, group) =>
		ids.slice(group * MAX_IDS, (group + 1) * MAX_IDS),
	);
	const fetched = new Map<string, Fetched>();
	let next = 0;
	async function lane(): Promise<void> {
		for (let group = groups[next++]; group !== undefined; group = groups[next++])
			for (const vector of await fetchByIds(group)) fetched.set(vector.id, vector);
	}
	await Promise.all(Array.from({ length: LANES }, lane));
	return ids.flatMap((id) => {
		const vector = fetched.get(id);
		if (!vector) return [];
		const { metadata, namespace, values } = vector;
		if (values.length === 0) throw new CommandError(`the vector ${id} has no values`);
		return JSON.stringify({
			...{ id, values },
			...(namespace != null && { namespace }),
			...(metadata != null && { metadata }),
		});
	});
}
