/**
 * Routes of files: `/files` in OpenAI's format (platform.openai.com/docs/api-reference/files), and in Anthropic's
 * (platform.claude.com/docs/en/build-with-claude/files) if the request has `anthropic-version`. Both show the same files.
 *
 * Differences: an uploaded file can be read back in Anthropic's format too, and a list has all purposes.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { ANTHROPIC_KEY, AUTHORIZATION, AZURE_KEY } from "../../http/credentials.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import {
	ANTHROPIC_VERSION,
	type FailureFormat,
	messagesFailure,
	openAiFailure,
} from "../../http/failure-formats.ts";
import { heldBody } from "../../http/held-body.ts";
import { pathParameter } from "../../http/route.ts";
import { foundJob, foundPage, listScope } from "../../jobs/client/jobs.ts";
import { type FileRecord, type FilesQuery, fileKey } from "../../jobs/records.ts";
import { inScope } from "../../responses/client/stored-responses.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { deleteFile } from "./delete-bytes.ts";
import { anthropicFile, anthropicUpload, openAiFile, openAiUpload } from "./file-formats.ts";
import { storeUpload } from "./upload.ts";

const DEFAULT_OPENAI_LIMIT = 10_000;
const DEFAULT_ANTHROPIC_LIMIT = 20;
const MAX_ANTHROPIC_LIMIT = 1_000;

const limit = (max: number, otherwise: number) =>
	z
		.string()
		.regex(/^[1-9]\d{0,5}$/, `expected a whole number from 1 to ${max}`)
		.transform(Number)
		.pipe(z.number().max(max))
		.default(otherwise);

const OpenAiList = lazy(() =>
	z.object({
		after: z.string().optional(),
		limit: limit(DEFAULT_OPENAI_LIMIT, DEFAULT_OPENAI_LIMIT),
		order: z.enum(["asc", "desc"]).default("desc"),
		purpose: z.string().optional(),
	}),
);
const AnthropicList = lazy(() =>
	z.object({
		after_id: z.string().optional(),
		before_id: z.string().optional(),
		page: z.string().optional(),
		limit: limit(MAX_ANTHROPIC_LIMIT, DEFAULT_ANTHROPIC_LIMIT),
	}),
);

const isAnthropic = ({ req }: Pick<Context, "req">): boolean => req.header(ANTHROPIC_VERSION) !== undefined;

const failure: FailureFormat = (error, requestId, request) =>
	(request.header(ANTHROPIC_VERSION) === undefined ? openAiFailure : messagesFailure)(error, requestId);

/** Ids have a prefix, because paths of AI Gateway are also below `/v1`. */
const FILE = "/files/:file{file[^/]*}";
const common = {
	permission: "run",
	failure,
	credentials: [AUTHORIZATION, AZURE_KEY, ANTHROPIC_KEY],
} as const;

export const FILES: readonly AppRouteDeclaration[] = [
	{
		...common,
		method: "POST",
		path: "/files",
		summary: "Stores a file",
		input: {
			type: "multipart/form-data",
			example: { purpose: "batch", file: "@requests.jsonl" },
		},
		output: answer("fileAnswer"),
		handler: upload,
	},
	{
		...common,
		method: "GET",
		path: "/files",
		summary: "Lists files",
		query: OpenAiList,
		output: answer("filesAnswer"),
		handler: list,
	},
	{
		...common,
		method: "GET",
		path: FILE,
		summary: "Shows a file",
		output: answer("fileAnswer"),
		handler: async (c, call) => fileReply(c, call, await find(c, call)),
	},
	{
		...common,
		method: "DELETE",
		path: FILE,
		summary: "Deletes a file",
		output: answer("deletedAnswer"),
		handler: remove,
	},
	{
		...common,
		method: "GET",
		path: `${FILE}/content`,
		summary: "Reads the bytes of a file",
		output: { type: "application/octet-stream" },
		handler: content,
	},
];

const reply = (c: Context, { id }: AppCall, value: object): Response =>
	Response.json(value, {
		headers: { [REQUEST_ID]: id, [isAnthropic(c) ? "request-id" : "x-request-id"]: id },
	});

const fileReply = (c: Context, call: AppCall, file: FileRecord): Response =>
	reply(c, call, shownFile(c, file));

const shownFile = (c: Context, file: FileRecord): object =>
	isAnthropic(c) ? anthropicFile(file) : openAiFile(file);

async function upload(c: Context, call: AppCall): Promise<Response> {
	const unique = call.services.uuid().replaceAll("-", "");
	const [id, read] = isAnthropic(c) ? [`file_${unique}`, anthropicUpload] : [`file-${unique}`, openAiUpload];
	return fileReply(c, call, await storeUpload(c.req.raw, call, { id, read }));
}

async function find(c: Context, { caller, services }: AppCall): Promise<FileRecord> {
	const id = pathParameter(c, "file");
	const found = await inScope(
		caller,
		(scope) => services.jobs.files(caller.account, (files) => files.get(id, scope)),
		services,
	);
	return foundJob(found);
}

async function list(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const query = (
		isAnthropic(c) ? anthropicQuery(c) : parseFields(OpenAiList(), c.req.query(), "query")
	) as FilesQuery;
	const scope = await listScope(caller, services);
	const page = await services.jobs.files(caller.account, (stored) => stored.list(query, scope));
	const { files, hasMore } = foundPage(page, "file", query);
	const last = files.at(-1)?.id ?? null;
	return reply(c, call, {
		// SDKs of Anthropic read the first, their earlier versions `has_more`.
		...(isAnthropic(c) ? { next_page: hasMore ? last : null } : { object: "list" }),
		data: files.map((file) => shownFile(c, file)),
		first_id: files[0]?.id ?? null,
		last_id: last,
		has_more: hasMore,
	});
}

function anthropicQuery(c: Context): FilesQuery {
	const { page, before_id, limit: size, ...query } = parseFields(AnthropicList(), c.req.query(), "query");
	const after_id = page ?? query.after_id;
	if (after_id !== undefined && before_id !== undefined)
		throw new AiError("invalidRequest", "before_id: expected nothing beside after_id, found an id");
	const ids = [...(c.req.queries("ids") ?? []), ...(c.req.queries("ids[]") ?? [])];
	return {
		limit: size,
		order: "desc",
		...(after_id !== undefined && { after: after_id }),
		...(before_id !== undefined && { before: before_id }),
		...(ids.length > 0 && { ids }),
	};
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const { id } = await find(c, call);
	if (!(await deleteFile(id, call)))
		throw new AiError(
			"invalidRequest",
			"The file is the input of a batch that has not ended: cancel the batch",
		);
	return reply(
		c,
		call,
		isAnthropic(c) ? { id, type: "file_deleted" } : { id, object: "file", deleted: true },
	);
}

async function content(c: Context, call: AppCall): Promise<Response> {
	const { caller, id, services } = call;
	const file = await find(c, call);
	const reader = { account: caller.account, signal: c.req.raw.signal };
	const stored = await heldBody(reader, () => services.storage.blobs(caller.account).get(fileKey(file.id)));
	// It was deleted meanwhile.
	if (!stored) throw new AiError("noSuchFile", `No such File object: ${file.id}`);
	return new Response(stored.body, {
		headers: {
			"content-type": "application/octet-stream",
			"content-length": String(stored.bytes),
			"content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file.filename)}`,
			[REQUEST_ID]: id,
			"x-request-id": id,
		},
	});
}
