/**
 * LoRA adapters: `…/ai/finetunes` (developers.cloudflare.com/workers-ai/features/fine-tunes/loras). `wrangler ai finetune` sends JSON without
 * a content type, and files without a name.
 *
 * Not in the product, or not documented: `DELETE`; `files` and `rank` of an adapter; an adapter that lacks files is created again by its
 * name. `public` is stored and shown, and an adapter is used by its own account only.
 */
import type { Context } from "hono";
import * as z from "zod";
import { didYouMean } from "../../core/did-you-mean.ts";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { resultWithin } from "../../core/with-timeout.ts";
import { parseFields, readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { deleteAdapterBytes } from "../../jobs/adapters/engine-folders.ts";
import type { AdapterRecord } from "../../jobs/adapters/records.ts";
import { writeAhead } from "../../jobs/client/account-adapters.ts";
import { can } from "../../models/model.ts";
import { PUBLIC_ADAPTERS } from "../../models/public-adapters.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { answer } from "../answer.ts";
import { AI } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { noSuchAdapter, storeAdapterFile } from "./adapter-upload.ts";
import { deleteBytes } from "./delete-bytes.ts";

const MAX_NAME_CHARACTERS = 128;
const MAX_DESCRIPTION_CHARACTERS = 1_024;
/** Names of the product's own adapters. */
const RESERVED_NAME = /^cf-public-/i;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const NewFineTune = lazy(() =>
	z.object({
		model: z.string().min(1),
		name: z
			.string()
			.regex(new RegExp(`^[A-Za-z0-9][\\w. -]{0,${MAX_NAME_CHARACTERS - 1}}$`), {
				error: `expected up to ${MAX_NAME_CHARACTERS} letters, digits, spaces, ".", "-" and "_", the first a letter or a digit`,
			})
			.refine((name) => !RESERVED_NAME.test(name), "expected a name that does not begin with cf-public-")
			.refine((name) => !UUID.test(name), "expected a name, found the form of an id"),
		description: z.string().max(MAX_DESCRIPTION_CHARACTERS).nullish(),
		public: z.boolean().default(false),
	}),
);

const whole = (otherwise: number) =>
	z
		.string()
		.regex(/^\d{1,6}$/, "expected a whole number of up to 6 digits")
		.transform(Number)
		.default(otherwise);

const MAX_LISTED = 1_000;
const PublicQuery = lazy(() =>
	z.object({
		limit: whole(MAX_LISTED).optional(),
		offset: whole(0).optional(),
		orderBy: z.string().optional(),
	}),
);

const FINETUNE = "/finetunes/:finetune";
/** An upload waits so long for the folders of the engines. A copy that takes longer goes on. */
const WRITE_AHEAD_MS = 30_000;

export const adapterRoutes: readonly AppRoute[] = defineRoutes({ bases: [AI], tag: "Fine-tunes" }, [
	{
		method: "GET",
		path: "/finetunes",
		summary: "Lists the LoRA adapters of the account",
		permission: "read",
		output: answer("fineTunesAnswer"),
		handler: async (_, { caller, services }) =>
			envelope((await services.jobs.adapters(caller.account, (stored) => stored.list())).map(fineTune)),
	},
	{
		method: "POST",
		path: "/finetunes",
		summary: "Creates a LoRA adapter, without its files",
		permission: "write",
		input: {
			type: "application/json",
			schema: NewFineTune,
			example: {
				model: "@cf/mistral/mistral-7b-instruct-v0.2-lora",
				name: "support-tickets",
				description: "",
			},
		},
		output: answer("fineTuneAnswer"),
		handler: create,
	},
	{
		method: "GET",
		path: "/finetunes/public",
		summary: "Lists the public LoRA adapters of Workers AI",
		query: PublicQuery,
		permission: "read",
		output: answer("publicFineTunesAnswer"),
		handler: listPublic,
	},
	{
		method: "POST",
		path: `${FINETUNE}/finetune-assets`,
		summary: "Stores a file of a LoRA adapter",
		permission: "write",
		input: {
			type: "multipart/form-data",
			example: { file_name: "adapter_config.json", file: "@adapter_config.json" },
		},
		output: answer("fineTuneAnswer"),
		async handler(c, call) {
			const { caller, services } = call;
			const adapter = await storeAdapterFile(c.req.raw, await find(c, call), call);
			const written = writeAhead(caller.account, adapter, services).catch(() => {});
			services.waitUntil(written);
			// So that a request after the upload does not wait for the folders.
			await resultWithin(written, WRITE_AHEAD_MS, {
				startTimer: services.startTimer,
				left: c.req.raw.signal,
			});
			return envelope(fineTune(adapter));
		},
	},
	{
		method: "DELETE",
		path: FINETUNE,
		summary: "Deletes a LoRA adapter with its files",
		permission: "write",
		output: answer("fineTuneDeletionAnswer"),
		handler: remove,
	},
]);

const fineTune = (adapter: AdapterRecord): object => ({
	id: adapter.id,
	model: adapter.model,
	name: adapter.name,
	description: adapter.description ?? "",
	public: adapter.isPublic,
	created_at: new Date(adapter.createdAt).toISOString(),
	modified_at: new Date(adapter.modifiedAt).toISOString(),
	files: adapter.files.map(({ name, bytes }) => ({ name, bytes })),
	...(adapter.files.length > 0 && { rank: Math.max(...adapter.files.map(({ rank }) => rank)) }),
});

async function create(c: Context, { caller, services }: AppCall): Promise<Response> {
	const stored = await readStored(NewFineTune(), c.req.raw, services);
	const { model: named, name, description, public: isPublic } = stored.fields;
	const { model } = await resolveModel(named, caller, services);
	if (!can(model, "lora"))
		throw new AiError("loraUnsupported", `The model ${model.id} does not support LoRa inference`);
	const { adapters: bounds } = services.jobs.bounds;
	const created = await services.jobs.adapters(caller.account, (adapters) =>
		adapters.create(
			caller.account,
			{
				...{ id: services.uuid(), name, model: model.id, isPublic, createdAt: Date.now() },
				...(description && { description }),
			},
			bounds,
		),
	);
	if (created.ok) return stored.answer(fineTune(created.adapter));
	if (created.reason === "full")
		throw new AiError("storageFull", `The account has at most ${bounds.maxAdapters} fine-tunes: delete some`);
	throw new AiError(
		"adapterExists",
		`The account has a fine-tune named "${name}": ${created.existing}. Delete it, or choose another name`,
	);
}

/** The newest of the product is last, as its list has it. */
function listPublic(c: Context): Response {
	const { limit = MAX_LISTED, offset = 0, orderBy } = parseFields(PublicQuery(), c.req.query(), "query");
	const listed = orderBy === "name" ? PUBLIC_ADAPTERS.toSorted(byName) : PUBLIC_ADAPTERS;
	return envelope(listed.slice(offset, offset + limit));
}

const byName = (one: { name: string }, other: { name: string }): number => one.name.localeCompare(other.name);

async function find(c: Context, { caller, services }: AppCall): Promise<AdapterRecord> {
	const idOrName = pathParameter(c, "finetune");
	const adapter = await services.jobs.adapters(caller.account, (adapters) => adapters.find(idOrName));
	if (adapter) return adapter;
	const known = await services.jobs.adapters(caller.account, (adapters) => adapters.list());
	const names = known.map(({ name }) => name);
	throw noSuchAdapter(idOrName, didYouMean(idOrName.slice(0, MAX_NAME_CHARACTERS), names));
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { account } = caller;
	const { id } = await find(c, call);
	await services.jobs.adapters(account, (adapters) => adapters.hide(id));
	await deleteBytes(async () => {
		await deleteAdapterBytes(account, id, services);
		await services.jobs.adapters(account, (adapters) => adapters.forget(id));
	}, call);
	return envelope({ id });
}
