/**
 * Runs a request of OpenAI's Responses API, and stores the response unless `store` is false. The engine gets the whole input: the items
 * of earlier responses or of the conversation, then the request's own. Instructions and tools of earlier responses are not among them,
 * as in OpenAI's API.
 *
 * A response is durable before its end is sent. If the caller leaves a stream, the response is stored as `cancelled`, with the items that
 * were complete. A request that fails before its first event is not stored.
 */
import { AiError, toAiError } from "../core/errors.ts";
import { isRecord } from "../core/json.ts";
import { invalidInput } from "../dialects/invalid-input.ts";
import type { Caller, InferenceRequest, Reply } from "../pipeline/request.ts";
import { PulledStream } from "../streams/pulled-stream.ts";
import { inScope, scopeOf } from "./client/stored-responses.ts";
import { EventRelay } from "./event-relay.ts";
import { foundOrThrow, referenceFailure } from "./failures.ts";
import { newId } from "./ids.ts";
import { engineInput, referencesIn, storedInput, unsealedIn, withReferences } from "./input.ts";
import type { ItemRecord, ReferencedItems } from "./records.ts";
import {
	identified,
	includesSeals,
	type ResponseIdentity,
	type ResponseJson,
	recordOf,
	shown,
} from "./response-object.ts";
import { runResponses } from "./run-model.ts";
import type { ResponsesServices } from "./services.ts";
import { readStateful, type StatefulFields } from "./stateful-fields.ts";

export { readStateful } from "./stateful-fields.ts";

type Fields = Record<string, unknown>;

/** What fields that are complete were before. Copies of the fields have it too, and their JSON does not. */
const REFERRED = Symbol("referred");

interface Referred {
	own: Fields;
	context: ReferencedItems;
}

const referredOf = (fields: Fields): Partial<Referred> =>
	(fields as { [REFERRED]?: Referred })[REFERRED] ?? {};

/**
 * The fields as the engine gets them. A gateway judges a request before it runs, so the items that it only names must be in it. `runStored`
 * and `runCompaction` do not read them again, so they run what was judged.
 */
export async function completed<Own extends Fields>(
	fields: Own,
	caller: Caller,
	services: ResponsesServices,
): Promise<Own> {
	const context = await contextOf(fields, readStateful(fields), caller, services);
	if (!context) return fields;
	const referred: Referred = { own: fields, context };
	return { ...engineFields(fields, context), [REFERRED]: referred } as unknown as Own;
}

export async function runStored(request: InferenceRequest, services: ResponsesServices): Promise<Reply> {
	const { fields } = request.inputs;
	// The dialect refuses it.
	if (!isRecord(fields)) return runResponses(request, services);
	const { own = fields } = referredOf(fields);
	const stateful = readStateful(own);
	if (stateful.background)
		throw invalidInput("background: not available at this address, use /v1/responses of the account");
	const { account } = request.caller;
	const input = stateful.store ? storedInput(own.input, services.uuid) : [];
	const [context] = await Promise.all([
		contextOf(fields, stateful, request.caller, services),
		stateful.store && services.storedResponses.requireRoom(account, input),
	]);
	const inputs = { ...request.inputs, fields: context ? engineFields(fields, context) : fields };
	if (!stateful.store) return runWith({ ...request, inputs }, context, services);
	const identity: ResponseIdentity = {
		id: newId("resp", services.uuid),
		owner: scopeOf(request.caller).owner,
		createdAt: services.now(),
		background: false,
		previous: stateful.previous,
		conversation: stateful.conversation,
		includesSeals: includesSeals(fields.include),
	};
	const stored = { ...request, inputs: { ...inputs, fields: storedFields(inputs.fields as Fields) } };
	const reply = await runWith(stored, context, services);
	return storeReply(reply, { identity, input: withReferences(input, context), request }, services);
}

interface StoredRun {
	identity: ResponseIdentity;
	input: readonly ItemRecord[];
	request: InferenceRequest;
}

async function storeReply(
	reply: Reply,
	{ identity, input, request: { id: requestId, caller, signal } }: StoredRun,
	{ log, now, storedResponses, uuid, waitUntil }: ResponsesServices,
): Promise<Reply> {
	const save = (response: ResponseJson): Promise<void> =>
		storedResponses.save(caller.account, recordOf(response, identity, { input, uuid }));
	const { body } = reply;
	if (body.kind === "json" && isRecord(body.value)) {
		const response = identified(body.value, identity, now());
		await save(response);
		return { ...reply, body: { kind: "json", value: shown(response, identity.includesSeals) } };
	}
	if (body.kind !== "events") return reply;
	const failed = (error: AiError): void => log(error, requestId);
	const relay = new EventRelay(PulledStream.sourceOf(body.events), {
		...{ identity, requestId, signal, now, save, failed },
		left: (response) => waitUntil(save(response).catch((thrown) => failed(toAiError(thrown)))),
	});
	return { ...reply, body: { kind: "events", events: new PulledStream(relay) } };
}

/** What the request refers to. `undefined`: nothing. */
export async function contextOf(
	fields: Fields,
	{ previous, conversation }: Pick<StatefulFields, "previous" | "conversation">,
	caller: Caller,
	services: ResponsesServices,
): Promise<ReferencedItems | undefined> {
	const known = referredOf(fields).context;
	if (known) return known;
	const items = referencesIn(fields.input);
	const optional = unsealedIn(fields.input);
	if (previous === undefined && conversation === undefined && items.length + optional.length === 0)
		return undefined;
	const { ledgers, storedResponses } = services;
	// Nothing is read for a caller without a valid credential.
	if (!caller.verified) await ledgers.of(caller.account).verify(caller.credential, "run");
	const query = { previous, conversation, items, optional };
	const found = await inScope(
		caller,
		(scope) =>
			storedResponses.call(caller.account, (store) => store.context(query, scope, storedResponses.bounds)),
		services,
	);
	return foundOrThrow(found, referenceFailure);
}

/** The fields for an engine, which knows no stored objects. Those that are {@link completed} already have all items. */
export function engineFields(fields: Fields, context: ReferencedItems): Fields {
	if (referredOf(fields).context) return fields;
	const { previous_response_id: _, conversation: __, ...engine } = fields;
	return { ...engine, input: engineInput(fields.input, context) };
}

/** The encrypted reasoning is stored, so that the next response can continue it. */
export const storedFields = ({ background: _, ...fields }: Fields): Fields => ({
	...fields,
	store: false,
	// A value that is no list stays, so that it is refused.
	...((fields.include == null || Array.isArray(fields.include)) &&
		!includesSeals(fields.include) && {
			include: [...(fields.include ?? []), "reasoning.encrypted_content"],
		}),
});

/** Errors name the place of an item in the caller's own input. */
async function runWith(
	request: InferenceRequest,
	context: ReferencedItems | undefined,
	services: ResponsesServices,
): Promise<Reply> {
	const earlier = context?.before.length ?? 0;
	if (earlier === 0) return runResponses(request, services);
	try {
		return await runResponses(request, services);
	} catch (thrown) {
		throw placedFailure(toAiError(thrown), earlier);
	}
}

const PLACE = /\binput(\[|\/)(\d+)/g;

function placedFailure(error: AiError, earlier: number): AiError {
	const description = error.description.replaceAll(PLACE, (place, separator: string, index: string) =>
		Number(index) < earlier ? place : `input${separator}${Number(index) - earlier}`,
	);
	if (description === error.description) return error;
	const placed = new AiError(error.key, description, { cause: error.cause });
	placed.exchange = error.exchange;
	placed.place = error.place;
	return placed;
}
