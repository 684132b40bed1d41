/** The events of a response, as services send them: https://platform.openai.com/docs/api-reference/responses-streaming. */
import * as z from "zod";
import { isRecord } from "../../../core/json.ts";
import { decodedOnce } from "../../tool-arguments.ts";
import { TEXT_EVENTS } from "./part-events.ts";
import { ResponseReply, UpstreamItem } from "./reply.ts";

const text = z.string().nullish();
const index = z.number().nullish();

export const ResponseEvent = z.looseObject({
	type: z.string(),
	output_index: index,
	content_index: index,
	summary_index: index,
	delta: text,
	text,
	refusal: text,
	arguments: text.transform((sent) => sent && decodedOnce(sent)).optional(),
	input: text,
	item: UpstreamItem.nullish(),
	response: ResponseReply.nullish(),
	annotation: z.unknown().optional(),
	logprobs: z.array(z.unknown()).nullish(),
});
export type ResponseEvent = z.output<typeof ResponseEvent>;

const isIndex = (value: unknown): boolean => value === undefined || typeof value === "number";

/** Whether it is an event with a piece of a text, as most are. The schema takes longer than the other steps of such an event. */
export const isDelta = (value: unknown): value is ResponseEvent =>
	isRecord(value) &&
	typeof value.type === "string" &&
	TEXT_EVENTS.get(value.type)?.isEnd === false &&
	typeof value.delta === "string" &&
	isIndex(value.output_index) &&
	isIndex(value.content_index) &&
	isIndex(value.summary_index) &&
	(value.logprobs === undefined || Array.isArray(value.logprobs));

export const STARTS: ReadonlySet<string> = new Set([
	"response.created",
	"response.queued",
	"response.in_progress",
]);
export const ENDS: ReadonlySet<string> = new Set([
	"response.completed",
	"response.incomplete",
	"response.failed",
]);
export const TEXT_DELTA = "response.output_text.delta";
