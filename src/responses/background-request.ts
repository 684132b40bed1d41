/** Creates a response that runs in the background. The durable queue starts its run (`background-work.ts`). */
import { responseObject } from "../dialects/responses/reply.ts";
import type { Caller } from "../pipeline/request.ts";
import { backgroundItem } from "./background-item.ts";
import { scopeOf } from "./client/stored-responses.ts";
import { newId } from "./ids.ts";
import { storedInput, withReferences } from "./input.ts";
import type { ReferencedItems } from "./records.ts";
import { identified, includesSeals, type ResponseIdentity, type ResponseJson } from "./response-object.ts";
import type { ResponsesServices } from "./services.ts";
import type { StatefulFields } from "./stateful-fields.ts";

/** What a run needs. JSON in the store of the account. */
export interface BackgroundRequest {
	caller: Pick<Caller, "account" | "credential">;
	/** Without the input, whose items the store has. */
	fields: Record<string, unknown> & { model: string };
	/** Headers that choose the gateway and the options of the request. */
	headers: [string, string][];
	/** The path of the route, for the logs of gateways. */
	endpoint: string;
	includesSeals: boolean;
}

/** A credential is no part of a stored request. */
const KEPT_HEADER = /^(?:cf-aig-(?!authorization)|x-ganglion-|x-session-|session-id$|thread-id$)/;

interface BackgroundCall {
	caller: Caller;
	fields: Record<string, unknown> & { model: string };
	stateful: StatefulFields;
	headers: Headers;
	endpoint: string;
	/** What the request refers to. */
	context: ReferencedItems | undefined;
}

/** Resolves when the response is durable and in the queue. */
export async function createBackground(
	{ caller, context, fields, stateful, headers, endpoint }: BackgroundCall,
	{ now, storage, storedResponses, uuid }: ResponsesServices,
): Promise<ResponseJson> {
	const { account, credential } = caller;
	const { background: _, store: __, input, previous_response_id: ___, conversation: ____, ...own } = fields;
	const identity: ResponseIdentity = {
		id: newId("resp", uuid),
		owner: scopeOf(caller).owner,
		createdAt: now(),
		background: true,
		previous: stateful.previous,
		conversation: stateful.conversation,
		includesSeals: includesSeals(fields.include),
	};
	const model = { id: fields.model };
	const queued = responseObject({ inputs: fields, model, now: identity.createdAt } as never, {
		status: "in_progress",
		output: [],
	});
	const response = identified({ ...queued, status: "queued" }, identity, identity.createdAt);
	const { output: ____o, ...json } = response;
	const request: BackgroundRequest = {
		caller: { account, credential },
		fields: { ...own, model: fields.model },
		headers: [...headers].filter(([name]) => KEPT_HEADER.test(name)),
		endpoint,
		includesSeals: identity.includesSeals,
	};
	const { id, owner, createdAt, previous, conversation } = identity;
	await storedResponses.enqueue({
		...{ account, id, owner, createdAt, previous, conversation },
		json: JSON.stringify(json),
		input: withReferences(storedInput(input, uuid), context),
		request: JSON.stringify(request),
		isStream: stateful.stream,
	});
	// If the process ends before that, the account's object enqueues it.
	await storage.queue.enqueue(backgroundItem(account, id)).catch(async (refusal) => {
		await storedResponses.call(account, (store) => store.delete(id, { owner, all: false }));
		throw refusal;
	});
	return response;
}
