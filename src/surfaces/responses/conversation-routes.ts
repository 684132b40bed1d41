/** Routes of conversations (platform.openai.com/docs/api-reference/conversations). */
import type { Context } from "hono";
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { quotedName } from "../../core/not-found.ts";
import { requireDiskSpace } from "../../core/object-failure.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { Metadata } from "../../dialects/responses/request.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { readJson } from "../../http/body.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import { pathParameter } from "../../http/route.ts";
import { type ConversationCalls, inScope, scopeOf } from "../../responses/client/stored-responses.ts";
import { foundOrThrow, referenceFailure } from "../../responses/failures.ts";
import { newId } from "../../responses/ids.ts";
import { referencesIn, storedInput, withReferences } from "../../responses/input.ts";
import type { ConversationRecord, Found, ItemRecord, Scope } from "../../responses/records.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { ItemsQuerySchema, includedIn, itemsOf, listOf, readItemsQuery } from "./item-query.ts";
import { stateReply } from "./stored-routes.ts";

/** As in OpenAI's API. */
const MAX_ITEMS = 20;

const Items = lazy(() => z.array(z.looseObject({})).max(MAX_ITEMS));
const NewConversation = lazy(() => z.object({ items: Items().nullish(), metadata: Metadata.nullish() }));
const Update = lazy(() => z.object({ metadata: Metadata.nullable() }));
const NewItems = lazy(() => z.object({ items: Items().min(1) }));

/** Ids have a prefix, because paths of AI Gateway are also below `/v1`. */
const CONVERSATION = "/conversations/:conversation{conv_[^/]*}";
const ITEM = `${CONVERSATION}/items/:item`;
const common = { permission: "run", failure: responsesFailure } as const;

export const CONVERSATIONS: readonly AppRouteDeclaration[] = [
	{
		...common,
		method: "POST",
		path: "/conversations",
		summary: "Creates a conversation",
		input: { type: "application/json", schema: NewConversation, example: { metadata: { topic: "demo" } } },
		output: answer("conversationAnswer"),
		handler: create,
	},
	{
		...common,
		method: "GET",
		path: CONVERSATION,
		summary: "Shows a conversation",
		output: answer("conversationAnswer"),
		handler: (c, call) => conversationReply(call, (calls, scope) => calls.get(idOf(c), scope)),
	},
	{
		...common,
		method: "POST",
		path: CONVERSATION,
		summary: "Replaces the metadata of a conversation",
		input: { type: "application/json", schema: Update, example: { metadata: { topic: "demo" } } },
		output: answer("conversationAnswer"),
		handler: update,
	},
	{
		...common,
		method: "DELETE",
		path: CONVERSATION,
		summary: "Deletes a conversation; the items of stored responses stay with these",
		output: answer("deletedAnswer"),
		handler: remove,
	},
	{
		...common,
		method: "POST",
		path: `${CONVERSATION}/items`,
		summary: "Adds items to a conversation",
		input: {
			type: "application/json",
			schema: NewItems,
			example: { items: [{ type: "message", role: "user", content: "Hello" }] },
		},
		output: answer("itemsAnswer"),
		handler: addItems,
	},
	{
		...common,
		method: "GET",
		path: `${CONVERSATION}/items`,
		summary: "Lists the items of a conversation",
		query: ItemsQuerySchema,
		output: answer("itemsAnswer"),
		handler: listItems,
	},
	{
		...common,
		method: "GET",
		path: ITEM,
		summary: "Shows an item of a conversation",
		output: answer("itemAnswer"),
		handler: showItem,
	},
	{
		...common,
		method: "DELETE",
		path: ITEM,
		summary: "Deletes an item of a conversation",
		output: answer("conversationAnswer"),
		handler: (c, call) =>
			conversationReply(call, (calls, scope) => calls.deleteItem(idOf(c), itemId(c), scope)),
	},
];

const idOf = (c: Context): string => pathParameter(c, "conversation");
const itemId = (c: Context): string => pathParameter(c, "item");

/** Calls the conversations of the caller's account, in the scope of the caller. */
async function inConversations<Value>(
	{ caller, services }: AppCall,
	find: (calls: ConversationCalls, scope: Scope) => Promise<Found<Value>>,
): Promise<Value> {
	const { storedResponses } = services;
	const found = await inScope(
		caller,
		(scope) => storedResponses.callConversations(caller.account, (calls) => find(calls, scope)),
		services,
	);
	return foundOrThrow(found);
}

const conversationJson = ({ id, createdAt, metadata }: ConversationRecord): object => ({
	id,
	object: "conversation",
	created_at: Math.floor(createdAt / 1000),
	metadata: JSON.parse(metadata),
});

async function conversationReply(
	call: AppCall,
	find: (calls: ConversationCalls, scope: Scope) => Promise<Found<ConversationRecord>>,
): Promise<Response> {
	return stateReply(conversationJson(await inConversations(call, find)), call);
}

async function create(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { now, storedResponses, uuid } = services;
	const { account } = caller;
	const fields = c.req.raw.body ? validate(NewConversation(), await readJson(c.req.raw, services)) : {};
	const record = {
		id: newId("conv", uuid),
		createdAt: now(),
		metadata: JSON.stringify(fields.metadata ?? {}),
	};
	const items = await newItems(fields.items ?? [], call);
	const { owner } = scopeOf(caller);
	const created = await storedResponses.callConversations(account, (calls) =>
		calls.create(record, owner, { items, bounds: storedResponses.bounds }),
	);
	storedResponses.requireSaved(account, created);
	return stateReply(conversationJson(record), call);
}

/** Throws if an item refers to one that does not exist. */
async function newItems(items: readonly object[], { caller, services }: AppCall): Promise<ItemRecord[]> {
	requireDiskSpace("items");
	const references = referencesIn(items);
	const { storedResponses, uuid } = services;
	const input = storedInput(items, uuid);
	if (references.length === 0) return input;
	const found = await inScope(
		caller,
		(scope) =>
			storedResponses.call(caller.account, (store) =>
				store.context({ items: references }, scope, storedResponses.bounds),
			),
		services,
	);
	return withReferences(input, foundOrThrow(found, referenceFailure));
}

async function update(c: Context, call: AppCall): Promise<Response> {
	const { metadata } = validate(Update(), await readJson(c.req.raw, call.services));
	const json = JSON.stringify(metadata ?? {});
	return conversationReply(call, (calls, scope) => calls.update(idOf(c), json, scope));
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const id = idOf(c);
	await inConversations(call, (calls, scope) => calls.delete(id, scope));
	return stateReply({ id, object: "conversation.deleted", deleted: true }, call);
}

async function addItems(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { storedResponses } = services;
	const fields = validate(NewItems(), await readJson(c.req.raw, services));
	const items = await newItems(fields.items, call);
	const saved = await inConversations(call, (calls, scope) =>
		calls.addItems(idOf(c), items, { scope, bounds: storedResponses.bounds }),
	);
	storedResponses.requireSaved(caller.account, saved);
	const shown = items.filter(({ referencedOwner }) => referencedOwner === undefined).map(({ json }) => json);
	return stateReply(listOf({ items: shown, hasMore: false }, includedIn(c.req.url)), call);
}

async function listItems(c: Context, call: AppCall): Promise<Response> {
	const query = readItemsQuery(c.req.query());
	const page = await inConversations(call, (calls, scope) => calls.items(idOf(c), query, scope));
	if (!page) throw invalidInput(`after: the conversation has no item ${quotedName(query.after ?? "")}`);
	return stateReply(listOf(page, includedIn(c.req.url)), call);
}

async function showItem(c: Context, call: AppCall): Promise<Response> {
	const json = await inConversations(call, (calls, scope) => calls.item(idOf(c), itemId(c), scope));
	const [item] = itemsOf([json], includedIn(c.req.url));
	return stateReply(item, call);
}
