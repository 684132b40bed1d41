/** Routes of the items of an AI Search instance. */
import type { Context } from "hono";
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { quotedName } from "../../core/not-found.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { MAX_TEXT_BYTES } from "../../retrieval/search/limits.ts";
import { misnamed } from "../../schemas/misnamed.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { answer } from "../answer.ts";
import { readForm } from "../jobs/upload.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { bodyBytes } from "./body-bytes.ts";
import { instanceCall, JSON_INPUT, PageQuery, pageEnvelope, queryOf, whole } from "./call.ts";
import { itemChunks, itemFilters, itemLogs, LogRange, listItems } from "./item-lists.ts";
import {
	checkFile,
	deleteItem,
	downloadItem,
	requireItem,
	syncItem,
	uploadItem,
	whenIndexed,
} from "./item-operations.ts";
import { itemJson } from "./json.ts";
import type { SearchedCall } from "./search-operations.ts";

const ListQuery = lazy(() => PageQuery().extend(itemFilters()));
const LogQuery = lazy(() => LogRange().extend({ limit: whole(100, 50) }));
const ChunkQuery = lazy(() => z.object({ limit: whole(100, 20), offset: whole(1_000_000, 0, 0) }));
const IndexAction = lazy(() => z.object({ next_action: z.literal("INDEX") }));
const KeyAction = lazy(() =>
	z.object({ key: z.string(), next_action: z.literal("INDEX"), wait_for_completion: z.boolean().optional() }),
);
const UploadFields = lazy(() =>
	z.object({ metadata: z.string().optional(), wait_for_completion: textFlag().optional() }),
);

const itemIn = (c: Context): string => pathParameter(c, "item");

export const itemRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "/:instance/items",
		permission: "search-read",
		summary: "Lists the items of an AI Search instance",
		query: () => ListQuery(),
		output: answer("searchItemsAnswer"),
		async handler(c, call) {
			const { item_id: id, sort_by: sortBy, ...query } = queryOf(ListQuery(), c);
			const own = await instanceCall(c, call);
			const page = await listItems({ ...query, id, sortBy, perPage: query.per_page }, own);
			return pageEnvelope(page, query, (item) => itemJson(item, own));
		},
	},
	{
		method: "POST",
		path: "/:instance/items",
		permission: "search-write",
		summary: "Uploads a file to an AI Search instance",
		input: { type: "multipart/form-data", example: { file: "@report.html" } },
		output: answer("searchItemAnswer"),
		handler: upload,
	},
	{
		method: "PUT",
		path: "/:instance/items",
		permission: "search-write",
		summary: "Indexes the item with a key again",
		input: { ...JSON_INPUT, schema: KeyAction, example: { key: "report.html", next_action: "INDEX" } },
		output: answer("searchItemAnswer"),
		async handler(c, call) {
			const body = await readFields(KeyAction(), c.req.raw, call.services);
			const own = await instanceCall(c, call);
			const found = await own.instance.call((object) => object.itemByKey(body.key));
			if (!found) throw searchFailure("searchItemNotFound", `the key ${quotedName(body.key)}`);
			const queued = await syncItem(found.id, own);
			const item = body.wait_for_completion ? await whenIndexed(queued.id, own) : queued;
			return envelope(itemJson(item, own));
		},
	},
	{
		method: "GET",
		path: "/:instance/items/:item",
		permission: "search-read",
		summary: "Shows an item of an AI Search instance",
		output: answer("searchItemAnswer"),
		async handler(c, call) {
			const own = await instanceCall(c, call);
			return envelope(itemJson(await requireItem(itemIn(c), own), own));
		},
	},
	{
		method: "PATCH",
		path: "/:instance/items/:item",
		permission: "search-write",
		summary: "Indexes an item again",
		input: { ...JSON_INPUT, schema: IndexAction, example: { next_action: "INDEX" } },
		output: answer("searchItemAnswer"),
		async handler(c, call) {
			await readFields(IndexAction(), c.req.raw, call.services);
			const own = await instanceCall(c, call);
			return envelope(itemJson(await syncItem(itemIn(c), own), own));
		},
	},
	{
		method: "DELETE",
		path: "/:instance/items/:item",
		permission: "search-write",
		summary: "Deletes an item of an AI Search instance",
		output: answer("searchItemDeletion"),
		async handler(c, call) {
			const { key } = await deleteItem(itemIn(c), await instanceCall(c, call));
			return envelope({ key });
		},
	},
	{
		method: "GET",
		path: "/:instance/items/:item/download",
		permission: "search-read",
		summary: "Downloads the file of an item",
		output: { type: "application/octet-stream" },
		async handler(c, call) {
			const { body, item } = await downloadItem(itemIn(c), await instanceCall(c, call));
			const name = encodeURIComponent(item.key.slice(item.key.lastIndexOf("/") + 1));
			return new Response(body, {
				headers: {
					// A browser must not show it as a page of this origin.
					"content-type": "application/octet-stream",
					"content-disposition": `attachment; filename*=UTF-8''${name}`,
					"x-content-type-options": "nosniff",
				},
			});
		},
	},
	{
		method: "GET",
		path: "/:instance/items/:item/logs",
		permission: "search-read",
		summary: "Shows the log of an item",
		query: () => LogQuery(),
		output: answer("searchItemLogsAnswer"),
		async handler(c, call) {
			const { result, result_info } = await itemLogs(
				itemIn(c),
				queryOf(LogQuery(), c),
				await instanceCall(c, call),
			);
			return envelope(result, { result_info });
		},
	},
	{
		method: "GET",
		path: "/:instance/items/:item/chunks",
		permission: "search-read",
		summary: "Shows the chunks of an item",
		query: () => ChunkQuery(),
		output: answer("searchItemChunksAnswer"),
		async handler(c, call) {
			const query = queryOf(ChunkQuery(), c);
			const { result, result_info } = await itemChunks(itemIn(c), query, await instanceCall(c, call));
			return envelope(result, { result_info });
		},
	},
];

/** The file is read to the end, because its kind decides how large it may be, and the answer has its checksum. */
async function upload(c: Context, call: AppCall): Promise<Response> {
	const own = await instanceCall(c, call);
	const hold = new BufferHold(call.caller.account).releaseOn(c.req.raw.signal);
	try {
		return await uploadForm(c, own, hold);
	} finally {
		hold.release();
	}
}

async function uploadForm(c: Context, own: SearchedCall, hold: BufferHold): Promise<Response> {
	let bytes: Uint8Array | undefined;
	let key = "";
	const form = await readForm(c.req.raw, async (body, { contentType, path }) => {
		key = path.replace(/^(?:\.?\/)+/, "");
		bytes = await bodyBytes(body, Math.min(checkFile(key, contentType), MAX_TEXT_BYTES), hold);
		return bytes.length;
	});
	const { fields, file } = form;
	if (!file || !bytes) throw searchFailure("searchFileMissing", misnamed("file", [...fields.keys()]));
	const { metadata: text, wait_for_completion } = parseFields(
		UploadFields(),
		Object.fromEntries(fields),
		"body",
	);
	const metadata = text === undefined ? {} : parseJson(text);
	if (metadata === undefined) throw searchFailure("searchMetadataInvalid", "expected JSON");
	const uploaded = { key, mimeType: file.contentType, bytes, metadata };
	const queued = await uploadItem(uploaded, own);
	const item = wait_for_completion ? await whenIndexed(queued.id, own) : queued;
	return envelope(itemJson(item, own));
}
