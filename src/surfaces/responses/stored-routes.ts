/**
 * Routes of stored responses: `GET` and `DELETE /responses/{id}`, `…/cancel` and `…/input_items`
 * (platform.openai.com/docs/api-reference/responses).
 *
 * `input_items` lists the whole input: the items of the responses that it continues, as far as they exist, and its own.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { quotedName } from "../../core/not-found.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import { pathParameter } from "../../http/route.ts";
import type { Caller } from "../../pipeline/request.ts";
import { inScope } from "../../responses/client/stored-responses.ts";
import { foundOrThrow } from "../../responses/failures.ts";
import type { StoredResponse } from "../../responses/records.ts";
import { includesSeals, shown } from "../../responses/response-object.ts";
import type { ResponsesServices } from "../../responses/services.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { ItemsQuerySchema, includedIn, listOf, readItemsQuery } from "./item-query.ts";

const RetrieveQuery = lazy(() =>
	z.object({
		stream: textFlag().optional(),
		starting_after: z
			.string()
			.regex(/^\d{1,9}$/)
			.transform(Number)
			.optional(),
	}),
);

/** Ids have a prefix, because paths of AI Gateway are also below `/v1`. */
const RESPONSE = "/responses/:response{resp_[^/]*}";
const common = { permission: "run", failure: responsesFailure } as const;

export const STORED_RESPONSES: readonly AppRouteDeclaration[] = [
	{
		...common,
		method: "GET",
		path: RESPONSE,
		summary: "Shows a stored response, or streams the events of one in the background",
		query: RetrieveQuery,
		output: answer("responseAnswer"),
		handler: retrieve,
	},
	{
		...common,
		method: "DELETE",
		path: RESPONSE,
		summary: "Deletes a stored response",
		output: answer("deletedAnswer"),
		handler: remove,
	},
	{
		...common,
		method: "POST",
		path: `${RESPONSE}/cancel`,
		summary: "Cancels a response in the background",
		output: answer("responseAnswer"),
		handler: cancel,
	},
	{
		...common,
		method: "GET",
		path: `${RESPONSE}/input_items`,
		summary: "Lists the input items of a stored response",
		query: ItemsQuerySchema,
		output: answer("itemsAnswer"),
		handler: listInput,
	},
];

const idOf = (c: Context): string => pathParameter(c, "response");

/** A reply with the id of the request, in the header that OpenAI's SDKs read. */
export const stateReply = (value: unknown, { id }: Pick<AppCall, "id">): Response =>
	Response.json(value, { headers: { [REQUEST_ID]: id, "x-request-id": id } });

export const responseJson = ({ json, output }: StoredResponse, include: readonly string[]): object =>
	shown({ ...JSON.parse(json), output: output.map((item) => JSON.parse(item)) }, includesSeals(include));

async function retrieve(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { stream, starting_after } = validate(RetrieveQuery(), c.req.query());
	const id = idOf(c);
	if (stream) return streamEvents(id, { caller, after: starting_after ?? -1 }, call);
	const { storedResponses } = services;
	const found = await inScope(
		caller,
		(scope) => storedResponses.call(caller.account, (store) => store.get(id, scope)),
		services,
	);
	return stateReply(responseJson(foundOrThrow(found), includedIn(c.req.url)), call);
}

/** `after`: the number of the last event that the caller has. */
async function streamEvents(
	id: string,
	{ caller, after }: { caller: Caller; after: number },
	call: Pick<AppCall, "id" | "services">,
): Promise<Response> {
	const events = await storedEvents(id, { caller, after }, call.services);
	return eventsReply(events, call);
}

export const eventsReply = (events: ReadableStream<Uint8Array>, { id }: Pick<AppCall, "id">): Response =>
	new Response(PulledStream.of(events), {
		headers: {
			"content-type": SSE_CONTENT_TYPE,
			"cache-control": "no-cache",
			[REQUEST_ID]: id,
			"x-request-id": id,
		},
	});

export async function storedEvents(
	id: string,
	{ caller, after }: { caller: Caller; after: number },
	services: ResponsesServices,
): Promise<ReadableStream<Uint8Array>> {
	const { storedResponses } = services;
	const found = await inScope(
		caller,
		(scope) => storedResponses.callRuns(caller.account, (runs) => runs.events(id, after, scope)),
		services,
	);
	const events = foundOrThrow(found);
	if (events) return events;
	throw invalidInput(
		"stream: the response has no events, because it was not created with background and stream, or they have expired",
	);
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { storedResponses } = services;
	const id = idOf(c);
	const found = await inScope(
		caller,
		(scope) => storedResponses.call(caller.account, (store) => store.delete(id, scope)),
		services,
	);
	foundOrThrow(found);
	return stateReply({ id, object: "response", deleted: true }, call);
}

async function cancel(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { storedResponses } = services;
	const found = await inScope(
		caller,
		(scope) => storedResponses.callRuns(caller.account, (runs) => runs.cancel(idOf(c), scope)),
		services,
	);
	const cancelled = foundOrThrow(found);
	if (cancelled === "synchronous") throw new AiError("badInput", "Cannot cancel a synchronous response.");
	return stateReply(responseJson(cancelled, includedIn(c.req.url)), call);
}

async function listInput(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { storedResponses } = services;
	const query = readItemsQuery(c.req.query());
	const found = await inScope(
		caller,
		(scope) => storedResponses.call(caller.account, (store) => store.inputItems(idOf(c), query, scope)),
		services,
	);
	const page = foundOrThrow(found);
	if (!page) throw invalidInput(`after: the input has no item ${quotedName(query.after ?? "")}`);
	return stateReply(listOf(page, includedIn(c.req.url)), call);
}
